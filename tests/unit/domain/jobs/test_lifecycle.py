"""The transition table, and what time does to a job (core, section 6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ojs_aws.domain.errors import ConflictError
from ojs_aws.domain.job import Failure, JobRecord, JobState, Reservation
from ojs_aws.domain.jobs import deadlines, held_job, lifecycle
from ojs_aws.domain.jobs.failures import HISTORY_LIMIT
from ojs_aws.domain.jobs.lifecycle import TRANSITIONS
from ojs_aws.domain.json_text import RawJson
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
    """STATE-001, STATE-037: section 6.3, and expiry from section 5.2.

    A limit may schedule an available job (ojs-rate-limiting, section 6.2).
    """
    table = {
        None: {S.SCHEDULED, S.AVAILABLE, S.PENDING},
        S.SCHEDULED: {S.AVAILABLE, S.CANCELLED, S.DISCARDED},
        S.PENDING: {S.AVAILABLE, S.CANCELLED, S.DISCARDED},
        S.AVAILABLE: {S.ACTIVE, S.SCHEDULED, S.CANCELLED, S.DISCARDED},
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
        "extend": (lambda: held_job.extend(job, now), {S.ACTIVE}),
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
        job = deadlines.settle(job, Instant(now))
    assert job.attempt == len(job.failures) == max(1, max_attempts)
    assert job.is_dead_letter
    assert job.completed_at == job.discarded_at


def test_the_instant_a_reservation_ends_is_exact() -> None:
    """STATE-014: not a millisecond before; available at once, the attempt counted."""
    job = active()
    assert deadlines.settle_once(job, Instant(START + 29_999)) is None
    back = deadlines.settle_once(job, Instant(START + 30_000))
    assert back is not None
    assert (back.state, back.attempt, back.started_at) == (S.AVAILABLE, 1, None)
    assert back.failures[-1].type == "visibility_timeout"


def test_the_execution_timeout_goes_through_the_retry_policy() -> None:
    """ENV-037: and heartbeats do not move it."""
    job = held_job.extend(active(), Instant(START + 500_000))
    after = deadlines.settle(job, Instant(START + 60_000))
    assert (after.state, after.failures[-1].type) == (S.RETRYABLE, "timeout")
    assert after.next_attempt_at == START + 60_000 + (after.retry_delay_ms or 0)


def test_expiry_does_not_end_a_running_attempt() -> None:
    """But there is no further one."""
    job = active(expires_at=Instant(START + 1000))
    assert deadlines.settle(job, Instant(START + 2000)).state is S.ACTIVE
    assert deadlines.settle(job, Instant(START + 30_000)).state is S.DISCARDED
    failed = lifecycle.fail(job, broken(START + 2000), Instant(START + 2000))
    assert deadlines.settle(failed, Instant(START + 2000)).state is S.DISCARDED


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
    assert deadlines.next_due(again) is None


def test_a_manual_retry_does_not_outlive_an_expiry_that_is_still_to_come() -> None:
    """ENV-045: an expired job is never executed."""
    job = active(expires_at=Instant(START + 1000), retry=RetryPolicy(max_attempts=1))
    again = lifecycle.retry_discarded(
        lifecycle.fail(job, broken(START), Instant(START)), Instant(START + 999), 7
    )
    assert deadlines.settle(again, Instant(START + 999)).state is S.AVAILABLE
    assert deadlines.settle(again, Instant(START + 1000)).state is S.DISCARDED


@pytest.mark.parametrize("state", [S.SCHEDULED, S.AVAILABLE, S.PENDING, S.RETRYABLE])
def test_what_has_not_been_executed_expires_to_the_millisecond(state: JobState) -> None:
    """ENV-044: and is no dead letter, has no completed_at, and never leaves by itself."""
    later = Instant(START + 90_000)
    job = a_job(state, expires_at=Instant(START + 1000), scheduled_at=later, next_attempt_at=later)
    assert deadlines.settle_once(job, Instant(START + 999)) is None
    dead = deadlines.settle(job, Instant(START + 1000))
    assert (dead.state, dead.discarded_at) == (S.DISCARDED, START + 1000)
    assert (dead.completed_at, dead.is_dead_letter, dead.next_attempt_at) == (None, False, None)
    assert deadlines.settle_once(dead, Instant(START + 10**9)) is None


@pytest.mark.parametrize("state", [S.SCHEDULED, S.RETRYABLE])
def test_expiry_outweighs_what_is_due_in_the_same_millisecond(state: JobState) -> None:
    """ENV-045: rather never than too late."""
    at = Instant(START + 1000)
    job = a_job(state, expires_at=at, scheduled_at=at, next_attempt_at=at)
    assert deadlines.settle(job, at).state is S.DISCARDED


def test_a_job_that_had_expired_when_pushed_is_discarded_at_its_creation() -> None:
    """Not before."""
    job = a_job(expires_at=Instant(START - 5000))
    assert deadlines.settle(job, Instant(START)).discarded_at == START


def test_an_expiry_during_an_attempt_counts_from_the_attempts_end() -> None:
    """No event of a job lies before the one that led to it."""
    job = active(expires_at=Instant(START + 1000))
    failed = lifecycle.fail(job, broken(START + 2000), Instant(START + 2000))
    assert deadlines.settle(failed, Instant(START + 9000)).discarded_at == START + 2000
    lost = deadlines.settle(job, Instant(START + 90_000))
    assert lost.discarded_at == START + 30_000


def test_a_schedule_is_over_at_its_instant() -> None:
    """STATE-007, ENV-058: enqueued then, and in line behind what was enqueued before."""
    job = a_job(S.SCHEDULED, scheduled_at=Instant(START + 1000))
    assert deadlines.settle_once(job, Instant(START + 999)) is None
    due = deadlines.settle(job, Instant(START + 5000))
    assert (due.state, due.enqueued_at) == (S.AVAILABLE, START + 1000)
    assert due.order == (START + 1000) * 1000


def test_a_backoff_is_over_at_its_instant_and_not_before() -> None:
    """STATE-015: enqueued again; the last delay stays known."""
    policy = RetryPolicy(jitter=False)
    failed = lifecycle.fail(active(retry=policy), broken(START), Instant(START + 500))
    assert (failed.next_attempt_at, failed.retry_delay_ms) == (START + 1500, 1000)
    assert failed.reservation is None
    assert deadlines.settle_once(failed, Instant(START + 1499)) is None
    again = deadlines.settle(failed, Instant(START + 1500))
    assert (again.state, again.enqueued_at, again.next_attempt_at) == (
        S.AVAILABLE,
        START + 1500,
        None,
    )
    assert (again.retry_delay_ms, again.error) == (1000, failed.failures[0])


def test_delays_grow_with_the_attempts() -> None:
    """ojs-retry, section 3: the first retry waits for the initial interval."""
    job, delays = a_job(retry=RetryPolicy(max_attempts=4, jitter=False)), []
    for _ in range(3):
        job = lifecycle.claim(job, reserved(START), Instant(START))
        job = lifecycle.fail(job, broken(START), Instant(START))
        delays.append(job.retry_delay_ms)
        job = replace(job, state=S.AVAILABLE)
    assert delays == [1000, 2000, 4000]


def test_jitter_differs_between_jobs_and_attempts() -> None:
    """Or jobs that failed together would come back together."""
    other = a_job(id="01990000-0000-7000-8000-000000000002")
    delays = {
        lifecycle.fail(
            lifecycle.claim(job, reserved(START), Instant(START)), broken(START), Instant(START)
        ).retry_delay_ms
        for job in (a_job(), other, a_job(retry=RetryPolicy(initial_interval_ms=1000), attempt=1))
    }
    assert len(delays) == 3


def test_a_claim_counts_the_attempt_and_starts_the_reservation() -> None:
    """STATE-009."""
    job = active(attempt=1)
    assert (job.state, job.attempt, job.started_at) == (S.ACTIVE, 2, START)
    assert job.reservation == reserved(START)


def test_an_activation_is_recorded() -> None:
    """STATE-008: with its instant, and a place behind what was enqueued before."""
    job = lifecycle.activate(a_job(S.PENDING), Instant(START + 5), 77)
    assert (job.state, job.activated_at, job.enqueued_at, job.order) == (
        S.AVAILABLE,
        START + 5,
        START + 5,
        77,
    )


@pytest.mark.parametrize("state", [state for state in S if not state.is_terminal])
def test_a_cancelled_job_has_nothing_to_wait_for(state: JobState) -> None:
    """STATE-013, STATE-016 to 019: cancelled_at, no completed_at, and no timer revives it."""
    job = a_job(state, next_attempt_at=Instant(START), scheduled_at=Instant(START))
    if state is S.ACTIVE:
        job = active()
    gone = lifecycle.cancel(job, Instant(START + 5))
    assert (gone.state, gone.cancelled_at, gone.completed_at) == (S.CANCELLED, START + 5, None)
    assert (gone.reservation, gone.next_attempt_at) == (None, None)
    assert deadlines.settle(gone, Instant(START + 10**9)) is gone


def test_a_completion_is_recorded() -> None:
    """STATE-010: time and result; the reservation is over."""
    job = lifecycle.complete(active(), RawJson("null"), Instant(START + 5))
    assert (job.state, job.completed_at, job.result, job.reservation) == (
        S.COMPLETED,
        START + 5,
        "null",
        None,
    )


def test_a_heartbeat_never_shortens_a_reservation() -> None:
    """And one that changes nothing writes nothing."""
    job = active()
    assert held_job.extend(job, Instant(START + 30_000)) is job
    assert held_job.extend(job, Instant(START + 1)) is job
    longer = held_job.extend(job, Instant(START + 30_001))
    assert longer.reservation is not None
    assert (longer.reservation.expires_at, longer.version) == (START + 30_001, job.version + 1)


def test_the_execution_timeout_is_named_where_both_end_together() -> None:
    """ENV-037: it is what the job's author asked for."""
    job = lifecycle.claim(a_job(), reserved(START, 60_000, 60_000), Instant(START))
    assert deadlines.settle_once(job, Instant(START + 59_999)) is None
    after = deadlines.settle(job, Instant(START + 60_000))
    assert (after.state, after.failures[-1].type) == (S.RETRYABLE, "timeout")
    assert "60000 ms" in after.failures[-1].message


@pytest.mark.parametrize("exhaustion", list(Exhaustion))
def test_a_worker_lost_in_the_last_attempt_ends_the_job(exhaustion: Exhaustion) -> None:
    """ojs-retry, section 9.2: as on_exhaustion says; no pattern can forbid the retry before."""
    policy = RetryPolicy(
        max_attempts=2, on_exhaustion=exhaustion, non_retryable_errors=("visibility_timeout",)
    )
    job = active(retry=policy)
    back = deadlines.settle(job, Instant(START + 30_000))
    assert (back.state, back.enqueued_at, back.order) == (
        S.AVAILABLE,
        START + 30_000,
        (START + 30_000) * 1000,
    )
    again = lifecycle.claim(back, reserved(START + 30_000), Instant(START + 30_000))
    dead = deadlines.settle(again, Instant(START + 10**6))
    assert (dead.state, dead.discarded_at, dead.completed_at) == (
        S.DISCARDED,
        START + 60_000,
        START + 60_000,
    )
    assert dead.is_dead_letter is (exhaustion is Exhaustion.DEAD_LETTER)
    assert [failure.attempt for failure in dead.failures] == [1, 2]


@pytest.mark.parametrize(
    ("code", "exhaustion", "is_dead_letter"),
    [
        ("DISCARD", Exhaustion.DEAD_LETTER, False),
        ("FAIL", Exhaustion.DEAD_LETTER, False),
        ("DEAD_LETTER", Exhaustion.DISCARD, True),
        ("RETRY", Exhaustion.DEAD_LETTER, True),
        ("discard", Exhaustion.DEAD_LETTER, True),
    ],
)
def test_a_response_code_outweighs_on_exhaustion(
    code: str, exhaustion: Exhaustion, is_dead_letter: bool
) -> None:
    """ojs-retry, section 7.2; RETRY and other codes leave it to the policy."""
    policy = RetryPolicy(max_attempts=1, on_exhaustion=exhaustion)
    failed = lifecycle.fail(active(retry=policy), broken(START, code=code), Instant(START))
    assert (failed.state, failed.is_dead_letter) == (S.DISCARDED, is_dead_letter)


@pytest.mark.parametrize("verdict", [{"retryable": True}, {"code": "RETRY"}])
def test_no_verdict_outweighs_a_pattern_or_the_last_attempt(verdict: dict[str, Any]) -> None:
    """ojs-retry, sections 2.2 and 6.3: a matching error must not be retried."""
    failure = broken(START, **verdict)
    forbidden = active(retry=RetryPolicy(non_retryable_errors=("Broken",)))
    assert lifecycle.fail(forbidden, failure, Instant(START)).state is S.DISCARDED
    last = active(retry=RetryPolicy(max_attempts=1))
    assert lifecycle.fail(last, failure, Instant(START)).state is S.DISCARDED


def test_only_the_latest_failure_keeps_its_backtrace() -> None:
    """The hot item must stay small."""
    job = active(retry=RetryPolicy(max_attempts=100))
    for number in range(HISTORY_LIMIT + 5):
        failed = lifecycle.fail(job, broken(START, backtrace=(str(number),)), Instant(START))
        job = replace(failed, state=S.ACTIVE)
    assert len(job.failures) == HISTORY_LIMIT >= 10
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


# --------------------------------------------------------------------------------- silent workers


def with_beating_worker(alive_ms: int = 10_000, **changes: Any) -> JobRecord:
    """An active job whose worker is known to beat."""
    held = replace(reserved(START), alive_until=Instant(START + alive_ms))
    return lifecycle.claim(a_job(**changes), held, Instant(START))


def test_wrk_007_a_silent_worker_loses_its_job_before_the_reservation_ends() -> None:
    """Worker protocol, section 10.2: available at once, with the error ``worker_death``."""
    job = with_beating_worker()
    assert deadlines.next_due(job) == START + 10_000
    assert deadlines.settle_once(job, Instant(START + 9_999)) is None
    back = deadlines.settle(job, Instant(START + 20_000))
    assert (back.state, back.attempt, back.started_at) == (S.AVAILABLE, 1, None)
    assert back.enqueued_at == START + 10_000
    failure = back.failures[-1]
    assert (failure.type, failure.code) == ("worker_death", "stalled")
    assert failure.message == "Worker 'w' missed its heartbeats and counts as dead."
    assert failure.extra == {
        "timeout_kind": '"stalled"',
        "limit_seconds": "10",
        "elapsed_seconds": "10",
    }


def test_a_silent_worker_costs_the_job_an_attempt() -> None:
    """The last one discards it, as the policy says."""
    policy = RetryPolicy(max_attempts=1, on_exhaustion=Exhaustion.DEAD_LETTER)
    gone = deadlines.settle(with_beating_worker(retry=policy), Instant(START + 10_000))
    assert (gone.state, gone.is_dead_letter) == (S.DISCARDED, True)


def test_a_heartbeat_moves_the_silence_and_never_back() -> None:
    """Whichever of two heartbeats is written last."""
    job = with_beating_worker()
    later = held_job.extend(job, Instant(START), Instant(START + 15_000))
    assert deadlines.next_due(later) == START + 15_000
    assert held_job.extend(later, Instant(START), Instant(START + 12_000)) is later
    assert held_job.extend(later, Instant(START)) is later


@pytest.mark.parametrize(
    ("alive_ms", "visibility_ms", "timeout_ms", "kind"),
    [
        (10, 20, 30, "worker_death"),
        (20, 10, 30, "visibility_timeout"),
        (20, 20, 30, "worker_death"),  # a heartbeat would have moved both
        (20, 20, 20, "timeout"),
        (30, 20, 10, "timeout"),
    ],
)
def test_the_earliest_deadline_ends_the_attempt(
    alive_ms: int, visibility_ms: int, timeout_ms: int, kind: str
) -> None:
    """And its name says which; the execution timeout outweighs the others at the same instant."""
    held = replace(
        reserved(START, visibility_ms, timeout_ms), alive_until=Instant(START + alive_ms)
    )
    job = lifecycle.claim(a_job(), held, Instant(START))
    after = deadlines.settle_once(job, Instant(START + 99))
    assert after is not None
    assert after.failures[-1].type == kind


def test_a_timeout_says_what_the_limit_was_and_how_long_it_took() -> None:
    """ojs-timeouts, section 8."""
    job = lifecycle.claim(a_job(timeout_ms=2500), reserved(START, 9_000, 2500), Instant(START))
    failure = deadlines.settle(job, Instant(START + 3_000)).failures[0]
    assert failure.extra == {
        "timeout_kind": '"execution"',
        "limit_seconds": "2.5",
        "elapsed_seconds": "2.5",
    }


@given(st.integers(0, 12), st.lists(st.sampled_from(["fail", "silence", "expiry", "timeout"])))
def test_ret_01_a_job_never_has_more_attempts_than_its_policy_allows(
    max_attempts: int, endings: list[str]
) -> None:
    """However the attempts end: by the worker's word, or by time."""
    job, now = a_job(retry=RetryPolicy(max_attempts=max_attempts)), START
    attempts = 0
    for ending in [*endings, *(["fail"] * 13)]:
        job = deadlines.settle(job, Instant(now))
        if job.state is S.DISCARDED:
            break
        held = replace(
            reserved(now),
            alive_until=Instant(now + 10_000 if ending == "silence" else now + 90_000),
        )
        if ending == "timeout":
            held = replace(held, execution_ends_at=Instant(now + 5_000))
        job = lifecycle.claim(job, held, Instant(now))
        attempts += 1
        if ending == "fail":
            job = lifecycle.fail(job, broken(now), Instant(now))
        now += 1_000_000
    assert deadlines.settle(job, Instant(now)).state is S.DISCARDED
    assert attempts == job.attempt == max(max_attempts, 1)


def test_a_job_that_is_given_back_is_as_after_its_reservation_only_earlier() -> None:
    """The same edge of the table; the number of the attempt stays, and does not count."""
    now = Instant(START + 500)
    active = a_job(
        S.ACTIVE,
        attempt=3,
        uncounted_attempts=1,
        started_at=Instant(START),
        reservation=reserved(START),
        checkpoints=2,
    )
    assert lifecycle.requeue(active, None, now) == replace(
        active,
        state=S.AVAILABLE,
        version=active.version + 1,
        enqueued_at=now,
        order=now * 1000,
        started_at=None,
        reservation=None,
        uncounted_attempts=2,
    )
    failure = broken(now)
    assert lifecycle.requeue(active, failure, now).failures == (failure,)
    for state in S:
        if state is not S.ACTIVE:
            with pytest.raises(ConflictError):
                lifecycle.requeue(a_job(state), None, now)


def test_only_what_was_given_back_is_a_requeue() -> None:
    """Neither the end of a reservation, nor an operator's retry, which counts from 0 again."""
    active = a_job(S.ACTIVE, attempt=1, started_at=Instant(START), reservation=reserved(START))
    after = lifecycle.requeue(active, None, Instant(START))
    over = deadlines.settle(active, Instant(START + 30_000))
    assert over.state is S.AVAILABLE
    assert lifecycle.is_requeue(active, after)
    assert not lifecycle.is_requeue(active, over)
    assert not lifecycle.is_requeue(None, a_job())
    given_up = replace(after, state=S.DISCARDED)
    retried = lifecycle.retry_discarded(given_up, Instant(START), 1)
    assert not lifecycle.is_requeue(given_up, retried)
