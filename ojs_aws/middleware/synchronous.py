"""Run synchronous handlers in threads, with a context of theirs, and give them an event loop.

The threads of handlers are daemons: a handler that never ends cannot keep the process from ending.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import os
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Generic, TypeVar

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.results import described

T = TypeVar("T")
_tasks: set[asyncio.Task[None]] = set()  # a loop alone does not keep its tasks


class SyncJobContext:
    """Represents one execution of one job to a handler that is not asynchronous.

    It has what :class:`~ojs_aws.JobContext` has. :meth:`heartbeat` and :meth:`checkpoint` return
    when they are done.
    """

    def __init__(self, context: JobContext) -> None:
        """Wrap the context of an execution."""
        self._context = context

    @property
    def job(self) -> Job:
        """Return the whole envelope."""
        return self._context.job

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the store that middleware and handler share."""
        return self._context.metadata

    @property
    def attempt(self) -> int:
        """Return the number of the attempt, 1 for the first."""
        return self._context.attempt

    @property
    def queue(self) -> str:
        """Return the queue that the job was fetched from."""
        return self._context.queue

    @property
    def workflow_id(self) -> str:
        """Return the workflow that the job belongs to; empty for none."""
        return self._context.workflow_id

    @property
    def parent_results(self) -> Mapping[str, JsonValue]:
        """Return the results of the steps before, by their index or id."""
        return self._context.parent_results

    def log(self, level: str, message: str, **fields: object) -> None:
        """Write a log record; see :meth:`JobContext.log`."""
        self._context.log(level, message, **fields)

    def progress(
        self,
        fraction: float | None = None,
        *,
        data: Mapping[str, JsonValue] | None = None,
        message: str | None = None,
    ) -> None:
        """Report how far the execution is; see :meth:`JobContext.progress`."""
        self._context.progress(fraction, data=data, message=message)

    def heartbeat(self) -> None:
        """Extend the job's reservation by its visibility timeout.

        :raises OjsError: the backend could not be asked.
        """
        _finish(self._context.heartbeat())

    def checkpoint(self, state: JsonValue) -> None:
        """Save the state that the next attempt continues from, in place of the one before.

        :raises OjsError: it was not saved.
        """
        _finish(self._context.checkpoint(state))

    @property
    def has_checkpoint(self) -> bool:
        """Return True if an earlier attempt, or this one, saved a checkpoint."""
        return self._context.has_checkpoint

    @property
    def last_checkpoint(self) -> JsonValue:
        """Return what was saved last; None if nothing was."""
        return self._context.last_checkpoint

    @property
    def is_cancelled(self) -> bool:
        """Return True if the job was cancelled, or another worker has reserved it."""
        return self._context.is_cancelled

    @property
    def cancelled_because(self) -> str:
        """Return why the job must no longer be executed; empty while it may be."""
        return self._context.cancelled_because

    def remaining_s(self) -> float | None:
        """Return the seconds until the environment ends the execution; None when nothing does."""
        return self._context.remaining_s()


def _finish(work: Coroutine[Any, Any, None]) -> None:
    """Take the end of what the context has done already: in a thread it blocks until then.

    :raises RuntimeError: it has not: this is the thread of the worker's event loop.
    """
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()
    raise RuntimeError("A SyncJobContext was used in the event loop of its worker.")


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
                    import ctypes  # few handlers are interrupted

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
    """Return the error that a future may hold: none that would end its loop or coroutine."""
    if isinstance(problem, (StopIteration, SystemExit, KeyboardInterrupt, GeneratorExit)):
        replaced = RuntimeError(f"the handler raised {described(problem)}")
        replaced.__cause__ = problem
        return replaced
    return problem
