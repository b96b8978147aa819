"""Describes requests as handlers see them, and their answers; independent of any framework.

What clients sent must come back exactly. So it goes into an answer as text, and is never rebuilt.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar, cast, get_args
from urllib.parse import unquote

from ojs_aws.domain.access import ANYBODY, Caller
from ojs_aws.domain.credentials import Actor
from ojs_aws.domain.errors import InvalidPayloadError, JsonValue
from ojs_aws.domain.events import trace_of
from ojs_aws.domain.json_text import Member, RawJson, encode, parse_object

if TYPE_CHECKING:
    from aws_lambda_powertools.event_handler import ApiGatewayResolver
    from aws_lambda_powertools.event_handler.api_gateway import Response

    from ojs_aws.domain.job import JobRecord
    from ojs_aws.domain.timestamps import Instant
    from ojs_aws.services.backend import Backend

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class JsonOf(str, Generic[T_co]):
    """Holds the JSON text of a ``T_co``, which stands in an answer as it is."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Describe the text in the OpenAPI document as what it is the text of."""
        return handler(*get_args(source))


def json_of(value: T) -> JsonOf[T]:
    """Return the text of a value. Ready-made text within it stays as it is."""
    return value if isinstance(value, JsonOf) else JsonOf(_text(value))


def _text(value: object) -> str:
    """Encode a value: in one go, unless there is ready-made text in it."""
    if isinstance(value, JsonOf):
        return value
    if isinstance(value, dict) and _has_text(value.values()):
        return "{" + ",".join([f"{encode(key)}:{_text(each)}" for key, each in value.items()]) + "}"
    if isinstance(value, list) and _has_text(value):
        return "[" + ",".join(map(_text, value)) + "]"
    return encode(cast("JsonValue", value))


def _has_text(values: Collection[object]) -> bool:
    kinds = set(map(type, values))
    if JsonOf in kinds or kinds.isdisjoint(_CONTAINERS):
        return JsonOf in kinds
    return any(
        _has_text(each.values() if isinstance(each, dict) else each)
        for each in values
        if isinstance(each, dict | list)
    )


_CONTAINERS: Final = frozenset({dict, list})


def array_of(items: Iterable[JsonOf[T]]) -> JsonOf[list[T]]:
    """Return an array of texts."""
    return JsonOf("[" + ",".join(items) + "]")


def beside(value: T, more: Mapping[str, object]) -> T:
    """Return an object of an answer with members that its type does not declare."""
    return cast("T", {**cast("Mapping[str, object]", value), **more})


def beside_texts(value: T, texts: Mapping[str, RawJson]) -> T:
    """Return an object of an answer with members whose text is ready-made."""
    made: dict[str, JsonOf[object]] = {name: JsonOf(raw) for name, raw in texts.items()}
    return beside(value, made)


OJS_TYPE: Final = "application/openjobspec+json"
JSON_TYPE: Final = "application/json"
OJS_VERSION: Final = "1.0"

OK: Final = 200
CREATED: Final = 201
NO_CONTENT: Final = 204
UNAVAILABLE: Final = 503

MAX_BODY_BYTES: Final = 4_400_000
"""Lambda takes events of 6 MB, in which a body may stand base64-encoded."""

MAX_NAMED: Final = 20
"""Jobs of one request whose ids are noted."""

Next: TypeAlias = "Callable[[ApiGatewayResolver], Response[str]]"
Middleware: TypeAlias = "Callable[[ApiGatewayResolver, Next], Response[str]]"

Note: TypeAlias = Callable[[Mapping[str, str]], None]
"""Takes what a request is about, for its log lines and its trace."""

_EMPTY: Final[Mapping[str, Member]] = {}


def _ignore(_: Mapping[str, str]) -> None:
    """Ignore what a request is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Holds an HTTP request.

    :ivar method: in capital letters.
    :ivar path: decoded, as it was sent.
    :ivar headers: names in small letters; repeated ones joined by commas.
    :ivar query: repeated parameters joined by commas.
    :ivar body: decoded from base64 where the gateway encoded it; may be empty.
    :ivar id: request id, taken from the client or made.
    :ivar caller: who makes it; the one place to read that from.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes
    id: str
    caller: Caller = ANYBODY

    def header(self, name: str) -> str:
        """Return a header's value, or an empty text."""
        return self.headers.get(name, "")


@dataclass(frozen=True, slots=True)
class Server:
    """Holds what all requests of a function share.

    :ivar started_at: when the function started, for the uptime.
    :ivar authorize: adds what the authorizer finds to an event, where no gateway has asked it.
    """

    backend: Backend
    started_at: Instant
    authorize: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None

    def authorized(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an event with what an authorizer found."""
        return event if self.authorize is None else self.authorize(event)


@dataclass(frozen=True, slots=True)
class Call:
    """Holds one request on its way to a handler, with the parameters of its path.

    :ivar note: is called with what it is about, as soon as that is known: job, type, queue, trace.
    :ivar done: what the record of the operation says beside the path, if the operation has one.
    """

    server: Server
    request: Request
    path: Mapping[str, str] = field(default_factory=dict)
    note: Note = _ignore
    done: dict[str, JsonValue] = field(default_factory=dict)

    @property
    def backend(self) -> Backend:
        """Return the services."""
        return self.server.backend

    @property
    def actor(self) -> Actor:
        """Return who makes the request, for the changes that it makes."""
        return self.request.caller.actor

    def named(self, parameter: str) -> str:
        """Return what the path names, without the escapes of URLs."""
        return unquote(self.path[parameter])

    @property
    def job_id(self) -> str:
        """Return the job that the path names."""
        return self.path["job_id"]

    def note_jobs(self, jobs: Sequence[JobRecord]) -> None:
        """Note the jobs that the request made, found or changed; only the first of many."""
        if not jobs:
            return
        some = jobs[:MAX_NAMED]
        traces = [trace_of(job.document) for job in some]
        self.note(
            {
                "job_id": ",".join([job.id for job in some]),
                "job_type": ",".join(dict.fromkeys([job.type for job in some])),
                "queue": ",".join(dict.fromkeys([job.queue for job in some])),
                "trace_id": ",".join(dict.fromkeys(filter(None, traces))),
            }
        )

    def values(self, *, optional: bool = False) -> dict[str, JsonValue]:
        """Return the values of the body's members.

        :param optional: let an empty body count as an empty object.
        :raises InvalidPayloadError: the body is no JSON object.
        """
        return {name: each.value for name, each in self.members(optional=optional).items()}

    def members(
        self, *, max_bytes: int = MAX_BODY_BYTES, optional: bool = False
    ) -> Mapping[str, Member]:
        """Return the members of the body, each with its own text.

        :param optional: let an empty body count as an empty object.
        :raises InvalidPayloadError: the body is no JSON object.
        :raises PayloadTooLargeError: it has more than ``max_bytes`` bytes.
        """
        body = self.request.body
        if not body.strip():
            if optional:
                return _EMPTY
            raise InvalidPayloadError(
                "The body is empty.", hint="Send a JSON object with Content-Type: " + OJS_TYPE
            )
        max_depth = self.backend.settings.max_depth
        return parse_object(body, max_bytes=min(max_bytes, MAX_BODY_BYTES), max_depth=max_depth)


@dataclass(frozen=True, slots=True)
class Answer(Generic[T_co]):
    """Holds a handler's answer, of the type that the OpenAPI document describes.

    :ivar body: the value, or its text where that is ready-made; None for an answer without a body.
    :ivar headers: beside the standard ones.
    :ivar media_type: empty for OJS's own, which is negotiated.
    """

    body: T_co | JsonOf[T_co] | None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str = ""

    @property
    def text(self) -> str:
        """Return the body as it is sent."""
        if self.body is None:
            return ""
        return self.body if isinstance(self.body, str) else json_of(self.body)
