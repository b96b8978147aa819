"""ExecutionChain: an onion around the handler (middleware specification, sections 4, 6 and 7)."""

from __future__ import annotations

import functools
import inspect
import logging
import warnings
from collections.abc import Callable, Coroutine
from types import CoroutineType
from typing import Any, ClassVar, Self

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.chain import Chain
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.errors import SuppressedErrorWarning
from ojs_aws.middleware.interfaces import EXECUTE
from ojs_aws.middleware.members import STARTED, Layer
from ojs_aws.middleware.passages import (
    CALLED,
    ENDED,
    FRESH,
    Passages,
    Step,
    called_twice,
    not_awaited,
    steps_through,
)

ExecutionHandler = Callable[[Job, JobContext], object]

_log = logging.getLogger(__name__)


class ExecutionChain(Chain):
    """Middleware around the handler, the first outermost (section 4).

    A middleware is called with the job, its :class:`JobContext` and ``call_next``. It calls
    ``await call_next()`` once to go on, or not at all to short-circuit: what it returns is the
    result. It must not swallow an error of ``call_next`` unless it says so with
    ``ctx.mark_handled(error)``; a warning names the one that does.

    A synchronous middleware can only return what ``call_next`` gives it: what lies further in may
    have to be waited for.

    A middleware that sets a limit to the handler's time says ``interrupts = True``: a synchronous
    handler then runs in a thread, so that the limit can be kept.
    """

    interfaces: ClassVar = (EXECUTE,)

    _passages: Passages[_Passage] | None = None
    _interrupts = False

    @classmethod
    def default(cls) -> ExecutionChain:
        """The recommended chain: logging, metrics, error reporting, timeout (section 8.2)."""
        from ojs_aws.middleware.error_reporting import ErrorReportingMiddleware  # noqa: PLC0415
        from ojs_aws.middleware.logging import LoggingMiddleware  # noqa: PLC0415
        from ojs_aws.middleware.metrics import MetricsMiddleware  # noqa: PLC0415
        from ojs_aws.middleware.timeout import TimeoutMiddleware  # noqa: PLC0415

        return cls(
            [
                LoggingMiddleware(),
                MetricsMiddleware(),
                ErrorReportingMiddleware(),
                TimeoutMiddleware(),
            ]
        )

    async def run(self, job: Job, ctx: JobContext, handler: ExecutionHandler) -> object:
        """Run the chain around ``handler(job, ctx)``, which may be synchronous.

        :returns: the result, as the outermost middleware left it.
        :raises BaseException: what the handler or a middleware raised and none handled.
        """
        if self._stopwatch is None:
            if self._members:
                return await self._run(job, ctx, handler)
            self.freeze(STARTED)
            result = handler(job, ctx)
            return await result if inspect.isawaitable(result) else result
        return await self._stopwatch.measure(job, self._run(job, ctx, handler))

    async def _run(self, job: Job, ctx: JobContext, handler: ExecutionHandler) -> object:
        passages = self._passages or self._start()
        passage = passages.take()
        if self._interrupts and not inspect.iscoroutinefunction(handler):
            handler = _in_thread(handler)
        passage.job, passage.ctx, passage.handler = job, ctx, handler
        try:
            return await passage.first()
        finally:
            passage.first.error = None  # no circle through the traceback
            passages.give_back(passage)

    def _start(self) -> Passages[_Passage]:
        layers = self.start(EXECUTE)
        self._interrupts = any(getattr(member, "interrupts", False) is True for member in self)
        self._passages = Passages(lambda: _Passage(layers))
        return self._passages


class _Passage:
    """One execution at a time on its way through the chain."""

    __slots__ = ("ctx", "first", "handler", "is_torn", "job", "steps")

    job: Job
    ctx: JobContext
    handler: ExecutionHandler

    def __init__(self, layers: tuple[Layer, ...]) -> None:
        self.steps = steps_through(self, layers, _Step)
        self.first = self.steps[-1]
        self.is_torn = False

    def clear(self) -> None:
        del self.job, self.ctx, self.handler
        for step in self.steps:
            step.state = FRESH
            step.error = None


class _Step(Step[_Passage]):
    """``call_next``: runs a layer, or the handler behind the last one."""

    __slots__ = ("error",)

    def __init__(self, passage: _Passage, layer: Layer | None, following: Self | None) -> None:
        super().__init__(passage, layer, following)
        self.error: BaseException | None = None

    def __call__(self, *given: object) -> Coroutine[Any, Any, object]:
        if self.state != FRESH:
            raise called_twice(self.caller)
        if given:
            raise TypeError(
                f"Middleware {self.caller!r} gave call_next something: execution middleware writes "
                "call_next(), and changes the job itself."
            )
        self.state = CALLED
        self.unstarted = going = self._go()
        return going

    async def _go(self) -> object:  # noqa: C901 - another function would cost each layer a call
        self.unstarted = None
        if self.state != CALLED:
            raise called_twice(self.caller)
        passage, layer, following = self.passage, self.layer, self.following
        result: object = None
        try:
            if layer is None or following is None:
                result = passage.handler(passage.job, passage.ctx)
                if type(result) is CoroutineType or inspect.isawaitable(result):
                    result = await result
                return result
            result = layer.call(passage.job, passage.ctx, following)
            if type(result) is CoroutineType or inspect.isawaitable(result):
                result = await result
            if following.state == CALLED:
                raise not_awaited(layer.name)  # noqa: TRY301 - it is the middleware's own error
            if following.error is not None:
                _warn_if_suppressed(layer.name, following.error, passage)
        except BaseException as problem:
            if layer is not None and following is not None and problem is not following.error:
                passage.ctx.note_origin(problem, layer.origin)
            self.error = problem
            raise
        finally:
            self.state = ENDED
            if following is not None:
                if following.state == CALLED:
                    passage.is_torn = True
                    following.drop_unstarted(result)
                following.state = ENDED
                following.error = None
        return result


def _in_thread(handler: ExecutionHandler) -> ExecutionHandler:
    """The same handler in a thread, where it can be interrupted."""
    from ojs_aws.middleware.threads import in_thread  # noqa: PLC0415 - few chains need it

    async def call(job: Job, ctx: JobContext) -> object:
        result = await in_thread(f"ojs-{job.type}", functools.partial(handler, job, ctx))
        return await result if inspect.isawaitable(result) else result

    return call


def _warn_if_suppressed(name: str, problem: BaseException, passage: _Passage) -> None:
    """Into the log for each job, and as a Python warning, which tests can turn into an error."""
    if passage.ctx.is_handled(problem):
        return
    message = (
        f"Middleware {name!r} swallowed {type(problem).__name__}: {problem}. The job counts as "
        "completed. Raise the error again, or call ctx.mark_handled(error) if that is meant."
    )
    told = {"job_id": passage.job.id, "job_type": passage.job.type, "middleware": name}
    _log.warning(message, extra=told)
    warnings.warn(message, SuppressedErrorWarning, stacklevel=2)
