"""Makes the events of what operators change: queues, limits, schemas, and many jobs at once.

ojs-events, section 4.2; ojs-queue-config; ojs-backpressure, section 10.1.
"""

from __future__ import annotations

from typing import Final

from ojs_aws.domain.actor import by_whom
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.jobs.batches import BulkDone, OperationDone
from ojs_aws.domain.json_text import RawJson, assemble, decode, encode
from ojs_aws.domain.limits.rules import Bucket
from ojs_aws.domain.queues.config import DEFAULT_POLICY
from ojs_aws.domain.queues.state import Pressure, QueueInfo, QueueSettings, QueueState
from ojs_aws.domain.schemas.schema import SchemaName
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.services.events.commit import Commit, MadeEvent

KIND: Final = "operation.completed"
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
    """Return ``operation.completed``, once for each record; its removal makes no event."""
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
            kind=KIND, time=after.at, subject=after.id, queue=after.queue, data=assemble(data)
        )
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
    if after is None or (before is not None and before.revision == after.revision):
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

    A queue is full once until it is known to have had room.
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

    One of each for the time in which jobs have to wait, not one for each job or each look:
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
    return made


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
