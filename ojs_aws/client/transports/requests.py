"""Hold the client's requests, and define the interface of the transports that carry them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, runtime_checkable
from urllib.parse import quote

from ojs_aws.client.results import Stored
from ojs_aws.client.transports.answers import Answer
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import ConflictError
from ojs_aws.domain.json_text import RawJson, encode
from ojs_aws.ports import TransactAction

if TYPE_CHECKING:
    from ojs_aws.domain.errors import JsonValue
    from ojs_aws.transport.http.routes import Route

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
    """

    operation: str
    path: Texts = field(default_factory=dict)
    query: Texts = field(default_factory=dict)
    body: RawJson | Mapping[str, JsonValue] | None = None
    repeatable: bool | None = None

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
