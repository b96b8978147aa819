"""Handles reads of the event log."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ojs_aws.domain.events import Event, render_event
from ojs_aws.domain.json_text import assemble, assemble_array, encode, stored_texts
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.events.queries import latest_query, read_events, seen_by
from ojs_aws.transport.http.json_of import JsonOf, array_of
from ojs_aws.transport.http.pages import requested_page

if TYPE_CHECKING:
    from ojs_aws.transport.http.events.answers import Event as ShownEvent
    from ojs_aws.transport.http.events.answers import EventsAnswer


def list_events(call: Call) -> Answer[EventsAnswer]:
    """Return lifecycle events in the order of the log (ojs-events, section 6.4).

    Numbered pages, which the admin UI asks for, begin with the newest event.
    """
    query = call.request.query
    if query.get("page") or query.get("per_page"):
        return _numbered_page(call)
    page = read_events(call.backend.events, query, call.request.caller)
    wanted, shown = requested_page(query), len(page.events)
    pagination = wanted.pagination(shown + page.has_more, "", is_exact=not page.has_more)
    body: EventsAnswer = {
        "events": JsonOf(assemble_array(render_event(event) for event in page.events)),
        "pagination": {**pagination, "has_more": page.has_more},
        "cursor": page.cursor,
        "has_more": page.has_more,
    }
    return Answer(body)


def _numbered_page(call: Call) -> Answer[EventsAnswer]:
    """Return the newest events of the log, page by page; new events move the pages on."""
    wanted = requested_page(call.request.query)
    end = wanted.offset + wanted.limit
    newest_first = latest_query(call.request.query, end + 1)
    page = call.backend.events.read(replace(newest_first, sees=seen_by(call.request.caller)))
    newest = [*reversed(page.events)]
    has_more = len(newest) > end
    pagination = wanted.pagination(len(newest), "", is_exact=not has_more)
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
