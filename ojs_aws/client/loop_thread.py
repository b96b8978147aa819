"""An event loop in a thread of its own, for callers that are not asynchronous.

It serves any number of threads, also those in which another event loop is running.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

R = TypeVar("R")


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
        """Stop the loop and end the thread; a later :meth:`run` starts a new one."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None or self._pid != os.getpid():
            return
        loop.call_soon_threadsafe(loop.stop)
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
