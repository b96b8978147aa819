"""Handles subscriptions to events: server-sent events (ojs-realtime, section 2).

A function cannot hold a connection behind API Gateway. So an answer holds what there is, and ends.
``retry`` brings the client back, and the id of the last event where it left off, by the cursors of
the event log. The local server asks for one answer after another, and holds the stream
(``ojs_aws/local/event_streams.py``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from typing_extensions import TypedDict

from ojs_aws.domain.attributes import check_job_id, check_queue, field_error
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.events import REQUIRED_DATA, EventPage, EventQuery, is_named
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.timestamps import Instant
from ojs_aws.transport.http.authorization import check_job
from ojs_aws.transport.http.calls import NO_CONTENT, Answer, Call, JsonOf
from ojs_aws.transport.http.events import EVENT_STREAM
from ojs_aws.transport.http.events.frames import (
    GAP,
    STATE_CHANGED,
    TRANSITIONS,
    cursor_frame,
    ended_at,
    ended_frame,
    event_frame,
    gap_frame,
    state_after,
)
from ojs_aws.transport.http.events.handlers import checked_type, own_query
from ojs_aws.transport.http.queries import MAX_EVENT_LIMIT, names_of, text_of

RETRY_MS: Final = 3_000
"""When clients come back, as the specification recommends."""

MORE_MS: Final = 100
"""When they come back where there is more to read at once."""

PUBLISHED_MS: Final = 10_000
"""By then an event is in the log, unless the stream is late: nobody waits for it any longer."""

HEARTBEAT: Final = ":heartbeat\n\n"

OVER: Final = ".over"
"""Ends the id of the last frame of a job: who comes back with it is answered with 204, on which
browsers stop asking."""

_KNOWN: Final = (STATE_CHANGED, GAP, *REQUIRED_DATA)
_FILTERS: Final = frozenset({"queues", "queue", "job_types", "job_type"})
_ID: Final = re.compile(r"(?P<place>\d{15}-\d{6})\.(?P<time>\d{1,15})(?P<over>\.over)?", re.ASCII)
_EVENT_ID: Final = re.compile(r"evt_([0-9a-f]{8})-([0-9a-f]{4})-.{1,40}", re.ASCII)


class StreamedEvent(TypedDict, total=False):
    """Describes one server-sent event of a stream; ``data`` is the text of a JSON object."""

    id: str
    event: str
    data: str


@dataclass(frozen=True, slots=True)
class Subscription:
    """Says what a client wants to follow, and from where.

    :ivar channel: as ojs-realtime names it: ``job:<id>``, ``queue:<name>`` or ``all``.
    :ivar wanted: what to read of the log.
    :ivar types: of frames; empty for all.
    :ivar last_id: of the last frame that the client has; empty for a new subscription.
    """

    channel: str
    wanted: EventQuery
    types: frozenset[str]
    last_id: str
    job_id: str = ""


def stream_events(call: Call) -> Answer[StreamedEvent]:
    """Return events of a channel as server-sent events, as the official SDKs ask for them."""
    channel = text_of(call.request.query, "channel") or "all"
    kind, _, name = channel.partition(":")
    if kind == "job" and name:
        check_job(call, check_job_id(name))
        return _follow_job(call, name)
    if kind == "queue" and name:
        call.request.caller.check_queue(check_queue(name), field="channel")
        return _follow_queue(call, name)
    if channel != "all":
        message = f"The 'channel' parameter cannot be {channel[:60]!r}."
        raise field_error("channel", message, "Name job:<id>, queue:<name>, or all.")
    return _answer(call, _subscription(call, channel, EventQuery()))


def stream_job_events(call: Call) -> Answer[StreamedEvent]:
    """Return what happens to a job as server-sent events (section 2.1)."""
    return _follow_job(call, call.job_id)


def stream_queue_events(call: Call) -> Answer[StreamedEvent]:
    """Return what happens in a queue as server-sent events (section 2.2)."""
    return _follow_queue(call, call.named("queue"))


def _follow_job(call: Call, job_id: str) -> Answer[StreamedEvent]:
    wanted = EventQuery(job_ids=frozenset({check_job_id(job_id)}))
    return _answer(call, replace(_subscription(call, f"job:{job_id}", wanted), job_id=job_id))


def _follow_queue(call: Call, queue: str) -> Answer[StreamedEvent]:
    call.backend.queues.service.get(queue)
    return _answer(
        call, _subscription(call, f"queue:{queue}", EventQuery(queues=frozenset({queue})))
    )


def _subscription(call: Call, channel: str, wanted: EventQuery) -> Subscription:
    """Read the filters of a request, and where it goes on."""
    query = call.request.query
    filters = {name: query[name] for name in _FILTERS & query.keys()}
    given = own_query(filters, call.request.caller)
    types = frozenset(
        checked_type(name, _KNOWN, "event_types")
        for name in names_of(query, "event_types") | names_of(query, "types")
    )
    wanted = replace(
        given,
        types=_log_types(types),
        queues=wanted.queues or given.queues,
        job_ids=wanted.job_ids,
        limit=MAX_EVENT_LIMIT,
    )
    last_id = call.request.header("last-event-id") or text_of(query, "last_event_id")
    return Subscription(channel, wanted, types, last_id.strip())


def _log_types(types: frozenset[str]) -> frozenset[str]:
    """Return which types of the log stand for the types of frames."""
    if any(is_named(STATE_CHANGED, each) for each in types):
        return types - {STATE_CHANGED} | TRANSITIONS
    return types


def _answer(call: Call, wanted: Subscription) -> Answer[StreamedEvent]:
    """Return the frames that follow the last one that the client has; nothing is held back.

    Where the log ends is read before the job: so no event is missed between the two.
    """
    match = _ID.fullmatch(wanted.last_id)
    if match and match["over"]:
        return Answer(None, NO_CONTENT)
    now = call.backend.clock.now()
    page, gap = _page(call, wanted, match)
    job = call.backend.changer.load(wanted.job_id, now) if wanted.job_id else None
    frames = [gap] if gap else []
    frames += [
        event_frame(event, f"{cursor}.{event.time}", wanted.types)
        for event, cursor in zip(page.events, page.cursors, strict=True)
    ]
    behind = f"{page.end}.{now}"
    if job is not None and _is_over(job, page, wanted, now):
        frames.append(_last_frame(job, page, behind + OVER, wanted))
    elif not page.events and not (match and match["place"] == page.end):
        frames.append(cursor_frame(behind))
    retry = f"retry: {MORE_MS if page.has_more else RETRY_MS}\n\n"
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    body: JsonOf[StreamedEvent] = JsonOf(retry + ("".join(frames) or HEARTBEAT))
    return Answer(body, headers=headers, media_type=EVENT_STREAM)


def _page(call: Call, wanted: Subscription, match: re.Match[str] | None) -> tuple[EventPage, str]:
    """Return what follows in the log, and a notice where something before it is lost."""
    log, now = call.backend.events, call.backend.clock.now()
    if match:
        page = log.read(replace(wanted.wanted, cursor=match["place"]))
        if not page.has_gap:
            return page, ""
        until = page.events[0].time if page.events else now
        begin = Instant(int(match["time"]))
        return page, gap_frame(wanted.channel, wanted.last_id, begin, until)
    if not wanted.last_id:
        return EventPage((), end=log.end()), ""
    if known := _EVENT_ID.fullmatch(wanted.last_id):
        try:
            return log.read(replace(wanted.wanted, after_id=wanted.last_id)), ""
        except InvalidRequestError:
            begin = Instant(int(known[1] + known[2], 16))
    else:
        begin = Instant(now - call.backend.settings.event_retention_s * 1000)
    end = log.end()
    return EventPage((), end=end), gap_frame(wanted.channel, f"{end}.{now}", begin, now)


def _is_over(job: JobRecord, page: EventPage, wanted: Subscription, now: Instant) -> bool:
    """Return whether nothing will follow of a job: it has ended, and its events were read.

    Who follows it already gets its last event from the log, even if that comes a moment later.
    """
    if not job.state.is_terminal or page.has_more:
        return False
    is_late = now - ended_at(job) > PUBLISHED_MS
    return is_late or not wanted.last_id or _has_end(page, job)


def _has_end(page: EventPage, job: JobRecord) -> bool:
    return any(state_after(event.type) is job.state for event in page.events)


def _last_frame(job: JobRecord, page: EventPage, event_id: str, wanted: Subscription) -> str:
    """Return the frame that ends the stream of a job: its state, unless an event said so."""
    if _has_end(page, job):
        return cursor_frame(event_id)
    return ended_frame(job, event_id, wanted.types)
