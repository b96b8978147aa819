"""The operations of operators that have no module of their own: events."""

from __future__ import annotations

from ojs_aws.domain.events import render_event
from ojs_aws.domain.json_text import assemble, assemble_array, encode
from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.event_queries import read_events


def list_events(call: Call) -> Answer:
    """Lifecycle events in the order of the log (ojs-events, section 6.4)."""
    page = read_events(call.backend.events, call.request.query)
    body = assemble(
        {
            "events": assemble_array(render_event(event) for event in page.events),
            "cursor": encode(page.cursor),
            "has_more": encode(page.has_more),
        }
    )
    return Answer(body)
