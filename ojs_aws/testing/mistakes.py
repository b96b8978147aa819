"""Refuses mistakes of tests: wrong names, forgotten awaits, and parts left open."""

from __future__ import annotations

import difflib
import functools
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, Protocol, TypeVar

from ojs_aws.client.client import Client
from ojs_aws.client.sync import SyncClient
from ojs_aws.client.transports.substitute import (
    ReplaceableTransport,
    active_substitutes,
    deactivate,
    stand_behind,
)
from ojs_aws.domain.job import JobState
from ojs_aws.testing.substitution import Place

if TYPE_CHECKING:
    from ojs_aws.client.transports.substitute import Substitute

P = ParamSpec("P")
R = TypeVar("R")


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
