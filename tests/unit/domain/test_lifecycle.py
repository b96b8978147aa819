"""The transition table, and what time does to a job (core, section 6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ojs_aws.domain import lifecycle
from ojs_aws.domain.errors import ConflictError
from ojs_aws.domain.job import Failure, JobRecord, JobState, Reservation
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.lifecycle import TRANSITIONS
from ojs_aws.domain.retry import Exhaustion, RetryPolicy
from ojs_aws.domain.timestamps import Instant

S = JobState
START = 1_760_000_000_000


def a_job(state: JobState = S.AVAILABLE, **changes: Any) -> JobRecord:
    """A job in a state."""
    job = JobRecord(
        id="01990000-0000-7000-8000-000000000001",
        type="a.b",
        queue="default",
        state=state,
        priority=0,
        attempt=0,
        version=1,
        order=START * 1000,
        document=RawJson('{"args":[]}'),
        timeout_ms=60_000,
        created_at=Instant(START),
    )
    return replace(job, **changes)


def reserved(now: int, visibility: int = 30_000, timeout: int = 60_000) -> Reservation:
    """A reservation from now on."""
    return Reservation(
        worker_id="w",
        expires_at=Instant(now + visibility),
        execution_ends_at=Instant(now + timeout),
    )


def broken(at: int, **changes: Any) -> Failure:
    """A failure."""
    return replace(
        Failure(type="Broken", message="m", attempt=1, occurred_at=Instant(at)), **changes
    )


def active(now: int = START, **changes: Any) -> JobRecord:
    """A job that a worker has."""
    return lifecycle.claim(a_job(**changes), reserved(now), Instant(now))


def test_the_table_is_the_specifications() -> None:
    """STATE-001, STATE-037: section 6.3, and expiry from section 5.2."""
    table = {
        None: {S.SCHEDULED, S.AVAILABLE, S.PENDING},
        S.SCHEDULED: {S.AVAILABLE, S.CANCELLED, S.DISCARDED},
        S.PENDING: {S.AVAILABLE, S.CANCELLED, S.DISCARDED},
        S.AVAILABLE: {S.ACTIVE, S.CANCELLED, S.DISCARDED},
        S.ACTIVE: {S.COMPLETED, S.RETRYABLE, S.DISCARDED, S.CANCELLED, S.AVAILABLE},
        S.RETRYABLE: {S.AVAILABLE, S.CANCELLED, S.DISCARDED},
        S.DISCARDED: {S.AVAILABLE},
    }
    assert {(a, b) for a, following in table.items() for b in following} == TRANSITIONS


@pytest.mark.parametrize("state", list(S))
def test_every_operation_refuses_the_states_it_is_not_for(state: JobState) -> None:
    """STATE-002, STATE-026 to 031: with the current state in the details."""
    job = a_job(state)
    now = Instant(START)
    operations: dict[str, tuple[Callable[[], JobRecord], set[JobState]]] = {
        "claim": (lambda: lifecycle.claim(job, reserved(START), now), {S.AVAILABLE}),
        "complete": (lambda: lifecycle.complete(job, None, now), {S.ACTIVE}),
        "fail": (lambda: lifecycle.fail(job, broken(START), now), {S.ACTIVE}),
        "extend": (lambda: lifecycle.extend(job, now), {S.ACTIVE}),
        "activate": (lambda: lifecycle.activate(job, now, 1), {S.PENDING}),
        "retry": (lambda: lifecycle.retry_discarded(job, now, 1), {S.DISCARDED}),
        "cancel": (lambda: lifecycle.cancel(job, now), {s for s in S if not s.is_terminal}),
    }
    for operation, allowed in operations.values():
        if state in allowed:
            operation()
            continue
        with pytest.raises(ConflictError) as refused:
            operation()
        assert refused.value.details["current_state"] == state


def test_push_chooses_the_state() -> None:
    """STATE-004 to 006: pending outweighs a schedule, and one that is over counts for nothing."""
    now = Instant(START)
    choose = lifecycle.initial_state
    assert choose(None, is_pending=False, now=now) is S.AVAILABLE
    assert choose(now, is_pending=False, now=now) is S.AVAILABLE
    assert choose(Instant(START + 1), is_pending=False, now=now) is S.SCHEDULED
    assert choose(Instant(START + 1), is_pending=True, now=now) is S.PENDING


def test_a_success_clears_the_error_but_not_the_history() -> None:
    """OP-031."""
    job = replace(active(), failures=(broken(START),))
    assert job.error is not None
    done = lifecycle.complete(job, RawJson("0"), Instant(START + 1))
    assert (done.error, len(done.failures), done.result) == (None, 1, "0")


@pytest.mark.parametrize(
    ("failure", "state"),
    [
        ({}, S.RETRYABLE),
        ({"retryable": True}, S.RETRYABLE),
        ({"code": "RETRY"}, S.RETRYABLE),
        ({"retryable": False}, S.DISCARDED),
        ({"type": "Fatal"}, S.DISCARDED),
        ({"type": "x", "code": "auth.expired"}, S.DISCARDED),
        ({"type": "x", "error_class": "Fatal"}, S.DISCARDED),
        ({"type": "auth"}, S.RETRYABLE),
        ({"code": "DISCARD"}, S.DISCARDED),
        ({"code": "FAIL"}, S.DISCARDED),
        ({"code": "DEAD_LETTER"}, S.DISCARDED),
    ],
)
def test_a_failure_is_judged_by_policy_and_handler(failure: dict[str, Any], state: S) -> None:
    """OP-036 to 038, ERR-015; ojs-retry, sections 6 and 7."""
    policy = RetryPolicy(non_retryable_errors=("Fatal", "auth.*"))
    after = lifecycle.fail(active(retry=policy), broken(START, **failure), Instant(START + 1))
    assert after.state is state
    assert after.is_dead_letter == (failure.get("code") == "DEAD_LETTER")


@pytest.mark.parametrize("max_attempts", [0, 1, 3])
def test_attempts_never_exceed_the_policy(max_attempts: int) -> None:
    """A policy of 0 still runs the job once; the last failure goes where the policy says."""
    policy = RetryPolicy(max_attempts=max_attempts, on_exhaustion=Exhaustion.DEAD_LETTER)
    job, now = a_job(retry=policy), START
    while job.state is not S.DISCARDED:
        job = lifecycle.claim(job, reserved(now), Instant(now))
        job = lifecycle.fail(job, broken(now), Instant(now))
        now += 1_000_000
        job = lifecycle.settle(job, Instant(now))
    assert job.attempt == len(job.failures) == max(1, max_attempts)
    assert job.is_dead_letter
    assert job.completed_at == job.discarded_at


def test_the_instant_a_reservation_ends_is_exact() -> None:
    """STATE-014: not a millisecond before; available at once, the attempt counted."""
    job = active()
    assert lifecycle.settle_once(job, Instant(START + 29_999)) is None
    back = lifecycle.settle_once(job, Instant(START + 30_000))
    assert back is not None
    assert (back.state, back.attempt, back.started_at) == (S.AVAILABLE, 1, None)
    assert back.failures[-1].type == "reservation_expired"


def test_the_execution_timeout_goes_through_the_retry_policy() -> None:
    """ENV-037: and heartbeats do not move it."""
    job = lifecycle.extend(active(), Instant(START + 500_000))
    after = lifecycle.settle(job, Instant(START + 60_000))
    assert (after.state, after.failures[-1].type) == (S.RETRYABLE, "timeout")
    assert after.next_attempt_at == START + 60_000 + (after.retry_delay_ms or 0)


def test_expiry_does_not_end_a_running_attempt() -> None:
    """But there is no further one."""
    job = active(expires_at=Instant(START + 1000))
    assert lifecycle.settle(job, Instant(START + 2000)).state is S.ACTIVE
    assert lifecycle.settle(job, Instant(START + 30_000)).state is S.DISCARDED
    failed = lifecycle.fail(job, broken(START + 2000), Instant(START + 2000))
    assert lifecycle.settle(failed, Instant(START + 2000)).state is S.DISCARDED


def test_a_manual_retry_starts_a_new_life() -> None:
    """STATE-020: attempt 0, errors cleared and kept apart, an old expiry forgotten."""
    job = active(expires_at=Instant(START + 1), retry=RetryPolicy(max_attempts=1))
    dead = lifecycle.fail(job, broken(START), Instant(START))
    again = lifecycle.retry_discarded(dead, Instant(START + 5), 7)
    assert (again.state, again.attempt, again.error, again.discarded_at) == (
        S.AVAILABLE,
        0,
        None,
        None,
    )
    assert again.past_failures == dead.failures
    assert lifecycle.next_due(again) is None


def test_only_the_latest_failure_keeps_its_backtrace_and_the_history_is_bounded() -> None:
    """The hot item must stay small."""
    job = active(retry=RetryPolicy(max_attempts=100))
    for number in range(lifecycle.HISTORY_LIMIT + 5):
        failed = lifecycle.fail(job, broken(START, backtrace=(str(number),)), Instant(START))
        job = replace(failed, state=S.ACTIVE)
    assert len(job.failures) == lifecycle.HISTORY_LIMIT >= 10
    assert [bool(failure.backtrace) for failure in job.failures[-2:]] == [False, True]


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
    at_once = lifecycle.settle(job, Instant(second))
    assert lifecycle.settle(lifecycle.settle(job, Instant(first)), Instant(second)) == at_once


@given(jobs(), moments)
def test_a_settled_job_has_nothing_due(job: JobRecord, now: int) -> None:
    """Promise 5: and every step was one of the table's."""
    while (after := lifecycle.settle_once(job, Instant(now))) is not None:
        assert (job.state, after.state) in TRANSITIONS
        assert after.version == job.version + 1
        job = after
    due = lifecycle.next_due(job)
    assert due is None or due > now


class Life(RuleBasedStateMachine):
    """Any sequence of operations and of passing time."""

    def __init__(self) -> None:
        """Begin with a job that may do anything."""
        super().__init__()
        self.now = START
        self.job = a_job(retry=RetryPolicy(max_attempts=3), expires_at=Instant(START + 400_000))
        self.attempts = [0]

    def go(self, after: JobRecord) -> None:
        """Accept a transition that the table has."""
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
        while (after := lifecycle.settle_once(self.job, Instant(self.now))) is not None:
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
        self.go(lifecycle.extend(self.job, Instant(self.now + visibility)))

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
    def a_reservation_belongs_to_an_active_job(self) -> None:
        """Promise 2."""
        assert (self.job.reservation is not None) == (self.job.state is S.ACTIVE)


TestLife = Life.TestCase
