"""Reads, bounds and describes query parameters, and which page of a list is wanted (section 17)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.jobs.lists import ListTotal, shown_total
from ojs_aws.domain.timestamps import Instant, parse_duration, parse_timestamp

if TYPE_CHECKING:
    from ojs_aws.transport.http.answers import Further, Pagination


DEFAULT_LIMIT: Final = 50
MAX_LIMIT: Final = 200
DEFAULT_EVENT_LIMIT: Final = 100
MAX_EVENT_LIMIT: Final = 1000
MAX_STEP_LIMIT: Final = 1000
MAX_WAIT_S: Final = 30
MAX_OFFSET: Final = 1000
MAX_CURSOR: Final = 2048
MAX_NAMES: Final = 100

_CAPPED: Final = frozenset({"limit", "per_page", "timeout"})
_DIGITS: Final = re.compile(r"\d{1,40}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Parameter:
    """Describes a query parameter.

    :ivar name: as it stands in the URL.
    :ivar default: of a number; None for a text.
    :ivar least: smallest number accepted.
    :ivar most: largest number (a larger limit means this one), or longest text.
    """

    name: str
    description: str
    most: int
    default: int | None = None
    least: int = 0


PARAMETERS: Final[Mapping[str, Parameter]] = {
    "limit": Parameter("limit", "Items of a page.", MAX_LIMIT, DEFAULT_LIMIT, 1),
    "event_limit": Parameter("limit", "Events of a page.", MAX_EVENT_LIMIT, DEFAULT_EVENT_LIMIT, 1),
    "step_limit": Parameter(
        "limit", "Steps of an answer, at any depth.", MAX_STEP_LIMIT, MAX_STEP_LIMIT, 1
    ),
    "step_offset": Parameter("offset", "Steps to skip, in their order.", 20_000, 0),
    "offset": Parameter("offset", "Items to skip; a cursor costs less.", MAX_OFFSET, 0),
    "strategy": Parameter("strategy", "What becomes of the jobs that are left: reject.", 16),
    "cursor": Parameter("cursor", "The next_cursor of the page before.", MAX_CURSOR),
    "after": Parameter("after", "A cursor, or the id of the last event seen.", MAX_CURSOR),
    "since": Parameter("since", "Only events from this instant (RFC 3339) on.", 64),
    "page": Parameter("page", "Number of the page; a cursor costs less.", MAX_OFFSET, 1, 1),
    "per_page": Parameter("per_page", "The same as limit.", MAX_LIMIT, DEFAULT_LIMIT, 1),
    "type": Parameter("type", "Only jobs of this type.", 255),
    "error_type": Parameter("error_type", "Only jobs whose latest error was of this type.", 256),
    "since_time": Parameter("since", "Only what happened from this instant (RFC 3339) on.", 64),
    "until": Parameter("until", "Only what happened up to this instant (RFC 3339).", 64),
    "queue": Parameter("queue", "Only this queue.", 128),
    "event_type": Parameter("type", "Only events of this type; the same as types.", 255),
    "older_than": Parameter(
        "older_than", "Only what is older: a duration (7d), or an instant (RFC 3339).", 64
    ),
    "detail": Parameter("detail", "Show each queue (true); for the official command line.", 5),
    "types": Parameter(
        "types", "Only these event types, separated by commas; job.* means all of jobs.", MAX_CURSOR
    ),
    "channel": Parameter("channel", "job:<id>, queue:<name>, or all (the default).", 300),
    "event_types": Parameter(
        "event_types",
        "Only these: job.state_changed, job.progress, or types of events.",
        MAX_CURSOR,
    ),
    "last_event_id": Parameter(
        "last_event_id", "The same as the header Last-Event-ID.", MAX_CURSOR
    ),
    "queues": Parameter("queues", "Only these queues, separated by commas.", MAX_CURSOR),
    "job_types": Parameter("job_types", "Only these job types, separated by commas.", MAX_CURSOR),
    "job_type": Parameter("job_type", "Only this job type.", 255),
    "enabled": Parameter("enabled", "Only those that are enabled (true), or not (false).", 5),
    "state": Parameter("state", "Only those in this state.", 32),
    "job_states": Parameter("state", "Only jobs in these states, separated by commas.", 128),
    "tenant": Parameter("tenant", "Of this tenant; without it, of jobs without a tenant.", 128),
    "only_tenant": Parameter("tenant", "Only of this tenant.", 128),
    "job_type_or_prefix": Parameter(
        "type", "Only jobs of this type; with * at the end, of all types with this prefix.", 256
    ),
    "tag": Parameter("tag", "Only jobs that have this tag.", 256),
    "error_text": Parameter(
        "error",
        "Only jobs whose latest error has this in its type or message, in any case.",
        256,
    ),
    "order": Parameter("order", "asc or desc (the default), within each list.", 8),
    "sort": Parameter("sort", "Accepted and ignored: lists have an order of their own.", 32),
    "period": Parameter("period", "1m, 5m (the default), 1h or 1d.", 8),
    "growth": Parameter("growth", "Say by how many jobs each queue grew in each period (true).", 5),
    "advice": Parameter("advice", "Say which wide queues have far too many lines (true).", 5),
    "events": Parameter("events", "Show the events of the job as well (true).", 5),
    "wait": Parameter("wait", "Answer when the job is over (true), or at once (false).", 5),
    "timeout": Parameter(
        "timeout", "Seconds to wait at most; the server may wait less.", MAX_WAIT_S, MAX_WAIT_S
    ),
    "job_id": Parameter("job_id", "Only events of this job.", 64),
}
"""By the names that the route table uses."""


def number_of(query: Mapping[str, str], key: str) -> int:
    """Return a number. A limit beyond the largest means the largest.

    :param key: the parameter's name in the route table.
    :raises InvalidRequestError: no whole number, or out of range.
    """
    parameter = PARAMETERS[key]
    given = query.get(parameter.name, "").strip()
    if not given:
        return parameter.default or 0
    if not _DIGITS.fullmatch(given):
        raise _invalid(parameter, given)
    value = int(given)
    if value < parameter.least or (parameter.name not in _CAPPED and value > parameter.most):
        raise _invalid(parameter, given)
    return min(value, parameter.most)


def text_of(query: Mapping[str, str], key: str) -> str:
    """Return a text; empty if it is not given.

    :raises InvalidRequestError: it is too long.
    """
    parameter = PARAMETERS[key]
    given = query.get(parameter.name, "")
    if len(given) > parameter.most:
        message = f"The '{parameter.name}' parameter has more than {parameter.most} characters."
        raise field_error(parameter.name, message, max_length=parameter.most)
    return given


def names_of(query: Mapping[str, str], key: str) -> frozenset[str]:
    """Return names separated by commas; empty if none is given.

    :raises InvalidRequestError: more than 100 names, or too long a text.
    """
    names = frozenset(name.strip() for name in text_of(query, key).split(",") if name.strip())
    if len(names) > MAX_NAMES:
        message = f"The '{PARAMETERS[key].name}' parameter names more than {MAX_NAMES}."
        raise field_error(PARAMETERS[key].name, message, max_items=MAX_NAMES)
    return names


def boolean_of(query: Mapping[str, str], key: str) -> bool | None:
    """Return ``true`` or ``false`` as a bool; None if it is not given.

    :raises InvalidRequestError: anything else.
    """
    parameter = PARAMETERS[key]
    given = query.get(parameter.name, "").strip().lower()
    if given not in {"", "true", "false"}:
        message = f"The '{parameter.name}' parameter must be true or false, not {given[:40]!r}."
        raise field_error(parameter.name, message, expected="true or false", received=given[:40])
    return given == "true" if given else None


def members_of(query: Mapping[str, str]) -> dict[str, JsonValue]:
    """Return the parameters of an operation that takes its body's members in the query as well.

    ``confirm`` and ``dry_run`` become true or false, and ``limit`` a number if it is one.
    """
    values: dict[str, JsonValue] = {**query}
    values |= {name: query[name] == "true" for name in ("confirm", "dry_run") if name in query}
    if isinstance(limit := values.get("limit"), str) and limit.isdecimal():
        values["limit"] = int(limit[:9])
    return values


def _invalid(parameter: Parameter, given: str) -> InvalidRequestError:
    expected = f"a whole number from {parameter.least} to {parameter.most}"
    message = f"The '{parameter.name}' parameter must be {expected}, not {given[:40]!r}."
    return field_error(parameter.name, message, expected=expected, received=given[:40])


def instant_or_age(value: JsonValue, field: str, now: Instant) -> Instant:
    """Return the instant of a timestamp, or of a duration before now.

    :raises InvalidRequestError: it is neither.
    """
    try:
        return Instant(now - parse_duration(value, field))
    except InvalidRequestError:
        return parse_timestamp(value, field)


@dataclass(frozen=True, slots=True)
class RequestedPage:
    """Names a requested page by its cursor, its offset or its number."""

    limit: int
    offset: int
    cursor: str

    def total(self, shown: int, cursor: str, *, is_followed: bool = False) -> ListTotal:
        """Return what a page shows of the total.

        :param shown: entries of the page.
        :param cursor: of the next page; empty on the last one.
        :param is_followed: whether one entry more is known.
        """
        return shown_total(
            shown,
            offset=self.offset,
            is_first=not self.cursor,
            has_more=bool(cursor),
            is_followed=is_followed,
        )

    def pagination(self, total: ListTotal, cursor: str) -> Pagination:
        """Return how the answer describes the page.

        :param cursor: of the next page; empty on the last one.
        """
        return {
            "total": total.number,
            "total_is": total.kind.value,
            "total_is_exact": total.is_exact,
            "limit": self.limit,
            "offset": self.offset,
            "page": self.offset // self.limit + 1,
            "per_page": self.limit,
            **further(cursor),
        }


def further(cursor: str) -> Further:
    """Return how an answer says where to go on.

    :param cursor: of what follows; empty if nothing does.
    """
    return {"has_more": True, "next_cursor": cursor} if cursor else {"has_more": False}


def requested_page(query: Mapping[str, str]) -> RequestedPage:
    """Return the page that a query asks for.

    :raises InvalidRequestError: a number that is none, out of range, or a page that is too far in.
    """
    limit = number_of(query, "per_page" if query.get("per_page", "").strip() else "limit")
    offset = number_of(query, "offset")
    page = number_of(query, "page")
    if page > 1:
        offset = (page - 1) * limit
    if offset > MAX_OFFSET:
        message = f"The 'page' parameter leads beyond the {MAX_OFFSET} items that can be skipped."
        raise field_error("page", message, "Go on with 'cursor' instead.", received=page)
    return RequestedPage(limit, offset, text_of(query, "cursor"))


def write_mark(kind: str, text: str) -> str:
    """Return a cursor that names the last item shown; empty for no text.

    :param kind: makes the cursors of different lists differ.
    """
    if not text:
        return ""
    return base64.urlsafe_b64encode(f"{kind}{text}".encode()).decode().rstrip("=")


def read_mark(kind: str, cursor: str) -> str:
    """Read what :func:`write_mark` wrote.

    :raises InvalidRequestError: no cursor of this list.
    """
    if not cursor:
        return ""
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except (binascii.Error, ValueError):
        text = ""
    if not text.startswith(kind):
        message = "The 'cursor' parameter is not one that this server gave out."
        hint = "Pass next_cursor of the page before as it is, or start without a cursor."
        raise field_error("cursor", message, hint)
    return text.removeprefix(kind)
