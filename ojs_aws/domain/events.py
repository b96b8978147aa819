"""Describes lifecycle events, the pages of their log, and changes whose events are set aside."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ojs_aws.domain.errors import JsonValue, OjsError
from ojs_aws.domain.job import Document
from ojs_aws.domain.json_text import ANY_DEPTH, RawJson, assemble, decode, encode
from ojs_aws.domain.timestamps import Instant, format_instant

SOURCE: Final = "ojs://ojs-aws/backend"
"""The source of the events (ojs-events, section 2.4); an id is unique under it."""
SPECVERSION: Final = "1.0"
REQUIRED_DATA: Final[Mapping[str, tuple[str, ...]]] = {
    "job.enqueued": ("job_type", "queue"),
    "job.started": ("job_type", "queue", "worker_id", "attempt"),
    "job.completed": ("job_type", "queue", "duration_ms", "attempt"),
    "job.failed": ("job_type", "queue", "attempt", "error"),
    "job.discarded": ("job_type", "queue", "total_attempts", "last_error"),
    "job.retrying": ("job_type", "queue", "attempt", "max_attempts", "next_retry_at", "error"),
    "job.cancelled": ("job_type", "queue"),
    "job.heartbeat": ("job_type", "queue", "worker_id", "attempt", "visible_until"),
    "job.scheduled": ("job_type", "queue", "scheduled_at"),
    "job.expired": ("job_type", "queue", "created_at", "expired_at", "ttl_ms"),
    "job.progress": ("job_type", "queue", "worker_id", "attempt", "progress_percent"),
    "queue.paused": ("queue",),
    "queue.resumed": ("queue",),
    "queue.created": ("queue",),
    "queue.config_updated": ("queue",),
    "queue.deleted": ("queue",),
    "queue.full": ("queue", "depth", "bound"),
    "priority.changed": ("job_id", "previous_priority", "new_priority"),
    "bulk.enqueue.completed": ("total", "succeeded", "failed", "atomicity"),
    "bulk.cancel.completed": ("total", "cancelled", "skipped"),
    "bulk.retry.completed": ("total", "retried", "skipped"),
    "bulk.delete.completed": ("total", "deleted", "skipped"),
    "bulk.reprioritise.completed": ("total", "reprioritised", "skipped"),
    "operation.completed": ("operation", "target"),
    "backpressure.warning": ("queue", "depth", "bound"),
    "backpressure.cleared": ("queue", "depth", "bound"),
    "backpressure.rejected": ("queue", "depth", "bound", "job_type"),
    "worker.started": ("worker_id", "queues", "concurrency"),
    "worker.stopped": ("worker_id", "reason"),
    "worker.quiet": ("worker_id", "active_jobs"),
    "worker.directed": ("worker_id", "directive"),
    "worker.heartbeat": ("worker_id", "active_jobs", "queues"),
    "workflow.created": ("workflow_id", "workflow_name", "total_steps"),
    "workflow.started": ("workflow_id", "workflow_name", "total_steps"),
    "workflow.step_completed": (
        "workflow_id",
        "workflow_name",
        "step_id",
        "step_type",
        "duration_ms",
        "steps_remaining",
    ),
    "workflow.step_failed": ("workflow_id", "workflow_name", "step_id", "step_type"),
    "workflow.job_completed": ("workflow_id", "workflow_name", "step_id", "step_type"),
    "workflow.job_failed": ("workflow_id", "workflow_name", "step_id", "step_type"),
    "workflow.callback_fired": ("workflow_id", "workflow_name", "callback", "job_id"),
    "workflow.cancelled": ("workflow_id", "workflow_name", "total_steps"),
    "workflow.completed": ("workflow_id", "workflow_name", "total_steps", "duration_ms"),
    "workflow.failed": (
        "workflow_id",
        "workflow_name",
        "failed_step_id",
        "failed_step_type",
        "error",
    ),
    "cron.triggered": ("cron_name", "cron_expr", "job_type", "job_id", "scheduled_at"),
    "cron.skipped": ("cron_name", "cron_expr", "job_type", "reason"),
    "cron.registered": ("cron_name", "cron_expr", "job_type"),
    "cron.updated": ("cron_name", "cron_expr", "job_type"),
    "cron.deleted": ("cron_name", "cron_expr", "job_type"),
    "schema.registered": ("job_type", "version", "uri"),
    "schema.deleted": ("job_type", "version", "uri"),
    "tenant.created": ("tenant_id",),
    "tenant.suspended": ("tenant_id",),
    "tenant.resumed": ("tenant_id",),
    "tenant.limit_exceeded": ("tenant_id", "limit", "current", "maximum"),
    "rate_limit.exceeded": ("key", "strategy", "limit", "current"),
    "rate_limit.released": ("key", "strategy", "job_id"),
    "rate_limit.dropped": ("key", "job_id", "job_type"),
    "rate_limit.dynamic_adjusted": ("key", "until", "reason"),
}
"""Every event type, and the data it must carry (ojs-events, sections 3 and 4)."""
FAILED: Final = "job.failed"
"""The event type of a failed attempt."""
_SHORT_TEXT: Final = 500
_ERROR_PARTS: Final = ("type", "code", "message", "retryable", "attempt", "occurred_at")
MAX_TRACE_ID: Final = 128
"""How many characters of a trace id are kept; one of W3C has 32."""
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}.*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Holds one lifecycle event.

    :ivar id: the same each time that the same transition is published.
    :ivar time: when it happened. The backend may write a transition that is due by time later.
    :ivar queue: the queue it concerns, or empty.
    :ivar subject: id of the job or worker, name of the queue or cron entry.
    :ivar data: JSON object.
    :ivar job_type: type of the job it concerns, or empty.
    :ivar sequence: gives the order of the events of one subject, compared as text, because events
        may arrive in another order; empty for subjects whose writes are not counted.
    """

    id: str
    type: str
    time: Instant
    queue: str
    subject: str
    data: RawJson
    job_type: str = ""
    sequence: str = ""


def event_id(time: Instant, *seed: str | int) -> str:
    """Return the id of an event, always the same for the same transition (section 2.3).

    It is a UUIDv7 with the time of the event, so that ids sort by time. In place of random bits it
    has a hash of ``seed``.

    :param seed: what makes this event unique: the item, its version, the position among
        the events of that write.
    """
    text = "\0".join(map(str, seed))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    variant = "89ab"[int(digest[3], 16) % 4]
    stamp = f"{max(time, 0) & 0xFFFF_FFFF_FFFF:012x}"
    parts = (stamp[:8], stamp[8:], f"7{digest[:3]}", variant + digest[4:7], digest[7:19])
    return "evt_" + "-".join(parts)


def render_event(event: Event) -> RawJson:
    """Return the event in its envelope (section 2), which is also structured CloudEvents."""
    members = {
        "specversion": encode(SPECVERSION),
        "id": encode(event.id),
        "type": encode(event.type),
        "source": encode(SOURCE),
        "time": encode(format_instant(event.time)),
        "subject": encode(event.subject),
        "datacontenttype": encode("application/json"),
    }
    if event.sequence:  # an extension of CloudEvents
        members["sequence"] = encode(event.sequence)
    return assemble(members | {"data": event.data})


def bounded(event: Event, max_bytes: int) -> Event:
    """Return the event with its data cut to this many bytes.

    It leaves out what makes data large: a result and the details of errors, and then the ends of
    long texts. What section 4 requires stays. Shortened data says ``"truncated": true``.
    """
    if len(event.data.encode()) <= max_bytes:
        return event
    data = decode(event.data, max_depth=ANY_DEPTH)
    short: dict[str, JsonValue] = dict(data) if isinstance(data, dict) else {}
    short.pop("result", None)
    for name in ("error", "last_error"):
        error = short.get(name)
        if isinstance(error, dict):
            short[name] = {part: _cut(error[part]) for part in _ERROR_PARTS if part in error}
    short["truncated"] = True
    made = encode(short)
    if len(made.encode()) > max_bytes:
        made = encode({name: _cut(value) for name, value in short.items()})
    return replace(event, data=made)


def _cut(value: JsonValue) -> JsonValue:
    return value[:_SHORT_TEXT] if isinstance(value, str) else value


def trace_id_of(document: str) -> str:
    """Return ``trace_id`` in the ``meta`` of a job's document, else the id in ``traceparent``.

    :returns: an empty text if there is no trace id, or none that can be read.
    """
    if '"trace' not in document:  # most have none, and need not be parsed
        return ""
    try:
        members = decode(document, max_depth=1000)
    except OjsError:
        return ""
    meta = members.get("meta") if isinstance(members, dict) else None
    if not isinstance(meta, dict):
        return ""
    trace = meta.get("trace_id")
    if isinstance(trace, str) and trace:
        # JSON can hold half of a surrogate pair, and UTF-8 cannot: it becomes a question mark.
        return trace[:MAX_TRACE_ID].encode(errors="replace").decode()
    parent = meta.get("traceparent")
    found = _TRACEPARENT.fullmatch(parent) if isinstance(parent, str) else None
    return found[1] if found else ""


def trace_of(document: Document) -> str:
    """Return the trace id of a job's document, wherever it is stored; empty for none."""
    return trace_id_of(document) if isinstance(document, str) else document.trace_id


HANDLED_MARK: Final = "stream"
"""Names the mark of the latest tick up to which the stream's consumer has handled all changes."""


@dataclass(frozen=True, slots=True)
class EventQuery:
    """Says which events to read. Empty filters match all; all given ones must match.

    :ivar types: event types; one that ends in ``*`` stands for all with that beginning.
    :ivar job_ids: the jobs whose events are wanted.
    :ivar since: leaves out events that happened earlier.
    :ivar cursor: the cursor of the page before. Reading goes on there, whatever ``since`` says.
    :ivar after_id: id of the last event that the caller saw, if it has no cursor.
    :ivar sees: says whether the caller may see an event; None if it may see all.
    """

    types: frozenset[str] = field(default_factory=frozenset)
    queues: frozenset[str] = field(default_factory=frozenset)
    job_types: frozenset[str] = field(default_factory=frozenset)
    job_ids: frozenset[str] = field(default_factory=frozenset)
    since: Instant | None = None
    limit: int = 100
    cursor: str = ""
    after_id: str = ""
    sees: Callable[[Event], bool] | None = None

    def matches(self, event: Event) -> bool:
        """Return whether an event is wanted."""
        return (
            (self.since is None or event.time >= self.since)
            and (not self.queues or event.queue in self.queues)
            and (not self.job_types or event.job_type in self.job_types)
            and (not self.job_ids or event.subject in self.job_ids)
            and (not self.types or any(is_named(event.type, name) for name in self.types))
            and (self.sees is None or self.sees(event))
        )


def is_named(kind: str, name: str) -> bool:
    """Return whether ``name`` is ``kind``, or the beginning of it with ``*`` at the end."""
    return kind.startswith(name[:-1]) if name.endswith("*") else kind == name


@dataclass(frozen=True, slots=True)
class EventPage:
    """Holds events in the order of the log, and the cursor where the next page begins.

    A page that begins at a cursor, an event or an instant is read forward. Without them, the page
    has the newest events.

    :ivar has_more: the log may have more events now. Even then the page may be empty: one request
        looks through a part of the log, and nothing in it may match.
    :ivar has_earlier: of a page of the newest events: there may be matching events before it.
    :ivar cursors: of a page that was read forward: the cursor behind each event. Compared as text,
        they have the order of the log.
    :ivar end: of a page that was read forward: the cursor behind it, in the same form.
    :ivar has_gap: events right behind the first cursor have expired, and the page has later ones.
    """

    events: tuple[Event, ...]
    cursor: str = ""
    has_more: bool = False
    has_earlier: bool = False
    cursors: tuple[str, ...] = ()
    end: str = ""
    has_gap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """Holds a change whose events could not be published, for an operator.

    :ivar number: sequence number of the change's record in the table's stream.
    :ivar reason: why its events could not be published.
    :ivar record: the record as JSON text.
    """

    number: str
    reason: str
    record: str


Announce = Callable[[Sequence[Event]], Collection[str]]
"""Puts events on the bus; returns the ids of those that the bus refused."""
