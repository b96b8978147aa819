"""Makes the events of what operators change: queues, limits, tenants, schemas, many jobs.

ojs-events, section 4.2; ojs-queue-config; ojs-backpressure, section 10.1; ojs-multi-tenancy,
section 11.1. Events of refused jobs come once a minute and tenant at most, and so do those of jobs
that have to wait.
"""

from __future__ import annotations

from typing import Final

from ojs_aws.domain.credentials import by_whom
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.jobs.batches import BulkDone, OperationDone
from ojs_aws.domain.json_text import RawJson, assemble, decode, encode
from ojs_aws.domain.limits import Bucket, scope_of
from ojs_aws.domain.queues import Pressure, QueueInfo, QueueSettings, QueueState
from ojs_aws.domain.queues.config import DEFAULT_POLICY
from ojs_aws.domain.schemas import SchemaName
from ojs_aws.domain.tenants import (
    CHANGES,
    CONCURRENCY,
    CREATED,
    RESUMED,
    SUSPENDED,
    TenantRefusals,
    settings_in,
)
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

EXCEEDED: Final = "tenant.limit_exceeded"

_TENANT_KINDS: Final = {CREATED, SUSPENDED, RESUMED}

_MINUTE_MS: Final = 60_000


def operation_events(
    before: OperationDone | None, after: OperationDone | None, commit: Commit
) -> list[MadeEvent]:
    """Return ``operation.completed``, once for each record; its removal makes no event.

    What it did to a tenant has events of its own.
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
            kind=KIND, time=after.at, subject=after.id, queue=after.queue, data=assemble(data)
        ),
        *change_events(after),
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
    return [_event(kind, after.at, after.id, data)]


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
        return [_event("queue.paused", paused_after, queue.name, data, queue.name)]
    data |= by_whom(queue.resumed_by)
    resumed = Instant(max(commit.at, paused_before or 0))
    return [_event("queue.resumed", resumed, queue.name, data, queue.name)]


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
        return [_event("queue.deleted", time, after.queue, data, after.queue)] if was_there else []
    if not was_there and after.created_at is not None and after.queue != DEFAULT_POLICY:
        return [_event("queue.created", time, after.queue, data, after.queue)]
    return [_event("queue.config_updated", time, after.queue, data, after.queue)]


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
        made.append(_event(kind, after.at, after.queue, where, after.queue))
    if _is_full(after) and not _is_full(before):
        made.append(_event("queue.full", after.at, after.queue, where, after.queue))
    rejected = after.rejected - (before.rejected if before else 0)
    if rejected > 0:
        data = {**where, "job_type": after.job_type, "count": rejected}
        made.append(_event("backpressure.rejected", after.at, after.queue, data, after.queue))
    return made


def _is_full(pressure: Pressure | None) -> bool:
    """Return whether the last place was taken at this write; a rejection says so, too."""
    return pressure is not None and 0 < pressure.bound <= pressure.depth


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
        made.append(_event("rate_limit.dynamic_adjusted", _at(said, commit), after.key, data))
    elif after.exhausted and not was:
        said = _said(after.exhausted)
        data = {
            "key": after.key,
            "strategy": said.get("strategy", ""),
            "limit": said.get("limit", 0),
            "current": said.get("current", 0),
        }
        made.append(_event("rate_limit.exceeded", _at(said, commit), after.key, data))
    if was and not after.exhausted:
        said = _said(was)
        data = {
            "key": after.key,
            "strategy": said.get("strategy", ""),
            "job_id": after.released,
        }
        time = Instant(max(commit.at, _at(said, commit)))
        made.append(_event("rate_limit.released", time, after.key, data))
    return [*made, *waiting_events(before, after)]


def _said(text: str) -> dict[str, JsonValue]:
    said = decode(text) if text else {}
    return said if isinstance(said, dict) else {}


def _at(said: dict[str, JsonValue], commit: Commit) -> Instant:
    """Return when it happened; the stream record knows only the second."""
    at = said.get("at")
    return Instant(at) if isinstance(at, int) else commit.at


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
    return _event(kind, at, name.uri, data)


def change_events(done: OperationDone) -> list[MadeEvent]:
    """Return the events of an operation that changed what is set for a tenant."""
    target = decode(done.target)
    changes = target.get(CHANGES) if isinstance(target, dict) else None
    if not isinstance(target, dict) or not isinstance(changes, list):
        return []
    tenant, by = str(target.get("tenant", "")), by_whom(done.by)
    return [
        _tenant_event(str(kind), tenant, done.at, by) for kind in changes if kind in _TENANT_KINDS
    ]


def refusal_events(
    before: TenantRefusals | None, after: TenantRefusals | None, commit: Commit
) -> list[MadeEvent]:
    """Return ``tenant.limit_exceeded`` for jobs that a tenant might not enqueue, with a count."""
    del commit
    if after is None:
        return []
    data: dict[str, JsonValue] = {
        "limit": after.limit,
        "current": after.current,
        "maximum": after.maximum,
        "count": after.count - (before.count if before is not None else 0),
    }
    return [_tenant_event(EXCEEDED, after.tenant, after.at, data)]


def waiting_events(before: Bucket | None, after: Bucket) -> list[MadeEvent]:
    """Return ``tenant.limit_exceeded`` if a tenant's jobs have to wait; the first of a minute."""
    scope, at = scope_of(after.key), after.exhausted_at
    if scope is None or not scope.tenant or at is None or settings_in(after).is_suspended:
        return []
    last = before.exhausted_at if before is not None else None
    if last is not None and at // _MINUTE_MS <= last // _MINUTE_MS:
        return []
    said = decode(after.exhausted) if after.exhausted else None
    if not isinstance(said, dict):
        return []
    data: dict[str, JsonValue] = {
        "limit": CONCURRENCY,
        "current": said.get("current", 0),
        "maximum": said.get("limit", 0),
    }
    return [_tenant_event(EXCEEDED, scope.tenant, at, data)]


def _tenant_event(kind: str, tenant: str, at: Instant, data: dict[str, JsonValue]) -> MadeEvent:
    return _event(kind, at, tenant, {"tenant_id": tenant, **data})


def _event(
    kind: str, time: Instant, subject: str, data: dict[str, JsonValue], queue: str = ""
) -> MadeEvent:
    return MadeEvent(kind=kind, time=time, subject=subject, queue=queue, data=encode(data))
