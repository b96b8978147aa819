"""Handles reads of the event log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ojs_aws.domain.events import Event, render_event
from ojs_aws.domain.jobs.list_total import shown_total
from ojs_aws.domain.json_text import assemble, assemble_array, encode, stored_texts
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.events.queries import latest_query, read_events
from ojs_aws.transport.http.json_of import JsonOf, array_of
from ojs_aws.transport.http.queries import requested_page, text_of

if TYPE_CHECKING:
    from ojs_aws.transport.http.events.models import Event as ShownEvent
    from ojs_aws.transport.http.events.models import EventsAnswer


def list_events(call: Call) -> Answer[EventsAnswer]:
    """Return lifecycle events in the order of the log (ojs-events, section 6.4).

    Numbered pages, which the admin UI asks for, begin with the newest event.
    """
    query = call.request.query
    if query.get("page") or query.get("per_page"):
        return _numbered_page(call)
    page = read_events(call.backend.events, query, call.request.caller)
    wanted = requested_page(query)
    is_first = not (text_of(query, "cursor") or text_of(query, "after"))
    total = shown_total(
        len(page.events), is_first=is_first, has_more=page.has_more or page.has_earlier
    )
    body: EventsAnswer = {
        "events": JsonOf(assemble_array(render_event(event) for event in page.events)),
        "pagination": wanted.pagination(total, page.cursor if page.has_more else ""),
        "cursor": page.cursor,
        "has_more": page.has_more,
    }
    if is_first and not text_of(query, "since"):
        body["has_earlier"] = page.has_earlier
    return Answer(body)


def _numbered_page(call: Call) -> Answer[EventsAnswer]:
    """Return the newest events of the log, page by page; new events move the pages on."""
    wanted = requested_page(call.request.query)
    end = wanted.offset + wanted.limit
    newest_first = latest_query(call.request.query, call.request.caller, end + 1)
    page = call.backend.events.read(newest_first)
    newest = [*reversed(page.events)]
    has_more = len(newest) > end
    total = shown_total(
        len(newest[:end]), has_more=has_more or page.has_earlier, is_followed=has_more
    )
    pagination = wanted.pagination(total, "")
    shown = array_of(map(_dated, newest[wanted.offset : end]))
    body: EventsAnswer = {
        "items": shown,
        "events": shown,
        "pagination": {**pagination, "has_more": has_more},
        "cursor": page.cursor,
        "has_more": has_more,
    }
    return Answer(body)


def _dated(event: Event) -> JsonOf[ShownEvent]:
    """Return an event with its time also under the name that the admin UI reads."""
    members = stored_texts(render_event(event))
    return JsonOf(assemble({**members, "timestamp": encode(format_instant(event.time))}))
