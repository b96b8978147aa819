"""From committed changes to lifecycle events (ojs-events, section 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.failures import render_failure
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.json_text import RawJson, assemble, encode
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.ports import Event

Data = dict[str, RawJson]


def events_of(before: JobRecord | None, after: JobRecord | None) -> list[Event]:
    """The events of one committed write, in lifecycle order.

    Ids are made of the job, its version and the type, so that a repeated stream record repeats
    the ids too.
    """
    if after is None:
        return []
    if before is not None and before.state is after.state:
        if after.state is JobState.ACTIVE and before.attempt == after.attempt:
            return [_event("job.heartbeat", after, _now_of(after), _heartbeat(after))]
        return []
    return [
        _event(kind, after, time, data) for kind, time, data in _KINDS[after.state](before, after)
    ]


def _event(kind: str, job: JobRecord, time: Instant, data: Data) -> Event:
    common: Data = {
        "job_id": encode(job.id),
        "job_type": encode(job.type),
        "queue": encode(job.queue),
    }
    return Event(
        id=f"evt_{job.id}_{job.version:06d}_{kind.partition('.')[2]}",
        type=kind,
        time=time,
        queue=job.queue,
        subject=job.id,
        data=assemble(common | data),
    )


Made = list[tuple[str, Instant, Data]]


def _now_of(job: JobRecord) -> Instant:
    """The best known time of a write that changes no timestamp of the job."""
    return job.started_at or job.created_at


def _heartbeat(job: JobRecord) -> Data:
    held = job.reservation
    return {
        "attempt": encode(job.attempt),
        "worker_id": encode(held.worker_id if held else ""),
        "visible_until": encode(format_instant(held.expires_at)) if held else encode(None),
    }


def _enqueued(before: JobRecord | None, after: JobRecord) -> Made:
    made: Made = []
    if before is not None and before.state is JobState.ACTIVE:
        made += _failed(after)
    time = after.enqueued_at or after.created_at
    made.append(("job.enqueued", time, {"attempt": encode(after.attempt)}))
    return made


def _scheduled(_: JobRecord | None, after: JobRecord) -> Made:
    at = after.scheduled_at or after.created_at
    return [("job.scheduled", after.created_at, {"scheduled_at": encode(format_instant(at))})]


def _pending(_: JobRecord | None, __: JobRecord) -> Made:
    return []


def _started(_: JobRecord | None, after: JobRecord) -> Made:
    worker = after.reservation.worker_id if after.reservation else ""
    data: Data = {"attempt": encode(after.attempt), "worker_id": encode(worker)}
    return [("job.started", after.started_at or after.created_at, data)]


def _completed(_: JobRecord | None, after: JobRecord) -> Made:
    ended = after.completed_at or after.created_at
    data: Data = {
        "attempt": encode(after.attempt),
        "duration_ms": encode(ended - (after.started_at or ended)),
        "result": after.result if isinstance(after.result, str) else RawJson("null"),
    }
    return [("job.completed", ended, data)]


def _failed(after: JobRecord) -> Made:
    failure = after.failures[-1] if after.failures else None
    if failure is None:
        return []
    data: Data = {
        "attempt": encode(failure.attempt),
        "error": render_failure(failure.without_backtrace()),
    }
    return [("job.failed", failure.occurred_at, data)]


def _retrying(_: JobRecord | None, after: JobRecord) -> Made:
    due = after.next_attempt_at
    made = _failed(after)
    failed_at = made[-1][1] if made else after.created_at
    data: Data = {
        "attempt": encode(after.attempt),
        "max_attempts": encode(after.retry.max_attempts),
        "next_retry_at": encode(format_instant(due)) if due is not None else encode(None),
        "error": made[-1][2]["error"] if made else RawJson("null"),
    }
    return [*made, ("job.retrying", failed_at, data)]


def _discarded(before: JobRecord | None, after: JobRecord) -> Made:
    ended = after.discarded_at or after.created_at
    if before is None or before.state is not JobState.ACTIVE:
        expired: dict[str, JsonValue] = {
            "created_at": format_instant(after.created_at),
            "expired_at": format_instant(ended),
            "ttl_ms": ended - after.created_at,
        }
        return [("job.expired", ended, {name: encode(value) for name, value in expired.items()})]
    made = _failed(after)
    data: Data = {
        "total_attempts": encode(after.attempt),
        "last_error": made[-1][2]["error"] if made else RawJson("null"),
        "dead_letter": encode(after.is_dead_letter),
    }
    return [*made, ("job.discarded", ended, data)]


def _cancelled(before: JobRecord | None, after: JobRecord) -> Made:
    data: Data = {
        "previous_state": encode(str(before.state) if before else None),
        "cancelled_by": encode("api"),
        "reason": encode(None),
    }
    return [("job.cancelled", after.cancelled_at or after.created_at, data)]


_KINDS: Final[dict[JobState, Callable[[JobRecord | None, JobRecord], Made]]] = {
    JobState.AVAILABLE: _enqueued,
    JobState.SCHEDULED: _scheduled,
    JobState.PENDING: _pending,
    JobState.ACTIVE: _started,
    JobState.COMPLETED: _completed,
    JobState.RETRYABLE: _retrying,
    JobState.DISCARDED: _discarded,
    JobState.CANCELLED: _cancelled,
}
