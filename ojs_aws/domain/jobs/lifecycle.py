"""Implements the transition table (core, section 6.3) as pure functions.

Each function takes a job and returns the job after one transition, or raises ConflictError. Time
is an argument; what time alone has already decided is in ``deadlines``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ojs_aws.domain.attributes import wrong_state
from ojs_aws.domain.errors import ConflictError
from ojs_aws.domain.job import Document, Failure, JobRecord, JobState, Replay, Reservation
from ojs_aws.domain.jobs.failures import HISTORY_LIMIT, recorded
from ojs_aws.domain.jobs.outcomes import NOTHING_LEFT, LeftToStream
from ojs_aws.domain.retry import Exhaustion
from ojs_aws.domain.timestamps import Instant

S = JobState

WAITS_TO_BEGIN: Final = frozenset({S.AVAILABLE, S.SCHEDULED, S.PENDING})
"""The states in which a job waits to begin; its priority can be changed."""

TRANSITIONS: Final[frozenset[tuple[JobState | None, JobState]]] = frozenset(
    {
        (None, S.SCHEDULED),
        (None, S.AVAILABLE),
        (None, S.PENDING),
        (S.SCHEDULED, S.AVAILABLE),
        (S.PENDING, S.AVAILABLE),
        (S.AVAILABLE, S.ACTIVE),
        (S.AVAILABLE, S.SCHEDULED),  # ojs-rate-limiting, section 6.2
        (S.ACTIVE, S.COMPLETED),
        (S.ACTIVE, S.RETRYABLE),
        (S.ACTIVE, S.DISCARDED),
        (S.ACTIVE, S.CANCELLED),
        (S.ACTIVE, S.AVAILABLE),
        (S.RETRYABLE, S.AVAILABLE),
        (S.SCHEDULED, S.CANCELLED),
        (S.AVAILABLE, S.CANCELLED),
        (S.PENDING, S.CANCELLED),
        (S.RETRYABLE, S.CANCELLED),
        # Expiry (section 5.2, expires_at) discards whatever has not been executed.
        (S.SCHEDULED, S.DISCARDED),
        (S.AVAILABLE, S.DISCARDED),
        (S.PENDING, S.DISCARDED),
        (S.RETRYABLE, S.DISCARDED),
        (S.DISCARDED, S.AVAILABLE),  # the operator's retry
    }
)
"""Every pair of states that may follow each other; None stands for a job that does not exist."""

SNOOZE: Final = "SNOOZE"
"""The code of the error object of an attempt that ended only to be repeated later."""

UNDELAYED: Final = 1000
"""Microseconds in a millisecond: an instant as an order stamp."""


def initial_state(scheduled_at: Instant | None, *, is_pending: bool, now: Instant) -> JobState:
    """Return the state that PUSH gives a job; the pending flag outweighs a schedule (7.1)."""
    if is_pending:
        return S.PENDING
    return S.SCHEDULED if scheduled_at is not None and scheduled_at > now else S.AVAILABLE


def claim(job: JobRecord, reservation: Reservation, now: Instant) -> JobRecord:
    """Move available -> active (FETCH); counts the attempt and starts the reservation.

    As every operation here it takes a settled job: one that has expired is discarded by then.
    """
    require(job, "fetch", S.AVAILABLE)
    return moved(job, S.ACTIVE, attempt=job.attempt + 1, started_at=now, reservation=reservation)


def drop(job: JobRecord, now: Instant) -> JobRecord:
    """Discard an available job whose limit says ``drop`` (ojs-rate-limiting, section 6.2)."""
    require(job, "drop", S.AVAILABLE)
    return moved(job, S.DISCARDED, discarded_at=now, next_attempt_at=None)


def reschedule(job: JobRecord, at: Instant, now: Instant) -> JobRecord:
    """Schedule an available job for later: its limit says so (ojs-rate-limiting, section 6.2).

    :param at: when the limit is expected to let it begin.
    """
    require(job, "reschedule", S.AVAILABLE)
    return moved(job, S.SCHEDULED, scheduled_at=max(at, Instant(now + 1)), enqueued_at=now)


def complete(
    job: JobRecord, result: Document | None, now: Instant, leaves: LeftToStream = NOTHING_LEFT
) -> JobRecord:
    """Move active -> completed (ACK); clears the error left by earlier attempts."""
    require(job, "acknowledge", S.ACTIVE)
    return moved(
        job,
        S.COMPLETED,
        completed_at=now,
        result=result,
        reservation=None,
        is_message_left=leaves.message,
        is_listing_left=leaves.listing,
    )


def fail(job: JobRecord, failure: Failure, now: Instant, delay_ms: int | None = None) -> JobRecord:
    """Move active -> retryable or discarded (FAIL), as its retry policy and its handler decide.

    A response code of the handler outweighs the policy (ojs-retry, section 7.2).

    :param delay_ms: how long to wait before the retry, if there is one; None for as long as the
        policy says.
    """
    require(job, "fail", S.ACTIVE)
    match failure.code:
        case "DISCARD" | "FAIL":
            return _discarded_after(job, failure, now, is_dead_letter=False)
        case "DEAD_LETTER":
            return _discarded_after(job, failure, now, is_dead_letter=True)
    forbidden = job.retry.forbids(*filter(None, (failure.type, failure.code, failure.error_class)))
    if failure.retryable is False or forbidden or job.counted_attempts >= job.allowed_attempts:
        return exhausted(job, failure, now)
    if delay_ms is None:
        delay_ms = job.retry.delay_ms(job.counted_attempts, f"{job.id}:{job.attempt}")
    return _retryable_after(job, failure, delay_ms, now)


def snooze(job: JobRecord, failure: Failure, delay_ms: int, now: Instant) -> JobRecord:
    """Move active -> retryable (NACK with ``requeue`` and a delay); the attempt does not count.

    Nothing has failed, so neither the policy nor the number of attempts matters (decision 76).

    :param failure: why the job waits. It replaces the reason of a snooze right before it, so that
        a job which waits often keeps its real failures, and stays small.
    """
    require(job, "requeue", S.ACTIVE)
    is_again = bool(job.failures) and job.failures[-1].code == failure.code == SNOOZE
    known = replace(job, failures=job.failures[:-1]) if is_again else job
    after = _retryable_after(known, failure, delay_ms, now)
    return replace(after, uncounted_attempts=job.uncounted_attempts + 1)


def _retryable_after(job: JobRecord, failure: Failure, delay_ms: int, now: Instant) -> JobRecord:
    return moved(
        job,
        S.RETRYABLE,
        failures=recorded(job, failure),
        next_attempt_at=Instant(now + delay_ms),
        retry_delay_ms=delay_ms,
        reservation=None,
    )


def requeue(job: JobRecord, failure: Failure | None, now: Instant) -> JobRecord:
    """Move active -> available at once (NACK with ``requeue``); the attempt does not count.

    The number of the attempt stays, since it never goes down (section 5). The job is as if its
    reservation had ended, only earlier (decision 55).

    :param failure: why, for the history; None for no reason.
    """
    require(job, "requeue", S.ACTIVE)
    return moved(
        job,
        S.AVAILABLE,
        failures=job.failures if failure is None else recorded(job, failure),
        enqueued_at=now,
        order=now * UNDELAYED,
        started_at=None,
        reservation=None,
        uncounted_attempts=job.uncounted_attempts + 1,
    )


def is_requeue(before: JobRecord | None, after: JobRecord) -> bool:
    """Return True if a change gave an attempt back without a failure."""
    return before is not None and after.uncounted_attempts > before.uncounted_attempts


def cancel(job: JobRecord, now: Instant) -> JobRecord:
    """Move any non-terminal state -> cancelled (CANCEL)."""
    if job.state.is_terminal:
        message = f"Cannot cancel job in terminal state '{job.state}'."
        raise wrong_state("job", job.id, job.state, message)
    return moved(job, S.CANCELLED, cancelled_at=now, next_attempt_at=None, reservation=None)


def activate(job: JobRecord, now: Instant, order: int) -> JobRecord:
    """Move pending -> available (ACTIVATE).

    :raises ConflictError: it is not pending, or waits for others of its sequence.
    """
    require(job, "activate", S.PENDING)
    if job.sequence is not None:  # it is pending because others come first
        message = f"Cannot activate job: it waits for others of its sequence '{job.sequence.key}'."
        raise wrong_state("job", job.id, job.state, message, f"ojs-aws why {job.id}")
    return moved(job, S.AVAILABLE, activated_at=now, enqueued_at=now, order=order)


def reprioritise(job: JobRecord, priority: int) -> JobRecord:
    """Move the job to another place in the ready list (ojs-priority, section 8.1).

    Among the jobs of its new priority, its time decides its place. Returns the same job if it has
    this priority already.

    :raises ConflictError: it does not wait to begin: it runs, has ended, or waits for a retry.
    """
    if job.state not in WAITS_TO_BEGIN:
        message = f"The priority of a job cannot be changed in state '{job.state}'."
        hint = "It can while the job is available, scheduled or pending."
        raise wrong_state("job", job.id, job.state, message, hint)
    if job.priority == priority:
        return job
    return job.next_version(priority=priority)


def retry_discarded(job: JobRecord, now: Instant, order: int) -> JobRecord:
    """Move discarded -> available by hand: attempt 0, history kept apart (6.5.3).

    An expiry in the past is removed: the retry would be in vain. A job of a sequence waits no more.
    """
    require(job, "retry", S.DISCARDED)
    is_over = job.expires_at is not None and job.expires_at <= now
    return moved(
        job,
        S.AVAILABLE,
        attempt=0,
        uncounted_attempts=0,
        order=order,
        enqueued_at=now,
        started_at=None,
        completed_at=None,
        discarded_at=None,
        retry_delay_ms=None,
        expires_at=None if is_over else job.expires_at,
        failures=(),
        past_failures=(*job.past_failures, *job.failures)[-HISTORY_LIMIT:],
        is_dead_letter=False,
        replay=None,
        progress=None,  # of an attempt whose number comes again
        sequence=job.sequence and replace(job.sequence, is_blocked=False, checks=False),
    )


def retry_now(job: JobRecord, now: Instant, order: int) -> JobRecord:
    """Move retryable -> available by hand, before the backoff is over."""
    require(job, "retry", S.RETRYABLE)
    return moved(job, S.AVAILABLE, enqueued_at=now, order=order, next_attempt_at=None)


def replay_discarded(job: JobRecord, rule: str, now: Instant, order: int) -> JobRecord:
    """Move discarded -> available by a rule, and count this replay (ojs-dead-letter, section 7)."""
    count = job.replay.count + 1 if job.replay else 1
    return replace(retry_discarded(job, now, order), replay=Replay(count=count, at=now, rule=rule))


def exhausted(job: JobRecord, failure: Failure, now: Instant) -> JobRecord:
    """Discard a job that has no attempts left, as its policy says."""
    keeps = job.retry.on_exhaustion is Exhaustion.DEAD_LETTER
    return _discarded_after(job, failure, now, is_dead_letter=keeps)


def _discarded_after(
    job: JobRecord, failure: Failure, now: Instant, *, is_dead_letter: bool
) -> JobRecord:
    return moved(
        job,
        S.DISCARDED,
        failures=recorded(job, failure),
        completed_at=now,
        discarded_at=now,
        reservation=None,
        is_dead_letter=is_dead_letter,
    )


def moved(job: JobRecord, state: JobState, **changes: object) -> JobRecord:
    """Return the job in another state, one version later."""
    assert (job.state, state) in TRANSITIONS, f"{job.state} -> {state}"  # noqa: S101
    if state.is_terminal and not changes.get("is_dead_letter"):
        # A dead letter keeps its checkpoint: it may be enqueued again (ojs-durable-execution, 6.3).
        changes["checkpoint"] = None
    return job.next_version(state=state, **changes)


def require(job: JobRecord, verb: str, wanted: JobState) -> None:
    """Refuse a transition that needs another state of the job.

    :raises ConflictError: naming the state the job is in.
    """
    if job.state is not wanted:
        raise not_in(job, verb, wanted)


def not_in(job: JobRecord, verb: str, wanted: JobState) -> ConflictError:
    """Return the error about a job that is in another state than an operation needs."""
    message = f"Cannot {verb} job not in '{wanted}' state. Current state: '{job.state}'."
    return wrong_state("job", job.id, job.state, message, expected_state=wanted)
