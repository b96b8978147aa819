"""Declares the answers about lifecycle events."""

from __future__ import annotations

from typing import NotRequired, Required

from typing_extensions import TypedDict

from ojs_aws.transport.http.calls import JsonOf
from ojs_aws.transport.http.models import JsonObject, Pagination, Timestamp


class Event(TypedDict, total=False):
    """Shows a lifecycle event (ojs-events, section 2)."""

    specversion: Required[str]
    id: Required[str]
    type: Required[str]
    source: Required[str]
    time: Required[Timestamp]
    subject: str
    data: Required[JsonObject]
    timestamp: Timestamp


class StreamedEvent(TypedDict, total=False):
    """Describes one server-sent event of a stream; ``data`` is the text of a JSON object."""

    id: str
    event: str
    data: str


class EventsAnswer(TypedDict):
    """Shows a page of the event log; numbered pages have ``items`` too.

    A page of the newest events says whether there may be earlier ones.
    """

    items: NotRequired[JsonOf[list[Event]]]
    events: JsonOf[list[Event]]
    pagination: Pagination
    cursor: str
    has_more: bool
    has_earlier: NotRequired[bool]
