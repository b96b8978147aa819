"""Runs asynchronous methods on an event loop in a thread of its own.

It serves any number of threads, also those in which another event loop is running.

What type checkers and editors see of the classes in ``sync.py``, with each signature and docstring,
is ``sync.pyi``, which ``python scripts/sync_stub.py`` writes.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import cached_property, update_wrapper
from typing import Any, ClassVar, Final, TypeVar

R = TypeVar("R")
CANCELLING_S: Final = 1.0
"""How long a loop that ends waits for what it has cancelled, in seconds."""
SIDES: Final[dict[type, type[Synchronous]]] = {}
"""The synchronous side of each class that has one."""


class _Thread(threading.Thread):
    """Runs the loop of a :class:`LoopThread`."""


def in_loop_thread() -> bool:
    """Return True if this is the thread of such a loop: somebody waits for it without ``await``."""
    return isinstance(threading.current_thread(), _Thread)


class LoopThread:
    """Runs coroutines to their end on a private loop, which starts with the first of them."""

    def __init__(self, name: str = "ojs-loop") -> None:
        """Name the thread; nothing starts yet."""
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pid = 0

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine and wait for its result; what it raises is raised here.

        :raises RuntimeError: called from a coroutine of this very loop, which would wait for
            itself.
        """
        self._running()
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise RuntimeError("the synchronous client was called from its own event loop")
        future = self.submit(coroutine)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # an interrupt while waiting; without effect on a finished one
            raise

    def submit(self, coroutine: Coroutine[Any, Any, R]) -> Future[R]:
        """Run a coroutine, and return what will have its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._running())

    def close(self) -> None:
        """Cancel what runs, and end the thread; a later :meth:`run` starts a new one."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None or self._pid != os.getpid():
            return
        asyncio.run_coroutine_threadsafe(_end_all(), loop)
        if thread is not threading.current_thread():
            thread.join()
            loop.close()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._pid != os.getpid():  # a forked child has no thread
                self._loop = asyncio.new_event_loop()
                self._pid = os.getpid()
                self._thread = _Thread(target=self._loop.run_forever, name=self._name, daemon=True)
                self._thread.start()
            return self._loop


async def _end_all() -> None:
    """Cancel all that runs in this loop, so that no thread waits for it for ever, and stop it."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=CANCELLING_S)
    asyncio.get_running_loop().stop()


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
