"""Run jobs through the execution chain, around the handler (sections 4, 6 and 7)."""

from __future__ import annotations

import functools
import inspect
import logging
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.chain import Chain, Layers, Run, Step
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.members import Layer
from ojs_aws.middleware.protocols import EXECUTE
from ojs_aws.middleware.results import SuppressedErrorWarning, described

ExecutionHandler = Callable[[Job, JobContext], object]

_logger = logging.getLogger(__name__)


class ExecutionChain(Chain):
    """Runs middleware around the handler, the first outermost (section 4).

    A middleware is called with the job, its :class:`JobContext` and ``call_next``. It calls
    ``await call_next()`` once to go on, or not at all to short-circuit: what it returns is the
    result. It must not swallow an error of ``call_next`` unless it says so with
    ``ctx.mark_handled(error)``; a warning names the one that does.

    A synchronous middleware can only return what ``call_next`` gives it: what lies further in may
    have to be waited for.

    A middleware that limits the time of the handler says ``interrupts = True``: a synchronous
    handler then runs in a thread, where it can be interrupted.
    """

    interfaces: ClassVar = (EXECUTE,)

    @classmethod
    def default(cls) -> ExecutionChain:
        """Return the recommended chain: logging, metrics, error reporting, timeout (8.2)."""
        from ojs_aws.middleware.builtin.error_reports import ErrorReportingMiddleware
        from ojs_aws.middleware.builtin.logging import LoggingMiddleware
        from ojs_aws.middleware.builtin.metrics import MetricsMiddleware
        from ojs_aws.middleware.builtin.timeout import TimeoutMiddleware

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
        layers = self.start(EXECUTE)
        if self._interrupts and not inspect.iscoroutinefunction(handler):
            handler = _in_thread(handler)
        return await self.outermost(_ExecutionRun(layers, job, ctx, handler))(job)

    @functools.cached_property
    def _interrupts(self) -> bool:
        return any(getattr(member, "interrupts", False) is True for member in self)


class _ExecutionRun(Run):
    """Runs one execution, and notes where its errors come from."""

    def __init__(
        self, layers: Layers, job: Job, ctx: JobContext, handler: ExecutionHandler
    ) -> None:
        self.layers = layers
        self.given = (job, ctx)
        self.innermost = handler  # type: ignore[method-assign]

    def accept(self, step: Step, given: tuple[Any, ...]) -> tuple[Job, JobContext]:
        if given and step.position:
            raise TypeError(
                f"Middleware {step.caller!r} gave call_next something: execution middleware writes "
                "call_next(), and changes the job itself."
            )
        return self.given

    def settle(self, layer: Layer, following: Step, result: Any) -> object:
        if following.error is not None:
            self._warn_if_suppressed(layer.name, following.error)
        return result

    def note_error(self, layer: Layer, following: Step, problem: BaseException) -> None:
        if problem is not following.error:
            self.given[1].note_origin(problem, f"middleware:{layer.name}")

    def _warn_if_suppressed(self, name: str, problem: BaseException) -> None:
        """Write it to the log for each job, and warn, which tests can turn into an error."""
        job, ctx = self.given
        if ctx.is_handled(problem):
            return
        message = (
            f"Middleware {name!r} swallowed {described(problem)}. The job counts as "
            "completed. Raise the error again, or call ctx.mark_handled(error) if that is meant."
        )
        extra = {"job_id": job.id, "job_type": job.type, "middleware": name}
        _logger.warning(message, extra=extra)
        warnings.warn(message, SuppressedErrorWarning, stacklevel=2)


def _in_thread(handler: ExecutionHandler) -> ExecutionHandler:
    """Return the same handler in a thread, where it can be interrupted."""
    from ojs_aws.middleware.synchronous import in_thread  # few chains need it

    async def call(job: Job, ctx: JobContext) -> object:
        result = await in_thread(f"ojs-{job.type}", functools.partial(handler, job, ctx))
        return await result if inspect.isawaitable(result) else result

    return call
