"""Decides what time alone does to a job: due times, lost reservations, expiry (core, section 6.3).

:func:`settle_once` applies what is due, by the transitions of ``lifecycle``.
"""

from __future__ import annotations

from typing import Final

from ojs_aws.domain.job import Failure, JobRecord, JobState, is_blocked
from ojs_aws.domain.jobs.failures import recorded
from ojs_aws.domain.jobs.lifecycle import UNDELAYED, exhausted, fail, moved
from ojs_aws.domain.jobs.ready_keys import ready_sort_key
from ojs_aws.domain.json_text import RawJson, encode
from ojs_aws.domain.timestamps import Instant

S = JobState

TIMEOUT: Final = "timeout"
VISIBILITY_TIMEOUT: Final = "visibility_timeout"
WORKER_DEATH: Final = "worker_death"
STALLED: Final = "stalled"


def next_due(job: JobRecord) -> Instant | None:
    """Return when time will change the job next; None for never."""
    match job.state:
        case S.ACTIVE:
            return job.reservation.due_at if job.reservation else None
        case S.SCHEDULED if is_blocked(job):
            return job.expires_at  # its time alone does not give it its turn
        case S.SCHEDULED:
            return _earliest(job.scheduled_at, job.expires_at)
        case S.RETRYABLE:
            return _earliest(job.next_attempt_at, job.expires_at)
        case S.AVAILABLE | S.PENDING:
            return job.expires_at
    return None


def sort_key_when_due(priority: int, due: Instant) -> str:
    """Return the ready sort key that a scheduled or retryable job has from its due time on."""
    return ready_sort_key(priority, due * UNDELAYED)


def wait_ms(job: JobRecord) -> int:
    """Return how long a scheduled or retryable job waits, from when it entered its state."""
    due = next_due(job)
    if due is None or job.state not in {S.SCHEDULED, S.RETRYABLE}:
        return 0
    return due - _entered(job)


def settle_once(job: JobRecord, now: Instant) -> JobRecord | None:
    """Return the next transition that is due by time alone; None when nothing is due.

    The transition takes effect at its due instant, not at ``now``: whoever settles a job, and
    whenever, comes to the same record. An expiry that was over before the job came into its state
    takes effect when it came there, so that no job's history runs backwards.
    """
    due = next_due(job)
    if due is None or due > now:
        return None
    if job.state is S.ACTIVE:
        return _overdue(job, due)
    if due == job.expires_at:
        at = max(due, _entered(job))
        return moved(job, S.DISCARDED, discarded_at=at, next_attempt_at=None)
    return moved(job, S.AVAILABLE, enqueued_at=due, order=due * UNDELAYED, next_attempt_at=None)


def settle(job: JobRecord, now: Instant) -> JobRecord:
    """Apply every transition that is due by time alone, in order."""
    while (after := settle_once(job, now)) is not None:
        job = after
    return job


def _overdue(job: JobRecord, due: Instant) -> JobRecord:
    """End an attempt whose time is over: its execution timeout, or the worker's reservation.

    An execution timeout goes through the retry policy. A lost worker is no error of the job: it is
    available at once, without backoff, while attempts are left (worker protocol, 5.5 and 10.2).
    """
    held = job.reservation
    if held is None or held.execution_ends_at <= due:
        message = f"The execution exceeded its timeout of {job.timeout_ms} ms."
        return fail(job, _out_of_time(job, TIMEOUT, TIMEOUT, message, "execution", due), due)
    is_dead = held.alive_until is not None and held.alive_until <= due
    if not is_dead:  # a heartbeat would have moved both ends
        message = "The visibility timeout expired without ACK, FAIL or heartbeat."
        failure = _out_of_time(job, VISIBILITY_TIMEOUT, VISIBILITY_TIMEOUT, message, STALLED, due)
    else:
        message = f"Worker '{held.worker_id}' missed its heartbeats and counts as dead."
        failure = _out_of_time(job, WORKER_DEATH, STALLED, message, STALLED, due)
    if job.counted_attempts >= job.allowed_attempts:
        return exhausted(job, failure, due)
    return moved(
        job,
        S.AVAILABLE,
        failures=recorded(job, failure),
        enqueued_at=due,
        order=due * UNDELAYED,
        started_at=None,
        reservation=None,
    )


def _out_of_time(
    job: JobRecord, name: str, code: str, message: str, kind: str, due: Instant
) -> Failure:
    """Return the failure of an attempt that timed out (ojs-timeouts, section 8)."""
    elapsed_ms = due - (job.started_at or due)
    limit_ms = job.timeout_ms if name == TIMEOUT else elapsed_ms
    return Failure(
        type=name,
        code=code,
        message=message,
        attempt=job.attempt,
        occurred_at=due,
        extra={
            "timeout_kind": encode(kind),
            "limit_seconds": _seconds(limit_ms),
            "elapsed_seconds": _seconds(elapsed_ms),
        },
    )


def _seconds(milliseconds: int) -> RawJson:
    whole, rest = divmod(milliseconds, 1000)
    return encode(milliseconds / 1000 if rest else whole)


def _entered(job: JobRecord) -> Instant:
    """Return when a waiting job entered its state: created, made available, or failed."""
    failed = job.failures[-1].occurred_at if job.failures else job.created_at
    return max(job.created_at, job.enqueued_at or job.created_at, failed)


def last_change(job: JobRecord) -> Instant:
    """Return the instant of a job's last transition, as far as its record shows it."""
    steps = (
        job.activated_at,
        job.started_at,
        job.completed_at,
        job.cancelled_at,
        job.discarded_at,
    )
    return max(at for at in (_entered(job), *steps) if at is not None)


def _earliest(*instants: Instant | None) -> Instant | None:
    return min((instant for instant in instants if instant is not None), default=None)
