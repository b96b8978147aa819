"""Handles the event log, and reads what a query asks of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NotRequired, Required

from typing_extensions import TypedDict

from ojs_aws.domain.access import Caller
from ojs_aws.domain.attributes import check_job_id, check_queue, check_type, field_error
from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.events import REQUIRED_DATA, EventPage, EventQuery, render_event
from ojs_aws.domain.events import Event as LoggedEvent
from ojs_aws.domain.jobs.lists import shown_total
from ojs_aws.domain.json_text import assemble, assemble_array, encode, stored_texts
from ojs_aws.domain.timestamps import format_instant, parse_timestamp
from ojs_aws.transport.http.answers import JsonObject, Pagination, Timestamp
from ojs_aws.transport.http.calls import Answer, Call, JsonOf, array_of
from ojs_aws.transport.http.queries import names_of, number_of, requested_page, text_of

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.events.log import EventLog

_EVENT_ID_PREFIX: Final = "evt_"


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


def event_query(query: Mapping[str, str]) -> EventQuery:
    """Read the parameters.

    A place is named by ``cursor``, or by ``after``, which takes a cursor or an event's id.

    :raises InvalidRequestError: a parameter that cannot mean anything, by its name.
    """
    cursor, after = text_of(query, "cursor"), text_of(query, "after")
    since = text_of(query, "since")
    is_id = after.startswith(_EVENT_ID_PREFIX) and not cursor
    return EventQuery(
        types=frozenset(
            map(_checked_type, names_of(query, "types") | names_of(query, "event_type"))
        ),
        queues=_names(query, check_queue, "queues", "queue"),
        job_types=_names(query, check_type, "job_types", "job_type"),
        job_ids=_names(query, check_job_id, "job_id"),
        since=parse_timestamp(since, "since") if since else None,
        limit=number_of(query, "event_limit"),
        cursor=cursor or ("" if is_id else after),
        after_id=after if is_id else "",
    )


def own_query(query: Mapping[str, str], caller: Caller) -> EventQuery:
    """Read the parameters, for events that the caller may see.

    :raises InvalidRequestError: a parameter that cannot mean anything, by its name.
    :raises PermissionDeniedError: a queue or job type outside the caller's bounds.
    """
    wanted = event_query(query)
    for queue in sorted(wanted.queues):
        caller.check_queue(queue, field="queues" if query.get("queues") else "queue")
    for job_type in sorted(wanted.job_types):
        caller.check_type(job_type, "job_types" if query.get("job_types") else "job_type")
    return replace(wanted, sees=seen_by(caller))


def latest_query(query: Mapping[str, str], caller: Caller, limit: int) -> EventQuery:
    """Return the query of the newest events; an unknown ``type`` matches nothing.

    :raises InvalidRequestError: a parameter that cannot mean anything, by its name.
    :raises PermissionDeniedError: a queue or job type outside the caller's bounds.
    """
    given = {name: value for name, value in query.items() if name != "type"}
    wanted = own_query(given, caller)
    kind = text_of(query, "event_type")
    types = wanted.types | frozenset([kind] if kind else [])
    return replace(wanted, types=types, limit=limit, cursor="", after_id="", since=None)


def read_events(log: EventLog, parameters: Mapping[str, str], caller: Caller) -> EventPage:
    """Read the page that the parameters ask for, of what the caller may see.

    :raises InvalidRequestError: a parameter that cannot mean anything, by its name.
    :raises PermissionDeniedError: a queue or job type outside the caller's bounds.
    """
    query = own_query(parameters, caller)
    try:
        return log.read(query)
    except InvalidRequestError as problem:
        if problem.details.get("field") == "cursor" and not parameters.get("cursor"):
            problem.message = problem.message.replace("'cursor'", "'after'")
            problem.details["field"] = "after"
        raise


def seen_by(caller: Caller) -> Callable[[LoggedEvent], bool] | None:
    """Return which events a caller with bounds may see: those of its queues and job types.

    Events that belong to no queue, such as those of workers, are left out; for a caller that is
    bound to job types, so are those that belong to no job.
    """
    if not caller.is_bound:
        return None

    def sees(event: LoggedEvent) -> bool:
        if not event.queue or (caller.types and not event.job_type):
            return False
        return caller.may_touch(event.queue, event.job_type or None)

    return sees


def _names(
    query: Mapping[str, str], check: Callable[[JsonValue], str], *parameters: str
) -> frozenset[str]:
    found: set[str] = set()
    for parameter in parameters:
        for name in names_of(query, parameter):
            try:
                found.add(check(name))
            except InvalidRequestError as problem:
                details = problem.details | {"field": parameter}
                message = f"The '{parameter}' parameter cannot be {name[:60]!r}."
                raise InvalidRequestError(message, details=details) from problem
    return frozenset(found)


def _checked_type(name: str) -> str:
    return checked_type(name, REQUIRED_DATA, "types")


def checked_type(name: str, known: Collection[str], field: str) -> str:
    """Return an event type, or a beginning of some and ``*``, if it is known.

    :param field: the parameter that names it, for the error.
    :raises InvalidRequestError: there is none.
    """
    stem = name[:-1] if name.endswith("*") else None
    if name in known or (stem is not None and any(each.startswith(stem) for each in known)):
        return name
    message = f"There is no event type {name[:60]!r}."
    hint = "Name types of ojs-events, section 3, or a beginning of them and '*', as in job.*"
    raise field_error(field, message, hint, received=name[:60], allowed=list(known))


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


def _dated(event: LoggedEvent) -> JsonOf[Event]:
    """Return an event with its time also under the name that the admin UI reads."""
    members = stored_texts(render_event(event))
    return JsonOf(assemble({**members, "timestamp": encode(format_instant(event.time))}))
