"""Hold the client's requests and their answers, and define the interface of the transports."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar, runtime_checkable
from urllib.parse import quote

from ojs_aws.client.results import Stored
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, ConflictError, JsonValue, OjsError, TransactAction
from ojs_aws.domain.json_text import ANY_DEPTH, Member, RawJson, encode, parse_object, parse_objects

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from ojs_aws.transport.http.routes import Route


E = TypeVar("E", bound="DataclassInstance")

Values: TypeAlias = Mapping[str, JsonValue]
"""The members of a JSON object, by their names."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request, or the reason why there is none.

    :ivar status: HTTP status, or 0 when no answer came.
    :ivar members: members of the JSON object that was answered, each with its own text.
    :ivar error: the error to raise, if it is one.
    :ivar sends: how often the request was sent; above 1, an earlier one may have taken effect.
    """

    status: int
    members: Mapping[str, Member] = field(default_factory=dict)
    error: OjsError | None = None
    sends: int = 1
    retry_after_s: float | None = None
    may_resend: bool = False

    def or_raise(self) -> Answer:
        """Return the answer itself.

        :raises OjsError: the answer is an error.
        """
        if self.error is not None:
            raise self.error
        return self

    @property
    def values(self) -> dict[str, JsonValue]:
        """Return the values of the members."""
        return {name: member.value for name, member in self.members.items()}

    @property
    def job(self) -> Job:
        """Return the job of the answer, wrapped or flat, with its members' own text.

        :raises BackendError: it holds none, as that of a server which is not OJS's.
        """
        wrapped, members = self.members.get("job"), self.members
        if wrapped is not None and isinstance(wrapped.value, dict):
            members = parse_object(wrapped.raw, max_depth=ANY_DEPTH)
        if "id" not in members or not isinstance(members["id"].value, str):
            raise BackendError(
                f"The answer ({self.status}) holds no job.", hint="Check the URL of the server."
            )
        return Job.from_parsed(members)

    @property
    def jobs(self) -> list[Job]:
        """Return the jobs that the answer lists, with their members' own text."""
        listed = self.members.get("jobs")
        if listed is None or not isinstance(listed.value, list):
            return []
        return [Job.from_parsed(each) for each in parse_objects(listed.raw)]


def text_in(values: Values, name: str) -> str:
    """Return a member that is a text; empty where it is not."""
    value = values.get(name)
    return value if isinstance(value, str) else ""


def text_or_none_in(values: Values, name: str) -> str | None:
    """Return a member that is a text; None where it is not."""
    value = values.get(name)
    return value if isinstance(value, str) else None


def number_in(values: Values, name: str) -> int:
    """Return a member that is a whole number; 0 where it is not."""
    value = values.get(name)
    return value if isinstance(value, int) else 0


def texts_in(values: Values, name: str) -> list[str]:
    """Return the texts of a member that is an array."""
    value = values.get(name)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def object_in(values: Values, name: str) -> dict[str, JsonValue]:
    """Return a member that is an object; empty where it is not."""
    value = values.get(name)
    return value if isinstance(value, dict) else {}


def objects_in(values: Values, name: str) -> list[dict[str, JsonValue]]:
    """Return the objects of a member that is an array."""
    value = values.get(name)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def unwrapped(values: Values, *names: str) -> Values:
    """Return the object that a member wraps, the first of these names; else the values."""
    return next((object_in(values, name) for name in names if object_in(values, name)), values)


def next_cursor(values: Values) -> str:
    """Return where the next page of a list starts; empty on the last one."""
    return text_in(object_in(values, "pagination"), "next_cursor")


def page_of(kind: type[E], values: Values, jobs: Sequence[object]) -> E:
    """Return a page of jobs, with what the answer says about the whole list."""
    page = object_in(values, "pagination")
    cursor, is_exact = text_in(page, "next_cursor"), page.get("total_is_exact") is not False
    total_is = text_in(page, "total_is") or ("exact" if is_exact else "at_least")
    return entry_of(kind, page, jobs=jobs, cursor=cursor, is_exact=is_exact, total_is=total_is)


_READERS: Final[Mapping[object, Callable[[Values, str], object]]] = {
    "str": text_in,
    "str | None": text_or_none_in,
    "int": number_in,
    "bool": lambda values, name: values.get(name) is True,
    "Sequence[str]": texts_in,
    "tuple[str, ...]": lambda values, name: tuple(texts_in(values, name)),
    "Mapping[str, JsonValue]": object_in,
}
"""How a field of a dataclass is read, by its type as it is written."""


def entry_of(kind: type[E], values: Values, **known: object) -> E:
    """Return a dataclass whose fields are the members of the same names, each by its type.

    A field ``described`` gets all the members.

    :param known: fields that are not read so.
    """
    known = {"described": values, **known}
    read = {
        each.name: known[each.name]
        if each.name in known
        else _READERS[each.type](values, each.name)
        for each in fields(kind)
    }
    return kind(**read)


Texts: TypeAlias = Mapping[str, str]
NO_TEXTS: Final[Texts] = {}
_EMPTY: Final = RawJson("{}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteRequest:
    """Represents a request for an operation of the route table.

    :ivar operation: as the route table names it.
    :ivar path: the parameters of its path, as they are: not encoded.
    :ivar query: parameters of the query; empty ones are not sent.
    :ivar body: JSON text, sent as it is; or a value to encode.
    :ivar repeatable: whether taking effect twice is the same as once, where it is not as the
        route table says.
    :ivar within_s: for how long it may be sent again, in seconds.
    """

    operation: str
    path: Texts = field(default_factory=dict)
    query: Texts = field(default_factory=dict)
    body: RawJson | Mapping[str, JsonValue] | None = None
    repeatable: bool | None = None
    within_s: float = math.inf

    @property
    def route(self) -> Route:
        """Return the route of the operation.

        :raises KeyError: there is no such operation.
        """
        return _routes()[self.operation]

    @property
    def url_path(self) -> str:
        """Return the path of the URL, which begins with ``/ojs/v1``."""
        path = self.route.path
        for name, text in self.path.items():
            path = path.replace(f"<{name}>", segment(text))
        return path

    @property
    def given_query(self) -> dict[str, str]:
        """Return the parameters of the query that are not empty."""
        return {name: text for name, text in self.query.items() if text}

    @property
    def text(self) -> RawJson | None:
        """Return the body as it is sent: a POST without one sends an empty object."""
        if self.body is None:
            return _EMPTY if self.route.method == "POST" else None
        return self.body if isinstance(self.body, str) else encode({**self.body})

    @property
    def is_repeatable(self) -> bool:
        """Return True if the request may be sent again when its answer was lost."""
        return self.route.is_repeatable if self.repeatable is None else self.repeatable


def segment(text: str) -> str:
    """Encode a text as one segment of a path."""
    return quote(text, safe="")


@functools.cache
def _routes() -> Mapping[str, Route]:
    """Return the route table by operation; it is imported with the first request."""
    from ojs_aws.transport.http.routes import ROUTES

    return {route.operation: route for route in ROUTES}


class Transport(Protocol):
    """Carries the client's requests to the backend, and its answers back.

    Every method but :meth:`ask` raises the errors of :mod:`ojs_aws.domain.errors`. Methods may be
    repeated after a :class:`~ojs_aws.domain.errors.BackendError`: storing finds the job that it
    stored before.
    """

    @property
    def max_wait_s(self) -> float:
        """Return the longest wait for a result that one request may ask for."""

    async def ask(self, request: RouteRequest) -> Answer:
        """Ask for an operation of the route table, and return its answer.

        An error of the backend is part of the answer; :meth:`Answer.or_raise` raises it.
        """

    async def push(self, job: Job) -> Stored:
        """Store one job, which has an id."""

    async def push_all(self, jobs: Sequence[Job]) -> list[Stored]:
        """Store several jobs, all or none; the outcomes are in the same order."""

    async def get(self, job_id: str) -> Job:
        """Read a job."""

    async def cancel(self, job_id: str) -> Job:
        """Cancel a job.

        :raises ConflictError: it is in a terminal state, which the details name.
        """

    async def activate(self, job_id: str) -> Job:
        """Make a pending job available."""

    async def close(self) -> None:
        """Close the connections."""


@runtime_checkable
class Transacting(Protocol):
    """A transport to a table that takes part in the caller's own transactions."""

    async def transact(self, job: Job) -> tuple[Stored, list[TransactAction]]:
        """Return what would become of one job, which has an id, and what to write for that."""


async def ask_to_change(transport: Transport, request: RouteRequest, needed: str) -> Job:
    """Ask for a change of a job's state that a second send would find already made.

    :param needed: the state that the job must be in before.
    :raises ConflictError: the job was in another state at the first send.
    """
    answer = await transport.ask(request)
    conflict = answer.error if isinstance(answer.error, ConflictError) else None
    if conflict and answer.sends > 1 and conflict.details.get("current_state") != needed:
        return await transport.get(request.path["job_id"])
    return answer.or_raise().job
