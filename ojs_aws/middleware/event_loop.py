"""Keep an event loop for synchronous code that runs a chain whose middleware waits."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


_tasks: set[asyncio.Task[None]] = set()  # a loop alone does not keep its tasks


@functools.cache
def _loop(_pid: int) -> asyncio.AbstractEventLoop:
    """Return the loop of this process; a forked child does not have its parent's thread."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=_run_on, args=(loop,), name="ojs-middleware", daemon=True).start()
    return loop


def _run_on(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop for ever, also after a task has exited: other tasks depend on it."""
    while True:
        with suppress(SystemExit, KeyboardInterrupt):  # whoever waits for the task gets it, too
            loop.run_forever()


_starting = threading.Lock()


def run_in_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in the loop of the process's own thread, and wait for it.

    It sees the caller's context variables. May be called where another loop runs, which then waits.

    :raises RuntimeError: called by what already runs in this loop: it would wait for itself.
    """
    with _starting:
        loop = _loop(os.getpid())
    if asyncio._get_running_loop() is loop:  # noqa: SLF001 - get_running_loop raises where none is
        coroutine.close()
        raise RuntimeError("An asynchronous middleware must not enqueue synchronously.")
    ended: Future[T] = Future()
    context = contextvars.copy_context()

    def start() -> None:
        task = loop.create_task(_into(ended, coroutine), context=context)
        _tasks.add(task)
        task.add_done_callback(_tasks.discard)

    loop.call_soon_threadsafe(start)
    return ended.result()


async def _into(ended: Future[T], coroutine: Coroutine[Any, Any, T]) -> None:
    try:
        ended.set_result(await coroutine)
    except BaseException as problem:  # noqa: BLE001 - it belongs to whoever waits
        ended.set_exception(problem)
