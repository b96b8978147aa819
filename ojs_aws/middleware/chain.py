"""EnqueueChain and ExecutionChain (middleware specification, sections 3 to 7).

Asynchronous middleware waits for ``call_next``; a synchronous one can only return what
``call_next`` gives it (or, when enqueueing, the job): what lies further in may have to be waited
for. One that returns anything else after ``call_next`` is refused with NextNotAwaitedError.
"""

from __future__ import annotations

import inspect
import logging
import warnings
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar, cast

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.errors import (
    IdChangedError,
    NextCalledTwiceError,
    NextNotAwaitedError,
    SuppressedErrorWarning,
)
from ojs_aws.middleware.members import Layer, Members

T = TypeVar("T")
Store = Callable[[Job], "Awaitable[Job | None] | Job | None"]
ExecutionHandler = Callable[[Job, JobContext], object]

STARTED = "it processed its first job"

_log = logging.getLogger(__name__)


class _Enqueueing:
    """One job on its way through the enqueue chain."""

    __slots__ = ("dropped_by", "job_id", "layers", "store", "stored")

    def __init__(self, layers: tuple[Layer, ...], store: Store, job_id: str) -> None:
        self.layers = layers
        self.store = store
        self.job_id = job_id
        self.stored: Job | None = None
        self.dropped_by = ""

    async def go(self, position: int, job: Job) -> Job | None:
        """Pass the job to the layer at a position, or store it behind the last one."""
        if position == len(self.layers):
            stored = self.store(job)
            self.stored = await stored if inspect.isawaitable(stored) else stored
            return self.stored
        layer = self.layers[position]
        step = _EnqueueStep(self, position, layer.name)
        try:
            result = layer.call(job, step)
            if inspect.isawaitable(result):
                result = await result
        except Exception as problem:
            self._tell_stored(problem, layer.name)
            raise
        finally:
            step.is_over = True
        if step.is_called:
            if not step.is_done:
                raise _not_awaited(layer.name)
            return self._after(result, layer.name, has_failed=step.has_failed)
        if result is None:
            self.dropped_by = layer.name
            return None
        self.check(result, layer.name)
        return await self.go(position + 1, result)

    def check(self, job: Job, name: str) -> None:
        """Refuse another id."""
        if job.id != self.job_id:
            raise IdChangedError(
                f"Middleware {name!r} changed the job's id from {self.job_id!r} to {job.id!r}; "
                "the id must stay."
            )

    def _after(self, result: Job | None, name: str, *, has_failed: bool) -> Job | None:
        """What a layer that called next returns: a job exactly when one was stored."""
        if self.stored is None:
            if has_failed:  # it caught what call_next raised, and so dropped the job
                self.dropped_by = name
            return None
        if result is None:
            warnings.warn(
                f"Middleware {name!r} returned None after the job had been stored; it is not "
                "dropped. Return the job, or do not call call_next.",
                RuntimeWarning,
                stacklevel=2,
            )
            return self.stored
        if result is not self.stored and result.id != self.stored.id:
            problem = IdChangedError(
                f"Middleware {name!r} returned job {result.id!r} for the stored {self.stored.id!r}."
            )
            self._tell_stored(problem, name)
            raise problem
        return result

    def _tell_stored(self, problem: Exception, name: str) -> None:
        """An error that comes after the job was stored says so: the caller may cancel it."""
        told: object = getattr(problem, "stored_job_ids", None)
        stored = (self.job_id,) if self.stored is not None else None
        if told == stored:
            return
        with suppress(AttributeError, TypeError):  # a class with __slots__ has no room for it
            problem.stored_job_ids = stored  # type: ignore[attr-defined]
        if stored:
            problem.add_note(
                f"Middleware {name!r} raised this after job {self.job_id} had been stored."
            )


class _EnqueueStep:
    """``call_next`` of one enqueue middleware for one job."""

    __slots__ = ("_name", "_position", "_run", "has_failed", "is_called", "is_done", "is_over")

    def __init__(self, run: _Enqueueing, position: int, name: str) -> None:
        self._run = run
        self._position = position
        self._name = name
        self.has_failed = False
        self.is_called = False
        self.is_done = False
        self.is_over = False

    def __call__(self, job: Job) -> Coroutine[Any, Any, Job | None]:
        if self.is_called or self.is_over:
            raise _called_twice(self._name)
        self._run.check(job, self._name)
        self.is_called = True
        return self._go(job)

    async def _go(self, job: Job) -> Job | None:
        try:
            return await self._run.go(self._position + 1, job)
        except BaseException:
            self.has_failed = True
            raise
        finally:
            self.is_done = True


class EnqueueChain(Members[Job]):
    """Middleware around enqueueing, in insertion order (section 3).

    A middleware is called with the job and ``call_next``. It passes the job on by
    ``return await call_next(job)``, drops it by returning None, and aborts by raising. One that
    is synchronous, or has nothing to do afterwards, may simply return the job.
    """

    methods = ("enqueue", "call")
    parameters = ("job", "call_next")

    @classmethod
    def default(cls) -> EnqueueChain:
        """The recommended chain: logging (section 8.2)."""
        from ojs_aws.middleware.logging import LoggingMiddleware  # noqa: PLC0415

        return cls([LoggingMiddleware()])

    async def run(self, job: Job, store: Store) -> Job | None:
        """Run the chain around ``store``.

        :returns: the stored job, or None when a middleware dropped it. Never a job that was not
            stored, whatever a middleware returns.
        :raises Exception: whatever a middleware raised; nothing was stored then, unless the error
            has the attribute ``stored_job_ids``.
        """
        stored, _ = await self.run_tracked(job, store)
        return stored

    async def run_tracked(self, job: Job, store: Store) -> tuple[Job | None, str]:
        """Like :meth:`run`, and the name of the middleware that dropped the job, if one did."""
        self.freeze(STARTED)
        enqueueing = _Enqueueing(self._layers, store, job.id)
        result = await enqueueing.go(0, job)
        return result, enqueueing.dropped_by

    def run_sync(self, job: Job, store: Callable[[Job], Job]) -> tuple[Job | None, str]:
        """Like :meth:`run_tracked` from synchronous code.

        A chain whose middleware all say ``never_waits = True`` (the built-in ones for enqueueing
        do) runs without an event loop, which saves a cold start its import. Any other chain runs
        from its start in the loop of a thread, which stays: a coroutine cannot move into a loop
        half-way, and connections that a middleware keeps belong to one loop.
        """
        coroutine = self.run_tracked(job, store)
        if all(getattr(layer.middleware, "never_waits", False) for layer in self._layers):
            try:
                coroutine.send(None)
            except StopIteration as done:
                return cast("tuple[Job | None, str]", done.value)
            coroutine.close()
            raise RuntimeError("A middleware that says it never waits has waited.")
        from ojs_aws.middleware.loop import run_in_loop  # noqa: PLC0415 - imports asyncio

        return run_in_loop(coroutine)


class _Execution:
    """One job on its way through the execution chain."""

    __slots__ = ("ctx", "handler", "job", "layers")

    def __init__(
        self,
        layers: tuple[Layer, ...],
        job: Job,
        ctx: JobContext,
        handler: ExecutionHandler,
    ) -> None:
        self.layers = layers
        self.job = job
        self.ctx = ctx
        self.handler = handler

    async def go(self, position: int) -> object:
        """Call the layer at a position, or the handler behind the last one."""
        if position == len(self.layers):
            result = self.handler(self.job, self.ctx)
            return await result if inspect.isawaitable(result) else result
        layer = self.layers[position]
        step = _ExecutionStep(self, position, layer.name)
        try:
            result = layer.call(self.job, self.ctx, step)
            if inspect.isawaitable(result):
                result = await result
        except BaseException as problem:
            if problem is not step.error:
                self.ctx.note_origin(problem, f"middleware:{layer.name}")
            raise
        finally:
            step.is_over = True
        if step.is_called and not step.is_done:
            raise self._unfinished(layer.name)
        if step.error is not None and not self.ctx.is_handled(step.error):
            _warn_suppressed(layer.name, step.error, self.job)
        return result

    def _unfinished(self, name: str) -> NextNotAwaitedError:
        problem = _not_awaited(name)
        self.ctx.note_origin(problem, f"middleware:{name}")
        return problem


class _ExecutionStep:
    """``call_next`` of one execution middleware for one job."""

    __slots__ = ("_name", "_position", "_run", "error", "is_called", "is_done", "is_over")

    def __init__(self, run: _Execution, position: int, name: str) -> None:
        self._run = run
        self._position = position
        self._name = name
        self.is_called = False
        self.is_done = False
        self.is_over = False
        self.error: BaseException | None = None

    def __call__(self) -> Coroutine[Any, Any, object]:
        if self.is_called or self.is_over:
            raise _called_twice(self._name)
        self.is_called = True
        return self._go()

    async def _go(self) -> object:
        try:
            return await self._run.go(self._position + 1)
        except BaseException as problem:
            self.error = problem
            raise
        finally:
            self.is_done = True


class ExecutionChain(Members[Job]):
    """Middleware around the handler, the first outermost (section 4).

    A middleware is called with the job, its :class:`JobContext` and ``call_next``. It calls
    ``await call_next()`` once to go on, or not at all to short-circuit: what it returns is the
    result. It must not swallow an error of ``call_next`` unless it says so with
    ``ctx.mark_handled(error)``; a warning names the one that does.
    """

    methods = ("execute", "call")
    parameters = ("job", "ctx", "call_next")

    @classmethod
    def default(cls) -> ExecutionChain:
        """The recommended chain, as far as it exists: logging, then the timeout (section 8.2)."""
        from ojs_aws.middleware.logging import LoggingMiddleware  # noqa: PLC0415
        from ojs_aws.middleware.timeout import TimeoutMiddleware  # noqa: PLC0415

        return cls([LoggingMiddleware(), TimeoutMiddleware()])

    async def run(self, job: Job, ctx: JobContext, handler: ExecutionHandler) -> object:
        """Run the chain around ``handler(job, ctx)``, which may be synchronous.

        :returns: the result, as the outermost middleware left it.
        :raises BaseException: what the handler or a middleware raised and none handled.
        """
        self.freeze(STARTED)
        return await _Execution(self._layers, job, ctx, handler).go(0)


def _called_twice(name: str) -> NextCalledTwiceError:
    return NextCalledTwiceError(
        f"Middleware {name!r} called call_next a second time, or after it had returned; it goes on "
        "exactly once per job."
    )


def _not_awaited(name: str) -> NextNotAwaitedError:
    return NextNotAwaitedError(
        f"Middleware {name!r} called call_next and returned before that had ended: write "
        "`await call_next(...)`, in an `async def`."
    )


def _warn_suppressed(name: str, problem: BaseException, job: Job) -> None:
    """Into the log for each job, and as a Python warning, which tests can turn into an error."""
    message = (
        f"Middleware {name!r} swallowed {type(problem).__name__}: {problem}. The job counts as "
        "completed. Raise the error again, or call ctx.mark_handled(error) if that is meant."
    )
    _log.warning(message, extra={"job_id": job.id, "job_type": job.type, "middleware": name})
    warnings.warn(message, SuppressedErrorWarning, stacklevel=2)
