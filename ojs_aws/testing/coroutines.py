"""Remembers which asynchronous methods a test called and did not await."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


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
