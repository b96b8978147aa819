"""Refuses mistakes of tests, and takes the backend's place for an application's clients."""

from __future__ import annotations

import difflib
import functools
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, Protocol, TypeVar, cast

from ojs_aws.client.client import Client
from ojs_aws.client.sync import SyncClient
from ojs_aws.client.transports.substitute import (
    ReplaceableTransport,
    activate,
    active_substitutes,
    deactivate,
    stand_behind,
)
from ojs_aws.domain.job import JobState
from ojs_aws.middleware.extensions import find, search_here
from ojs_aws.testing.jobs import CallPattern, has_any
from ojs_aws.testing.server.processes import Handlers
from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.worker.base import BaseWorker

if TYPE_CHECKING:
    from ojs_aws.client.transports.requests import Transport
    from ojs_aws.client.transports.substitute import Substitute
    from ojs_aws.testing.handlers import JobHandlers
    from ojs_aws.typed_jobs.declarations import JobDeclaration


P = ParamSpec("P")
R = TypeVar("R")


class Place:
    """Is the substitute of one test.

    :ivar is_active: false once the test has ended.
    :ivar outer: the substitute in whose scope it began.
    :ivar waiting: ids of jobs in an outbox, whose transaction has not committed.
    :ivar has_block: whether the end of a ``with`` block ends it.
    :ivar begun_at: the file and line of the test that began it.
    :ivar thread: the thread that began it.
    """

    def __init__(
        self, transport: Transport, handlers: JobHandlers, make_client: Callable[[], Client]
    ) -> None:
        """Lead to a transport, by clients that are made like this."""
        self.is_active = False
        self.outer: Substitute | None = None
        self.waiting: set[str] = set()
        self.has_block = False
        self.begun_at = ""
        self.thread = 0
        self.transport = transport
        self._handlers = handlers
        self._make_client = make_client

    @cached_property
    def client(self) -> Client:
        """Return a client that enqueues here, whatever else is active."""
        return self._make_client()

    @cached_property
    def sync_client(self) -> SyncClient:
        """Return a client for code that is not asynchronous."""
        return SyncClient(client=self._make_client())

    def begin(self) -> None:
        """Take the place of the backend from now on, for whoever called :class:`Ojs`."""
        caller = sys._getframe(2)  # noqa: SLF001 - as warnings.warn finds its caller
        self.begun_at = f"{caller.f_code.co_filename}:{caller.f_lineno}"
        self.thread = threading.get_ident()
        activate(self)

    def close(self) -> None:
        """Close the clients."""
        if (client := self.__dict__.pop("sync_client", None)) is not None:
            client.close()

    def note_declaration(self, declaration: object) -> None:
        """Remember by which declaration a job is sent: a drain runs that one."""
        self._handlers.note(cast("JobDeclaration", declaration))

    def pattern_of(
        self, declaration: object, args: Sequence[object], keywords: Mapping[str, object]
    ) -> CallPattern[Any] | None:
        """Return what stands for all calls that are like this one; None without ANY."""
        if not any(map(has_any, (*args, *keywords.values()))):
            return None
        return CallPattern(cast("JobDeclaration", declaration), args, keywords)


def load_handlers(path: str) -> Handlers:
    """Return the worker or Jobs at ``module:attribute``.

    :raises TypeError: something else is there.
    """
    search_here()
    found: object = find(path, "worker")
    if not isinstance(found, (BaseWorker, Jobs)):
        raise TypeError(
            f"{path!r} is a {type(found).__name__}, and no worker or Jobs: name one of them, such "
            "as shop.jobs:worker."
        )
    return found


def handlers_of(handlers: Handlers | None) -> dict[str, Any]:
    """Return the parameter by which ``Ojs`` takes handlers.

    :raises TypeError: they are none.
    """
    if handlers is None:
        return {}
    if isinstance(handlers, Jobs):
        return {"jobs": handlers}
    if isinstance(handlers, BaseWorker):
        return {"worker": handlers}
    raise TypeError(f"The fixture ojs_worker is a worker or Jobs, not {type(handlers).__name__}.")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a question that names the nearest of the known names; empty if none is near."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def checked_state(name: object) -> JobState:
    """Return the state of a name.

    :raises ValueError: there is no such state.
    """
    states = [str(state) for state in JobState]
    if name not in states:
        raise ValueError(
            f"There is no state {name!r}.{nearest(str(name), states)} The states are "
            f"{', '.join(states)}."
        )
    return JobState(str(name))


class Noting(Protocol):
    """Declares what remembers the calls."""

    _unawaited: list[str]


S = TypeVar("S", bound=Noting)


def noted(
    method: Callable[Concatenate[S, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, R]]:
    """Remember each call of a method of ``Ojs`` until it is awaited."""
    name = method.__name__

    @functools.wraps(method)
    def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        __tracebackhide__ = True

        async def run() -> R:
            __tracebackhide__ = True
            self._unawaited.remove(name)
            return await method(self, *args, **kwargs)

        run.__qualname__ = f"Ojs.{name}"  # Python's warning names it
        self._unawaited.append(name)
        return run()

    return call


def hint_of(unawaited: list[str]) -> str:
    """Return what to add to a message; empty if every call was awaited."""
    if not unawaited:
        return ""
    name = unawaited[-1]
    return (
        f"\n\n{name}() was called and not awaited, so it did nothing: await ojs.{name}(...), or "
        f"ojs.{name}_sync(...) without async."
    )


def left_over() -> list[Place]:
    """Return what this thread began without ``with`` and did not end, the oldest first."""
    own = threading.get_ident()
    return [
        each
        for each in active_substitutes()
        if isinstance(each, Place) and not each.has_block and each.thread == own
    ]


def refuse_left_over() -> None:
    """Fail where an earlier test left something active. It is ended, so that the next one passes.

    :raises RuntimeError: naming the line that began it.
    """
    if found := end_left_over():
        raise RuntimeError(found)


def end_left_over(known: frozenset[int] = frozenset()) -> str:
    """End what was left active, and return what to say about it; empty if there is nothing.

    :param known: the ids of objects that may stay.
    """
    places = [each for each in left_over() if id(each) not in known]
    for each in places:
        deactivate(each)
        each.close()
    if not places:
        return ""
    return (
        f"The Ojs of {places[0].begun_at} was begun without `with`, and never ended: later tests "
        "would use it, too. Use it as a context manager (`with Ojs.fake() as ojs:`, in unittest "
        "self.enterContext(Ojs.fake())), or call its restore() at the end, such as by "
        "self.addCleanup(ojs.restore)."
    )


class UnguardedTestError(AssertionError):
    """Reports that a test reaches a server, and uses none of the fixtures."""


class Guard:
    """Takes the place of the backend where no fixture does, and refuses everything."""

    def __init__(self, test: str) -> None:
        """Guard one test.

        :param test: its name.
        """
        self.is_active = False
        self.outer: Substitute | None = None
        self.waiting: set[str] = set()
        self._test = test

    @property
    def transport(self) -> NoReturn:
        """Refuse to reach a server.

        :raises UnguardedTestError: always.
        """
        raise UnguardedTestError(
            f"{self._test} would reach a real server: let it use the fixture ojs. (Such tests fail "
            "by the setting ojs_guard; the marker ojs_unguarded exempts a test.)"
        )

    @property
    def client(self) -> Client:
        """Return a client that sends nothing."""
        return Client(transport=ReplaceableTransport())

    @property
    def sync_client(self) -> SyncClient:
        """Return a client that sends nothing, for code that is not asynchronous."""
        return SyncClient(client=self.client)

    def note_declaration(self, declaration: object) -> None:
        """Learn nothing."""

    def pattern_of(
        self, declaration: object, args: Sequence[object], keywords: Mapping[str, object]
    ) -> None:
        """Know no patterns: they are for assertions of a fixture."""


@contextmanager
def guarded(test: str) -> Iterator[None]:
    """Refuse what a test sends while none of the fixtures is active."""
    guard = Guard(test)
    stand_behind(guard)
    try:
        yield
    finally:
        deactivate(guard)
