"""The transition table, and what time does to a job (core, section 6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

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
