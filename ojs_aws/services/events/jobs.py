"""Makes the events of jobs and of workflows (ojs-events, section 4.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ojs_aws.domain.credentials import read_actor
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.events import trace_of
from ojs_aws.domain.job import Failure, JobRecord, JobState, Reservation
from ojs_aws.domain.jobs.failures import DEFAULT_TYPE, render_failure
from ojs_aws.domain.jobs.lifecycle import is_requeue
from ojs_aws.domain.json_text import RawJson, assemble, encode
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.domain.workflows.workflow import Workflow
from ojs_aws.services.events.commit import Commit, MadeEvent

Data = dict[str, RawJson]
JobEvents = list[tuple[str, Instant, Data]]


def job_events(
    before: JobRecord | None, after: JobRecord | None, commit: Commit
) -> list[MadeEvent]:
    """Return one event for each transition and each heartbeat, and progress once a second.

    A failed attempt makes ``job.failed`` first, then what became of the job; one that was given
    back did not fail. A removed job makes no event: that is no transition.
    """
    if after is None:
        return []
    events: JobEvents = []
    if before is None or before.state is not after.state:
        events = _EVENTS_OF[after.state](before, after)
    elif before.priority != after.priority:
        events = [_reprioritised(before, after, commit)]
    elif before.progress != after.progress:
        events = _progress(before, after)
    elif _is_heartbeat(before, after):
        events = [_heartbeat(after, commit)]
    if not events:
        return []
    common: Data = {
        "job_id": encode(after.id),
        "job_type": encode(after.type),
        "queue": encode(after.queue),
    }
    author = read_actor(after.changed_by, after.version)
    if author is not None:
        common["by"] = encode(author.members)
    if trace := trace_of(after.document):
        common["trace_id"] = encode(trace)
    return [
        MadeEvent(
            kind=kind,
            time=time,
            subject=after.id,
            queue=after.queue,
            job_type=after.type,
            data=assemble(common | data),
        )
        for kind, time, data in events
    ]


def _is_heartbeat(before: JobRecord, after: JobRecord) -> bool:
    held, was = after.reservation, before.reservation
    return (
        after.state is JobState.ACTIVE
        and held is not None
        and (was is None or _ends(held) != _ends(was))
    )


def _ends(held: Reservation) -> tuple[Instant, Instant | None]:
    return held.expires_at, held.alive_until


def _heartbeat(job: JobRecord, commit: Commit) -> tuple[str, Instant, Data]:
    held = job.reservation
    data: Data = {
        "attempt": encode(job.attempt),
        "worker_id": encode(held.worker_id if held else ""),
        "visible_until": _instant(held.due_at if held else job.created_at),
    }
    return "job.heartbeat", Instant(max(commit.at, job.started_at or job.created_at)), data


def _reprioritised(
    before: JobRecord, after: JobRecord, commit: Commit
) -> tuple[str, Instant, Data]:
    """Return the event of a changed priority (ojs-priority, section 11.1)."""
    data: Data = {
        "previous_priority": encode(before.priority),
        "new_priority": encode(after.priority),
    }
    return "priority.changed", Instant(max(commit.at, after.created_at)), data


def _progress(before: JobRecord, after: JobRecord) -> JobEvents:
    """Return an execution's progress, once a second at most; none for a report without a number."""
    known, earlier = after.current_progress, before.current_progress
    held = after.reservation
    if known is None or known.fraction is None or held is None:
        return []
    last = None if earlier is None or earlier.fraction is None else earlier.updated_at
    if last is not None and last // 1000 == known.updated_at // 1000:
        return []
    data: Data = {
        "attempt": encode(after.attempt),
        "worker_id": encode(held.worker_id),
        "progress_percent": encode(round(known.fraction * 100, 10)),
    }
    if known.message:
        data["progress_message"] = encode(known.message)
    if known.data is not None:
        data["data"] = known.data
    return [("job.progress", known.updated_at, data)]


def _enqueued(before: JobRecord | None, after: JobRecord) -> JobEvents:
    has_failed = _was_active(before) and not is_requeue(before, after)
    events = _failed(before, after) if has_failed else []
    data: Data = {"attempt": encode(after.attempt), "priority": encode(after.priority)}
    if before is not None:
        data["previous_state"] = encode(str(before.state))
    if after.scheduled_at is not None:
        data["scheduled_at"] = _instant(after.scheduled_at)
    return [*events, ("job.enqueued", after.enqueued_at or after.created_at, data)]


def _scheduled(_: JobRecord | None, after: JobRecord) -> JobEvents:
    due = _instant(after.scheduled_at or after.created_at)
    return [("job.scheduled", after.created_at, {"scheduled_at": due})]


def _started(_: JobRecord | None, after: JobRecord) -> JobEvents:
    worker = after.reservation.worker_id if after.reservation else ""
    data: Data = {"attempt": encode(after.attempt), "worker_id": encode(worker)}
    if after.attempt == 1 and after.started_at is not None and after.enqueued_at is not None:
        data["queue_time_ms"] = encode(max(0, after.started_at - after.enqueued_at))
    return [("job.started", after.started_at or after.created_at, data)]


def _completed(_: JobRecord | None, after: JobRecord) -> JobEvents:
    ended = after.completed_at or after.created_at
    data: Data = {
        "attempt": encode(after.attempt),
        "duration_ms": encode(max(0, ended - (after.started_at or ended))),
    }
    if after.result is None or isinstance(after.result, str):  # else it is too large for an event
        data["result"] = after.result or RawJson("null")
    return [("job.completed", ended, data)]


def _failed(before: JobRecord | None, after: JobRecord) -> JobEvents:
    """Return the failed attempt; a lost reservation counts as one, with its own code."""
    failure = after.failures[-1] if after.failures else None
    if failure is None:
        return []
    data: Data = {"attempt": encode(failure.attempt), "error": _error(after, failure)}
    started = before.started_at if before else None
    if started is not None:
        data["duration_ms"] = encode(max(0, failure.occurred_at - started))
    return [("job.failed", failure.occurred_at, data)]


def _error(job: JobRecord, failure: Failure) -> RawJson:
    """Return the error object; the worker, else the policy, decides ``retryable``."""
    rendered = render_failure(failure.without_backtrace())
    if failure.retryable is not None:
        return rendered
    names = filter(None, (failure.type, failure.code, failure.error_class))
    is_retryable = encode(not job.retry.forbids(*names))
    return RawJson(f'{rendered[:-1]},"retryable":{is_retryable}}}')


def _retrying(before: JobRecord | None, after: JobRecord) -> JobEvents:
    """Return the failed attempt and the coming retry; a snooze only has the latter."""
    events = _failed(before, after)
    failed_at = events[-1][1] if events else after.created_at
    data: Data = {
        "attempt": encode(after.attempt),
        "max_attempts": encode(after.retry.max_attempts),
        "next_retry_at": _instant(after.next_attempt_at or failed_at),
        "error": events[-1][2]["error"] if events else _UNKNOWN,
    }
    retrying = ("job.retrying", failed_at, data)
    return [retrying] if is_requeue(before, after) else [*events, retrying]


def _discarded(before: JobRecord | None, after: JobRecord) -> JobEvents:
    ended = after.discarded_at or after.created_at
    if _was_given_up(before, after, ended):
        limit: Data = {"key": encode(after.limit.key if after.limit else "")}
        return [
            ("rate_limit.dropped", ended, limit),
            ("job.discarded", ended, {"total_attempts": encode(after.attempt)} | _NO_ERROR),
        ]
    if not _was_active(before):
        data: Data = {
            "created_at": _instant(after.created_at),
            "expired_at": _instant(ended),
            "ttl_ms": encode(max(0, (after.expires_at or ended) - after.created_at)),
        }
        if before is not None:
            data["previous_state"] = encode(str(before.state))
        return [("job.expired", ended, data)]
    events = _failed(before, after)
    data = {
        "total_attempts": encode(after.attempt),
        "last_error": events[-1][2]["error"] if events else _UNKNOWN,
        "dead_letter": encode(after.is_dead_letter),
    }
    return [*events, ("job.discarded", ended, data)]


def _was_given_up(before: JobRecord | None, after: JobRecord, ended: Instant) -> bool:
    """Return whether its own limit's policy discarded it: the only other cause is its time.

    ojs-rate-limiting, section 6.2.
    """
    if before is None or before.state is not JobState.AVAILABLE or after.limit is None:
        return False
    return after.expires_at is None or ended < after.expires_at


def _cancelled(before: JobRecord | None, after: JobRecord) -> JobEvents:
    data: Data = {"cancelled_by": encode("api")}
    if before is not None:
        data["previous_state"] = encode(str(before.state))
    return [("job.cancelled", after.cancelled_at or after.created_at, data)]


def _was_active(before: JobRecord | None) -> bool:
    return before is not None and before.state is JobState.ACTIVE


def _instant(instant: Instant) -> RawJson:
    return encode(format_instant(instant))


_UNKNOWN: Final = assemble(
    {"code": encode(DEFAULT_TYPE), "message": encode("unknown"), "retryable": encode(True)}
)

_NO_ERROR: Final[Data] = {"last_error": RawJson("null"), "dead_letter": encode(False)}

_EVENTS_OF: Final[dict[JobState, Callable[[JobRecord | None, JobRecord], JobEvents]]] = {
    JobState.AVAILABLE: _enqueued,
    JobState.SCHEDULED: _scheduled,
    JobState.PENDING: lambda *_: [],
    JobState.ACTIVE: _started,
    JobState.COMPLETED: _completed,
    JobState.RETRYABLE: _retrying,
    JobState.DISCARDED: _discarded,
    JobState.CANCELLED: _cancelled,
}


def workflow_events(
    before: Workflow | None, after: Workflow | None, commit: Commit
) -> list[MadeEvent]:
    """Return the events that the workflow's write recorded; none for a removal."""
    del commit
    if after is None or (before is not None and before.version >= after.version):
        return []
    common: dict[str, JsonValue] = {
        "workflow_id": after.id,
        "workflow_name": after.name,
        "workflow_type": after.kind,
    }
    return [
        MadeEvent(
            kind=event.kind,
            time=event.at,
            subject=after.id,
            data=encode({**common, **event.data}),
        )
        for event in after.events
    ]
