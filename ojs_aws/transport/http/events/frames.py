"""Writes lifecycle events as server-sent events (ojs-realtime, sections 2.3 and 4).

A transition of a job is a ``job.state_changed`` there. Other events keep their types. The data of
each has what the specification asks for, and all that the event log has: ``event`` is its type in
the log, ``event_id`` its id there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.events import Event, is_named
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.json_text import RawJson, assemble, decode, encode, stored_texts
from ojs_aws.domain.timestamps import Instant, format_instant

STATE_CHANGED: Final = "job.state_changed"
PROGRESS: Final = "job.progress"
GAP: Final = "system.gap"

_TRANSITIONS: Final[Mapping[str, tuple[str, JobState]]] = {
    "job.scheduled": ("", JobState.SCHEDULED),
    "job.enqueued": ("", JobState.AVAILABLE),
    "job.started": ("available", JobState.ACTIVE),
    "job.completed": ("active", JobState.COMPLETED),
    "job.retrying": ("active", JobState.RETRYABLE),
    "job.discarded": ("active", JobState.DISCARDED),
    "job.expired": ("", JobState.DISCARDED),
    "job.cancelled": ("", JobState.CANCELLED),
}
"""What the types of events in the log mean: the states before, where the event does not say it, and
after. A new job has no state before; ``from`` is empty then."""

TRANSITIONS: Final = frozenset(_TRANSITIONS)
"""The types of events that are transitions of a job."""


def state_after(kind: str) -> JobState | None:
    """Return the state that an event of the log means; None if it is no transition of a job."""
    return _TRANSITIONS[kind][1] if kind in _TRANSITIONS else None


_LINE_END: Final = re.compile(r"\r\n|\r|\n")


def frame(name: str, event_id: str, data: RawJson) -> str:
    """Return one server-sent event.

    Line breaks between the values of a client's JSON become lines of data of their own, which
    readers put together again. Within texts JSON has none.
    """
    lines = "\n".join(f"data: {line}" for line in _LINE_END.split(data))
    return f"id: {event_id}\nevent: {name}\n{lines}\n\n"


def cursor_frame(event_id: str) -> str:
    """Return a frame without data: it is no event, but clients go on from its id."""
    return f"id: {event_id}\n\n"


def event_frame(event: Event, event_id: str, types: Collection[str]) -> str:
    """Return the frame of an event of the log.

    :param types: those that the client asked for; empty for all. Who asks for ``job.completed``,
        and not for ``job.state_changed``, gets a frame of that name.
    """
    return frame(_name(event.type, types), event_id, event_data(event))


def _name(kind: str, types: Collection[str]) -> str:
    if kind in _TRANSITIONS and (not types or any(is_named(STATE_CHANGED, each) for each in types)):
        return STATE_CHANGED
    return kind


def event_data(event: Event) -> RawJson:
    """Return the data of an event in the form of ojs-realtime, section 4."""
    logged = stored_texts(event.data)
    members: dict[str, RawJson] = {}
    if event.job_type:
        members |= {"job_id": encode(event.subject), "type": encode(event.job_type)}
    if event.queue:
        members["queue"] = encode(event.queue)
    if event.type in _TRANSITIONS:
        before, after = _TRANSITIONS[event.type]
        members["from"] = logged.get("previous_state", encode(before))
        members["to"] = encode(str(after))
    elif event.type == PROGRESS:
        members["progress"] = encode(_percent(logged.get("progress_percent")))
        if "progress_message" in logged:
            members["message"] = logged["progress_message"]
    members["timestamp"] = encode(format_instant(event.time))
    members |= {"event": encode(event.type), "event_id": encode(event.id)}
    return assemble(logged | members)


def _percent(text: RawJson | None) -> int:
    """Return a share in whole percent."""
    value = decode(text) if text is not None else 0
    return round(value) if isinstance(value, int | float) else 0


def ended_frame(job: JobRecord, event_id: str, types: Collection[str]) -> str:
    """Return the frame of a job that has ended: its state, as of its last transition.

    :param types: as for :func:`event_frame`; without data where they do not name it.
    """
    kind = f"job.{job.state}"
    name = _name(kind, types)
    if types and not any(is_named(name, each) for each in types):
        return cursor_frame(event_id)
    before = "active" if job.state is JobState.COMPLETED else ""
    data: dict[str, JsonValue] = {
        "job_id": job.id,
        "queue": job.queue,
        "type": job.type,
        "from": before,
        "to": str(job.state),
        "timestamp": format_instant(ended_at(job)),
        "event": kind,
    }
    return frame(name, event_id, encode(data))


def ended_at(job: JobRecord) -> Instant:
    """Return when a job ended that has ended."""
    return job.completed_at or job.discarded_at or job.cancelled_at or job.created_at


def gap_frame(channel: str, event_id: str, begin: Instant, end: Instant) -> str:
    """Return the notice that events between two instants cannot be read any more (section 4.5)."""
    data: dict[str, JsonValue] = {
        "channel": channel,
        "gap_start": format_instant(min(begin, end)),
        "gap_end": format_instant(end),
    }
    return frame(GAP, event_id, encode(data))
