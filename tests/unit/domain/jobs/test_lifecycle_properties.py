"""What holds for every job in any state at any time (property tests)."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs import deadlines, held_job, lifecycle
from ojs_aws.domain.jobs.failures import HISTORY_LIMIT
from ojs_aws.domain.jobs.lifecycle import TRANSITIONS
from ojs_aws.domain.retry import RetryPolicy
from ojs_aws.domain.timestamps import Instant
from tests.unit.domain.jobs.test_lifecycle import START, S, a_job, broken, reserved

moments = st.integers(START, START + 200_000)


@st.composite
def jobs(draw: st.DrawFn) -> JobRecord:
    """Jobs in every state that time can change."""
    policy = RetryPolicy(max_attempts=draw(st.integers(0, 3)))
    instant = moments.map(Instant)
    job = a_job(
        draw(st.sampled_from([S.SCHEDULED, S.AVAILABLE, S.PENDING, S.RETRYABLE])),
        retry=policy,
        attempt=draw(st.integers(0, 3)),
        scheduled_at=draw(st.none() | instant),
        next_attempt_at=draw(st.none() | instant),
        expires_at=draw(st.none() | instant),
    )
    if draw(st.booleans()):
        held = reserved(START, draw(st.integers(1, 150_000)), draw(st.integers(1, 150_000)))
        job = lifecycle.claim(replace(job, state=S.AVAILABLE), held, Instant(START))
    return job


@given(jobs(), moments, moments)
def test_it_does_not_matter_who_settles_a_job_and_when(job: JobRecord, a: int, b: int) -> None:
    """Decision 2: settling in two steps comes to the same as in one."""
    first, second = sorted((a, b))
    at_once = deadlines.settle(job, Instant(second))
    assert deadlines.settle(deadlines.settle(job, Instant(first)), Instant(second)) == at_once


def entered(job: JobRecord) -> int:
    """The last instant of a job's history."""
    known = (
        job.created_at,
        job.enqueued_at,
        job.activated_at,
        job.started_at,
        job.completed_at,
        job.cancelled_at,
        job.discarded_at,
        *(failure.occurred_at for failure in job.failures),
    )
    return max(instant for instant in known if instant is not None)


@given(jobs(), moments)
def test_time_never_makes_a_history_run_backwards(job: JobRecord, now: int) -> None:
    """Each step leaves its instant behind; none lies before the last one, or in the future."""
    while (after := deadlines.settle_once(job, Instant(now))) is not None:
        step = after.discarded_at or after.enqueued_at or after.failures[-1].occurred_at
        if after.state is S.RETRYABLE:
            step = after.failures[-1].occurred_at
        assert step is not None
        assert entered(replace(job, scheduled_at=None)) <= step <= now
        job = after


@given(jobs(), moments)
def test_a_settled_job_has_nothing_due(job: JobRecord, now: int) -> None:
    """Promise 5: and every step was one of the table's."""
    while (after := deadlines.settle_once(job, Instant(now))) is not None:
        assert (job.state, after.state) in TRANSITIONS
        assert after.version == job.version + 1
        job = after
    due = deadlines.next_due(job)
    assert due is None or due > now


class Life(RuleBasedStateMachine):
    """Any sequence of operations and of passing time."""

    def __init__(self) -> None:
        """Begin with a job that may do anything."""
        super().__init__()
        self.now = START
        self.job = a_job(retry=RetryPolicy(max_attempts=3), expires_at=Instant(START + 400_000))
        self.attempts = [0]
        self.moment = START

    def go(self, after: JobRecord) -> None:
        """Accept a transition that the table has."""
        if after.state is S.DISCARDED and after.discarded_at is not None:
            assert self.moment <= after.discarded_at <= self.now
            self.moment = after.discarded_at
        if after.state is not self.job.state:
            assert (self.job.state, after.state) in TRANSITIONS
        assert after.version > self.job.version or after is self.job
        self.job = after
        self.attempts.append(after.attempt)

    @rule(ms=st.integers(1, 60_000))
    def wait(self, ms: int) -> None:
        """Time passes, and is applied."""
        self.now += ms
        terminal = self.job.state.is_terminal
        while (after := deadlines.settle_once(self.job, Instant(self.now))) is not None:
            assert not terminal
            self.go(after)

    @precondition(lambda self: self.job.state is S.AVAILABLE)
    @rule(visibility=st.integers(1, 90_000))
    def fetch(self, visibility: int) -> None:
        """A worker claims it."""
        held = reserved(self.now, visibility)
        self.go(lifecycle.claim(self.job, held, Instant(self.now)))

    @precondition(lambda self: self.job.state is S.ACTIVE)
    @rule(visibility=st.integers(1, 90_000))
    def beat(self, visibility: int) -> None:
        """The worker lives."""
        self.go(held_job.extend(self.job, Instant(self.now + visibility)))

    @precondition(lambda self: self.job.state is S.ACTIVE)
    @rule()
    def ack(self) -> None:
        """The worker is done."""
        self.go(lifecycle.complete(self.job, None, Instant(self.now)))

    @precondition(lambda self: self.job.state is S.ACTIVE)
    @rule(retryable=st.none() | st.booleans())
    def fail(self, retryable: bool | None) -> None:
        """The worker failed."""
        failure = broken(self.now, retryable=retryable)
        self.go(lifecycle.fail(self.job, failure, Instant(self.now)))

    @precondition(lambda self: not self.job.state.is_terminal)
    @rule()
    def cancel(self) -> None:
        """Somebody cancels it."""
        self.go(lifecycle.cancel(self.job, Instant(self.now)))

    @precondition(lambda self: self.job.state is S.DISCARDED)
    @rule()
    def retry(self) -> None:
        """An operator retries it."""
        self.go(lifecycle.retry_discarded(self.job, Instant(self.now), self.now * 1000))
        self.attempts = [0]

    @invariant()
    def attempts_grow_within_the_policy(self) -> None:
        """STATE-025."""
        assert self.attempts == sorted(self.attempts)
        assert self.job.attempt <= 3

    @invariant()
    def the_history_is_bounded(self) -> None:
        """A failure for each attempt; what a manual retry puts aside is bounded as well."""
        assert len(self.job.failures) <= min(self.job.attempt, HISTORY_LIMIT)
        assert len(self.job.past_failures) <= HISTORY_LIMIT

    @invariant()
    def a_next_attempt_is_waited_for_only_by_a_retryable_job(self) -> None:
        """ojs-retry, section 10: null if not in the retryable state."""
        assert (self.job.next_attempt_at is not None) == (self.job.state is S.RETRYABLE)

    @invariant()
    def a_reservation_belongs_to_an_active_job(self) -> None:
        """Promise 2."""
        assert (self.job.reservation is not None) == (self.job.state is S.ACTIVE)


TestLife = Life.TestCase
