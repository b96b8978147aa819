"""Runs the methods of an asynchronous class on a loop thread.

What type checkers and editors see of the classes in ``sync.py``, with each signature and docstring,
is ``sync.pyi``, which ``python scripts/sync_stub.py`` writes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from functools import cached_property, update_wrapper
from typing import Any, ClassVar, Final

from ojs_aws.client.loop_thread import LoopThread

SIDES: Final[dict[type, type[Synchronous]]] = {}
"""The synchronous side of each class that has one."""


class Synchronous:
    """Runs the coroutines of an object on a loop thread."""

    of: ClassVar[type]

    def __init__(self, target: Any, loop: LoopThread) -> None:
        self._target = target
        self._loop = loop

    def __init_subclass__(cls, of: type) -> None:
        """Give the class what another one has, unless it has its own.

        It gets the public asynchronous methods and properties, and the sides of the areas.
        """
        cls.of, SIDES[of] = of, cls
        for name, member in inspect.getmembers(of):
            if name.startswith("_") or name in vars(cls):
                continue
            if inspect.iscoroutinefunction(member):
                setattr(cls, name, _synchronous(member))
            elif isinstance(member, property):
                setattr(cls, name, _forwarded(name, member.__doc__))
            elif isinstance(member, cached_property):
                side = _side(name)
                side.__set_name__(cls, name)
                setattr(cls, name, side)


def _synchronous(method: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
    """Return a method that runs the asynchronous one to its end."""

    def run(self: Synchronous, /, *args: Any, **kwargs: Any) -> Any:
        return self._loop.run(method(self._target, *args, **kwargs))

    update_wrapper(run, method)
    return run


def _side(name: str) -> cached_property[Synchronous]:
    """Return an attribute that is the synchronous side of an area, made at its first use."""

    def make(client: Synchronous) -> Synchronous:
        area = getattr(client._target, name)  # noqa: SLF001 - of this module
        return SIDES[type(area)](area, client._loop)  # noqa: SLF001 - likewise

    return cached_property(make)


def _forwarded(name: str, doc: str | None) -> property:
    """Return a property that is the one of the asynchronous object."""

    def read(self: Synchronous) -> object:
        return getattr(self._target, name)

    def write(self: Synchronous, value: object) -> None:
        setattr(self._target, name, value)

    return property(read, write, doc=doc)
