"""Run synchronous handlers in threads of their own, so that heartbeats go on beside them.

The threads are daemons: a handler that never ends cannot keep the process from ending.
"""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

R = TypeVar("R")


class InterruptedHandlerError(BaseException):
    """Raised inside a synchronous handler to stop it: timeout, cancellation or shutdown.

    A BaseException, so that a handler's ``except Exception`` does not take it for its own.
    """


async def in_thread(name: str, function: Callable[[], R]) -> R:
    """Run a function in a new thread, with the context variables of the caller.

    When the waiting task is cancelled, InterruptedHandlerError is raised in the thread at its next
    Python instruction. A thread inside a blocking call of the system notices only afterwards.
    """
    return await _Call(function).run(name)


class _Call(Generic[R]):
    """Makes one call in one thread."""

    def __init__(self, function: Callable[[], R]) -> None:
        self._function = function
        self._context = contextvars.copy_context()
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[R] = self._loop.create_future()
        self._ending = threading.Lock()
        self._has_ended = False

    async def run(self, name: str) -> R:
        """Start the thread and wait for what the function returns or raises."""
        thread = threading.Thread(target=self._in_thread, name=name, daemon=True)
        thread.start()
        try:
            return await self._done
        except asyncio.CancelledError:
            with self._ending:
                if not self._has_ended and thread.ident is not None:
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(thread.ident), ctypes.py_object(InterruptedHandlerError)
                    )
            raise

    def _in_thread(self) -> None:
        with suppress(InterruptedHandlerError):  # may also come just after the function's end
            try:
                result = self._context.run(self._function)
            except InterruptedHandlerError:
                self._settle(self._done.cancel)
            except BaseException as raised:  # noqa: BLE001 - it belongs to whoever waits
                problem = _storable(raised)
                self._settle(lambda: self._done.set_exception(problem))
            else:
                self._settle(lambda: self._done.set_result(result))

    def _settle(self, settle: Callable[[], object]) -> None:
        """Settle the future in its loop, unless nobody waits any more."""
        with self._ending:
            self._has_ended = True
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(lambda: None if self._done.done() else settle())


def _storable(problem: BaseException) -> BaseException:
    """Return the error that a future may hold: no StopIteration, and no exit of the worker."""
    if isinstance(problem, (StopIteration, SystemExit, KeyboardInterrupt)):
        replaced = RuntimeError(f"the handler raised {type(problem).__name__}: {problem}")
        replaced.__cause__ = problem
        return replaced
    return problem
