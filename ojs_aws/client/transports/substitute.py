"""Remember the client that typed jobs are sent by, and let tests take the place of the backend.

In production there is no substitute. All that it costs there is a look at an empty list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from ojs_aws.client.results import Stored
    from ojs_aws.client.transports.requests import Answer, RouteRequest, Transacting, Transport
    from ojs_aws.domain.envelope import Job

C = TypeVar("C")

_BOUND: Final[ContextVar[object]] = ContextVar("ojs_aws_client", default=None)

bound_client = _BOUND.get
"""Return the client of the innermost ``with client.use():`` around the caller, else None."""


@contextmanager
def using(client: C) -> Iterator[C]:
    """Send the typed jobs of this task or thread by a client, until the block ends."""
    token = _BOUND.set(client)
    try:
        yield client
    finally:
        _BOUND.reset(token)


class Substitute(Protocol):
    """Declares what takes the place of the backend.

    :ivar is_active: false once its test has ended.
    :ivar outer: the one in whose scope it began.
    :ivar waiting: ids of jobs in an outbox, whose transaction has not committed.
    """

    is_active: bool
    outer: Substitute | None
    waiting: set[str]

    @property
    def transport(self) -> Transport:
        """Return the way to it."""

    @property
    def client(self) -> object:
        """Return a client of it."""

    @property
    def sync_client(self) -> object:
        """Return a client of it for code that is not asynchronous."""

    def note_declaration(self, declaration: object) -> None:
        """Learn that a typed job is made from a declaration."""

    def pattern_of(
        self, declaration: object, args: Sequence[object], keywords: Mapping[str, object]
    ) -> object | None:
        """Return what stands for all calls that are like this one; None if it is just one call."""


_OWN: Final[ContextVar[Substitute | None]] = ContextVar("ojs_aws_substitute", default=None)
"""The substitute of the running task or thread."""

_ACTIVE: Final[list[Substitute]] = []
"""Those of the whole process, the newest last."""


def current_substitute() -> Substitute | None:
    """Return what takes the place of the backend here and now; None for nothing.

    It is the innermost one of the caller's own context. A thread that has none, such as one of a
    server, finds the newest of the process.
    """
    if not _ACTIVE:
        return None
    return _own() or next(iter(_ACTIVE[-1:]), None)


def active_substitutes() -> list[Substitute]:
    """Return those of the whole process, the newest last."""
    return [*_ACTIVE]


def _own() -> Substitute | None:
    """Return the innermost one of this context; its own may have ended in another context."""
    found = _OWN.get()
    while found is not None and not found.is_active:
        found = found.outer
    return found


def activate(substitute: Substitute) -> None:
    """Let a substitute take the place of the backend, for this context and the process."""
    substitute.outer = _own()
    substitute.is_active = True
    _OWN.set(substitute)
    _ACTIVE.append(substitute)


def stand_behind(substitute: Substitute) -> None:
    """Let a substitute serve the process where no other one is active."""
    substitute.is_active = True
    _ACTIVE.insert(0, substitute)


def deactivate(substitute: Substitute) -> None:
    """End a substitute, wherever it was activated."""
    substitute.is_active = False
    _ACTIVE[:] = [each for each in _ACTIVE if each is not substitute]
    if _OWN.get() is substitute:
        _OWN.set(substitute.outer)


@contextmanager
def acting(substitute: Substitute) -> Iterator[None]:
    """Let a substitute be the innermost one of this context, until the block ends."""
    token = _OWN.set(substitute)
    try:
        yield
    finally:
        _OWN.reset(token)


class ReplaceableTransport:
    """Carries requests to the backend, or to the substitute that has taken its place."""

    def __init__(self, own: Transport | None = None) -> None:
        """Reach the backend by this transport; without one, only substitutes."""
        self._own = own

    @property
    def target(self) -> Transport:
        """Return the transport to use now.

        :raises ValueError: nothing says where the server is.
        """
        substitute = current_substitute()
        if substitute is not None:
            return substitute.transport
        if self._own is None:
            raise ValueError(NO_SERVER)
        return self._own

    @property
    def max_wait_s(self) -> float:
        """Return the longest wait for a result that one request may ask for."""
        return self.target.max_wait_s

    async def ask(self, request: RouteRequest) -> Answer:
        """Ask for an operation of the route table."""
        return await self.target.ask(request)

    async def push(self, job: Job) -> Stored:
        """Store one job."""
        return await self.target.push(job)

    async def push_all(self, jobs: Sequence[Job]) -> list[Stored]:
        """Store several jobs, all or none."""
        return await self.target.push_all(jobs)

    async def get(self, job_id: str) -> Job:
        """Read a job."""
        return await self.target.get(job_id)

    async def cancel(self, job_id: str) -> Job:
        """Cancel a job."""
        return await self.target.cancel(job_id)

    async def activate(self, job_id: str) -> Job:
        """Make a pending job available."""
        return await self.target.activate(job_id)

    async def close(self) -> None:
        """Close the connections to the backend; a substitute stays."""
        if self._own is not None:
            await self._own.close()


NO_SERVER: Final = "Set OJS_URL to the URL of an OJS server, or OJS_TABLE to the table."


def transacting(transport: Transport) -> Transacting:
    """Return what a transport leads to now, which takes part in transactions.

    :raises RuntimeError: it goes over HTTP.
    """
    from ojs_aws.client.transports.requests import Transacting

    found = transport.target if isinstance(transport, ReplaceableTransport) else transport
    if not isinstance(found, Transacting):
        raise RuntimeError(
            "A job takes part in a DynamoDB transaction only where the client reaches the "
            "table itself: make it by Client.direct(). Over HTTP, use enqueue()."
        )
    return found
