"""Makes the events of workers, queues, limits and schemas, and of changes of many jobs.

ojs-events, section 4.2; ojs-queue-config; ojs-backpressure, section 10.1.
"""

from __future__ import annotations

from typing import Final

from ojs_aws.domain.credentials import by_whom
from ojs_aws.domain.errors import JsonValue, OjsError
from ojs_aws.domain.jobs.batches import BulkDone, OperationDone
from ojs_aws.domain.json_text import ANY_DEPTH, RawJson, assemble, decode, encode
from ojs_aws.domain.limits import Bucket
from ojs_aws.domain.queues import Pressure, QueueInfo, QueueSettings, QueueState
from ojs_aws.domain.queues.config import DEFAULT_POLICY
from ojs_aws.domain.schemas import SchemaName
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.domain.workers import WorkerInfo
from ojs_aws.services.events import tenants
from ojs_aws.services.events.commit import Commit, MadeEvent

_WORDS: Final = {
    "enqueue": ("succeeded", "failed"),
    "cancel": ("cancelled", "skipped"),
    "retry": ("retried", "skipped"),
    "delete": ("deleted", "skipped"),
    "reprioritise": ("reprioritised", "skipped"),
}


def operation_events(
    before: OperationDone | None, after: OperationDone | None, commit: Commit
) -> list[MadeEvent]:
    """Return ``operation.completed``, once for each record; its removal makes no event.

    The events of what it did to a tenant follow it.
    """
    del commit
    if after is None or before is not None:
        return []
    data: dict[str, RawJson] = {
        "operation": encode(after.operation),
        "target": RawJson(after.target),
        **{name: encode(value) for name, value in by_whom(after.by).items()},
    }
    return [
        MadeEvent(
            kind="operation.completed",
            time=after.at,
            subject=after.id,
            queue=after.queue,
            data=assemble(data),
        ),
        *tenants.change_events(after),
    ]


def bulk_events(before: BulkDone | None, after: BulkDone | None, commit: Commit) -> list[MadeEvent]:
    """Return ``bulk.<operation>.completed``, once for each request answered item by item."""
    del commit
    if after is None or after == before:
        return []
    done, left = _WORDS[after.operation]
    data: dict[str, JsonValue] = {
        "total": after.total,
        done: after.done,
        left: after.total - after.done,
        "atomicity": "atomic" if after.is_atomic else "partial",
    }
    data |= by_whom(after.by)
    kind = f"bulk.{after.operation}.completed"
    return [MadeEvent(kind=kind, time=after.at, subject=after.id, queue="", data=encode(data))]


def queue_events(
    before: QueueInfo | None, after: QueueInfo | None, commit: Commit
) -> list[MadeEvent]:
    """Return ``queue.paused`` and ``queue.resumed``; other changes of a queue are no events."""
    paused_before = before.paused_at if before else None
    paused_after = after.paused_at if after else None
    queue = after or before
    if queue is None or (paused_before is None) == (paused_after is None):
        return []
    data: dict[str, JsonValue] = {"queue": queue.name}
    if paused_after is not None:
        data |= by_whom(queue.paused_by, paused_after)
        return [_queue_event("queue.paused", queue.name, paused_after, data)]
    data |= by_whom(queue.resumed_by)
    resumed = Instant(max(commit.at, paused_before or 0))
    return [_queue_event("queue.resumed", queue.name, resumed, data)]


def settings_events(
    before: QueueSettings | None, after: QueueSettings | None, commit: Commit
) -> list[MadeEvent]:
    """Return ``queue.created`` and ``queue.deleted``, else ``queue.config_updated``."""
    if after is None or after.revision == (before.revision if before is not None else 0):
        return []
    time = Instant(after.updated_at or commit.at)
    was_there = before is not None and before.state is not QueueState.DELETED
    data: dict[str, JsonValue] = {"queue": after.queue, "revision": after.revision}
    data |= by_whom(after.by, after.revision)
    if after.state is QueueState.DELETED:
        return [_queue_event("queue.deleted", after.queue, time, data)] if was_there else []
    if not was_there and after.created_at is not None and after.queue != DEFAULT_POLICY:
        return [_queue_event("queue.created", after.queue, time, data)]
    return [_queue_event("queue.config_updated", after.queue, time, data)]


def pressure_events(
    before: Pressure | None, after: Pressure | None, commit: Commit
) -> list[MadeEvent]:
    """Return ``backpressure.warning`` and ``.cleared``, ``queue.full``, ``.rejected`` with a count.

    ``queue.full`` comes once. It can come again after the queue had room.
    """
    if after is None:
        return []
    del commit
    where: dict[str, JsonValue] = {
        "queue": after.queue,
        "depth": after.depth,
        "bound": after.bound,
    }
    made = []
    was_warned = before is not None and before.is_warned
    if after.is_warned != was_warned:
        kind = "backpressure.warning" if after.is_warned else "backpressure.cleared"
        made.append(_queue_event(kind, after.queue, after.at, where))
    if _is_full(after) and not _is_full(before):
        made.append(_queue_event("queue.full", after.queue, after.at, where))
    rejected = after.rejected - (before.rejected if before else 0)
    if rejected > 0:
        data = {**where, "job_type": after.job_type, "count": rejected}
        made.append(_queue_event("backpressure.rejected", after.queue, after.at, data))
    return made


def _is_full(pressure: Pressure | None) -> bool:
    """Return whether the last place was taken at this write; a rejection says so, too."""
    return pressure is not None and 0 < pressure.bound <= pressure.depth


def _queue_event(kind: str, queue: str, time: Instant, data: dict[str, JsonValue]) -> MadeEvent:
    return MadeEvent(kind=kind, time=time, subject=queue, queue=queue, data=encode(data))


def limit_events(before: Bucket | None, after: Bucket | None, commit: Commit) -> list[MadeEvent]:
    """Return ``rate_limit.exceeded``, ``.released`` and ``.dynamic_adjusted``.

    Each comes once for the time in which jobs have to wait, not once for each job or look:
    the first refusal reports that the limit is exceeded, the next job that begins that it is
    released.
    """
    if after is None:
        return []
    was = before.exhausted if before else ""
    made: list[MadeEvent] = []
    if after.blocked_until is not None and after.blocked_until != (before and before.blocked_until):
        said = _said(after.exhausted)
        data: dict[str, JsonValue] = {
            "key": after.key,
            "until": format_instant(after.blocked_until),
            "reason": said.get("reason", ""),
        }
        made.append(_limit_event("rate_limit.dynamic_adjusted", after.key, data, _at(said, commit)))
    elif after.exhausted and not was:
        said = _said(after.exhausted)
        data = {
            "key": after.key,
            "strategy": said.get("strategy", ""),
            "limit": said.get("limit", 0),
            "current": said.get("current", 0),
        }
        made.append(_limit_event("rate_limit.exceeded", after.key, data, _at(said, commit)))
    if was and not after.exhausted:
        said = _said(was)
        data = {
            "key": after.key,
            "strategy": said.get("strategy", ""),
            "job_id": after.released,
        }
        time = Instant(max(commit.at, _at(said, commit)))
        made.append(_limit_event("rate_limit.released", after.key, data, time))
    return [*made, *tenants.waiting_events(before, after)]


def _said(text: str) -> dict[str, JsonValue]:
    said = decode(text) if text else {}
    return said if isinstance(said, dict) else {}


def _at(said: dict[str, JsonValue], commit: Commit) -> Instant:
    """Return when it happened; the stream record knows only the second."""
    at = said.get("at")
    return Instant(at) if isinstance(at, int) else commit.at


def _limit_event(kind: str, key: str, data: dict[str, JsonValue], time: Instant) -> MadeEvent:
    return MadeEvent(kind=kind, time=time, subject=key, data=encode(data))


def schema_events(
    before: SchemaName | None, after: SchemaName | None, commit: Commit
) -> list[MadeEvent]:
    """Return ``schema.registered`` or ``schema.deleted``; a removal does not say by whom."""
    if after is not None and before is None:
        return [_schema_event("schema.registered", after, after.created_at, by_whom(after.by))]
    if after is None and before is not None:
        at = Instant(max(commit.at, before.created_at))
        return [_schema_event("schema.deleted", before, at, {})]
    return []


def _schema_event(kind: str, name: SchemaName, at: Instant, by: dict[str, JsonValue]) -> MadeEvent:
    data: dict[str, JsonValue] = {
        "job_type": name.type,
        "version": name.version,
        "uri": name.uri,
        **by,
    }
    return MadeEvent(kind=kind, time=at, subject=name.uri, data=encode(data))


def worker_events(
    before: WorkerInfo | None, after: WorkerInfo | None, commit: Commit
) -> list[MadeEvent]:
    """Return the events in a worker's life, from its first heartbeat to its last.

    One that ended well said so: it stopped by ``shutdown``. One that is removed without that was
    not heard of any more: it stopped by ``error``.
    """
    if after is None:
        if before is None or _has_ended(before):
            return []
        at = Instant(max(commit.at, before.last_seen))
        return [_made("worker.stopped", before, at, reason="error")]
    at = after.last_seen
    if before is None or (_has_ended(before) and not _has_ended(after)):
        about = _about(after)
        queues, concurrency = _queues(about), about.get("concurrency")
        is_count = isinstance(concurrency, int)
        concurrency = concurrency if is_count else 0
        return [_made("worker.started", after, at, queues=queues, concurrency=concurrency)]
    if after.last_seen == before.last_seen:
        return _directed(before, after, commit)
    if _has_ended(after):
        return [] if _has_ended(before) else [_made("worker.stopped", after, at, reason="shutdown")]
    made: list[MadeEvent] = []
    if after.state == "quiet" and before.state != "quiet":
        made.append(_made("worker.quiet", after, at, active_jobs=after.active_jobs))
    about = _about(after)
    usage = {name: about[name] for name in ("memory_mb", "cpu_percent") if name in about}
    data: dict[str, JsonValue] = {"active_jobs": after.active_jobs, "queues": _queues(about)}
    made.append(_made("worker.heartbeat", after, at, **data, **usage))
    return made


def _directed(before: WorkerInfo, after: WorkerInfo, commit: Commit) -> list[MadeEvent]:
    """Return that somebody directed a worker; the worker reports when it follows."""
    if before.directive == after.directive:
        return []
    at = Instant(max(commit.at, after.last_seen))
    by = by_whom(after.directed_by)
    return [_made("worker.directed", after, at, directive=after.directive, **by)]


def _has_ended(worker: WorkerInfo) -> bool:
    return worker.state == "terminate" and not worker.active_jobs


def _about(worker: WorkerInfo) -> dict[str, JsonValue]:
    try:
        about = decode(worker.about, max_depth=ANY_DEPTH) if worker.about else {}
    except OjsError:
        return {}
    return about if isinstance(about, dict) else {}


def _queues(about: dict[str, JsonValue]) -> JsonValue:
    queues = about.get("queues")
    return queues if isinstance(queues, list) else []


def _made(kind: str, worker: WorkerInfo, at: Instant, **more: JsonValue) -> MadeEvent:
    data: dict[str, JsonValue] = {"worker_id": worker.id, **more, "state": worker.state}
    return MadeEvent(
        kind=kind,
        time=at,
        subject=worker.id,
        data=assemble({name: encode(value) for name, value in data.items()}),
    )
