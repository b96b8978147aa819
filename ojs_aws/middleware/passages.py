"""One job's passage through a chain, made once and used for many jobs.

A chain is a fixed sequence of steps, one behind each ``call_next``. The steps are objects, because
each must know whether it was taken; building them anew for each job would cost more than everything
else a chain does. So a chain keeps the passages that ended and uses them again, which leaves a job
nothing to allocate but the coroutines of its middleware. A passage is used again only when nobody
else holds one of its steps: a ``call_next`` that a middleware kept stays refused for ever, and can
never reach another job.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, Generic, Protocol, Self, TypeVar

from ojs_aws.middleware.errors import NextCalledTwiceError, NextNotAwaitedError
from ojs_aws.middleware.members import Layer

FRESH: Final = 0
CALLED: Final = 1
ENDED: Final = 2
FAILED: Final = 3
"""What may be said of a step: nothing yet, called, at its end, or ended by an error."""

KEPT: Final = 64
"""Passages that a chain keeps for reuse; more jobs than that at once make their own."""


class Passage(Protocol):
    """The steps of one job at a time."""

    @property
    def steps(self) -> Sequence[object]:
        """What is behind each ``call_next``."""

    @property
    def is_torn(self) -> bool:
        """Whether a middleware left something running behind it."""

    def clear(self) -> None:
        """Forget the job, and make every step fresh."""


P = TypeVar("P", bound=Passage)


class Step(Generic[P]):
    """``call_next`` of the layer before: what runs a layer, or what is behind the last one.

    :ivar layer: what it runs; None behind the last one.
    :ivar following: the ``call_next`` of that layer.
    :ivar caller: name of the layer whose ``call_next`` this is; empty for the first.
    :ivar unstarted: what ``call_next`` returned, until somebody awaits it.
    """

    __slots__ = ("caller", "following", "layer", "passage", "state", "unstarted")

    def __init__(self, passage: P, layer: Layer | None, following: Self | None) -> None:
        """One step of a passage, fresh."""
        self.passage = passage
        self.layer = layer
        self.following = following
        self.caller = ""
        if layer is not None and following is not None:
            following.caller = layer.name
        self.state = FRESH
        self.unstarted: Coroutine[Any, Any, object] | None = None

    def drop_unstarted(self, returned: object) -> None:
        """Close what ``call_next`` returned if nobody can await it any more."""
        unstarted, self.unstarted = self.unstarted, None
        drop_unstarted(unstarted, returned)


S = TypeVar("S", bound="Step[Any]")


def steps_through(passage: object, layers: Sequence[Layer], kind: type[S]) -> list[S]:
    """The steps of a passage, the innermost first."""
    step = kind(passage, None, None)
    steps = [step]
    for layer in reversed(layers):
        step = kind(passage, layer, step)
        steps.append(step)
    return steps


class Passages(Generic[P]):
    """The passages of a chain that nobody uses just now. Safe for threads and tasks."""

    __slots__ = ("_idle", "_make", "_unshared")

    def __init__(self, make: Callable[[], P]) -> None:
        """Keep what ``make`` makes."""
        self._make = make
        self._idle: list[P] = []
        self._unshared = 0

    def take(self) -> P:
        """A fresh passage; nobody else has it until it is given back."""
        try:
            return self._idle.pop()
        except IndexError:
            passage = self._make()
            self._unshared = _references(passage)
            return passage

    def give_back(self, passage: P) -> None:
        """Keep a passage for another job, unless a step of it may still be called."""
        is_free = not passage.is_torn and 0 < _references(passage) <= self._unshared
        if is_free and len(self._idle) < KEPT:
            passage.clear()
            self._idle.append(passage)


def _references(passage: Passage) -> int:
    """How often the most referred-to step is referred to; 0 when that cannot be told."""
    most = 0
    for step in passage.steps:
        count = _count(step)
        if count > most:  # noqa: PLR1730 - max() would cost as much as all the rest
            most = count
    return most


def _unknown(_: object) -> int:  # pragma: no cover - an interpreter that counts no references
    return 0


_count: Final[Callable[[object], int]] = getattr(sys, "getrefcount", _unknown)


def drop_unstarted(unstarted: Coroutine[Any, Any, object] | None, returned: object) -> None:
    """Close a coroutine of ``call_next`` that nobody can await any more.

    The chain raises an error of its own for that, so Python need not warn as well. A coroutine that
    somebody holds, such as a task, is left alone.

    :param unstarted: in a local variable of the caller, and nowhere else in the chain.
    :param returned: by the middleware; it may be just that coroutine.
    """
    if unstarted is not None and (returned is unstarted or _count(unstarted) <= _UNSHARED):
        unstarted.close()


def _probe(held: object) -> int:
    return _count(held)


def _unshared() -> int:
    """Count the references to what only a caller's local variable holds."""
    local = object()
    return _probe(local)


_UNSHARED: Final = _unshared()


def called_twice(name: str) -> NextCalledTwiceError:
    """The error of a middleware that wants to go on again."""
    return NextCalledTwiceError(
        f"Middleware {name!r} called call_next a second time, or after it had returned; it goes on "
        "exactly once per job."
    )


def not_awaited(name: str) -> NextNotAwaitedError:
    """The error of a middleware that did not wait for the end of what it called."""
    return NextNotAwaitedError(
        f"Middleware {name!r} called call_next and returned before that had ended: write "
        "`await call_next(...)`, in an `async def`."
    )
