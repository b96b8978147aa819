"""Enforce the execution timeout around the handler (middleware specification, section 8.1.3)."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import KW_ONLY, dataclass
from typing import Final

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.protocols import ExecutionNext
from ojs_aws.middleware.results import JobTimeoutError

DEFAULT_TIMEOUT_S = 1800.0
DEFAULT_GRACE_S: Final = 5.0
LEAST_GRACE_S: Final = 0.1

_logger = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class TimeoutMiddleware:
    """Ends an execution that takes longer than the job's timeout. Put it innermost.

    An asynchronous handler is cancelled; one that does not end then is left behind after a grace
    period, and cancelled again and again. A synchronous one runs in a thread, which is interrupted
    at its next Python instruction. What either still returns or raises after the timeout counts for
    nothing.

    :param default_s: seconds for jobs that name no timeout.
    :param grace_s: seconds that a cancelled handler has to end, fewer where the environment ends
        the execution sooner.
    :raises ValueError: a number that is not positive.
    """

    interrupts = True
    """Synchronous handlers have to run in threads."""

    default_s: float = DEFAULT_TIMEOUT_S
    _: KW_ONLY
    grace_s: float = DEFAULT_GRACE_S

    def __post_init__(self) -> None:
        """Refuse numbers that are not positive."""
        if self.default_s <= 0 or self.grace_s <= 0:
            raise ValueError("default_s and grace_s must be positive")

    async def execute(self, job: Job, ctx: JobContext, call_next: ExecutionNext) -> object:
        """Wait for the handler no longer than allowed.

        :raises JobTimeoutError: the time was over; reported as error type ``timeout``.
        """
        seconds = job.timeout or self.default_s
        remaining = ctx.remaining_s()
        is_cut_short = remaining is not None and remaining < seconds
        if remaining is not None and is_cut_short:
            seconds = remaining
        inner = _Inner()
        task = asyncio.ensure_future(inner.run(call_next))
        try:
            await asyncio.wait({task}, timeout=seconds)
        except asyncio.CancelledError:  # the worker gives the job up
            await self._stop(task, job, ctx)
            raise
        if task.done():
            return inner.outcome()
        await self._stop(task, job, ctx)
        cause = inner.problem if isinstance(inner.problem, Exception) else None
        raise JobTimeoutError(
            f"The execution of job {job.id} exceeded the {seconds:.3g} s that its environment had "
            "left for it."
            if is_cut_short
            else f"The execution of job {job.id} exceeded its timeout of {seconds:g} s."
        ) from cause

    async def _stop(self, task: asyncio.Task[None], job: Job, ctx: JobContext) -> None:
        """Cancel what runs, and leave it behind if it does not end."""
        task.cancel()
        remaining = ctx.remaining_s()
        grace = self.grace_s if remaining is None else min(self.grace_s, remaining)
        await asyncio.wait({task}, timeout=max(grace, LEAST_GRACE_S))
        if not task.done():
            fields = {"job_id": job.id, "job_type": job.type}
            _logger.error("The handler of job %s ignores its cancellation", job.id, extra=fields)
            self._cancel_again(task)

    def _cancel_again(self, task: asyncio.Task[None]) -> None:
        if not task.done():
            task.cancel()
            task.get_loop().call_later(self.grace_s, self._cancel_again, task)


class _Inner:
    """Runs what is inside the timeout in a task of its own, and keeps its outcome.

    The task itself never fails: a SystemExit in it would end the worker's event loop.
    """

    __slots__ = ("problem", "result")

    def __init__(self) -> None:
        self.result: object = None
        self.problem: BaseException | None = None

    async def run(self, call_next: ExecutionNext) -> None:
        try:
            self.result = await call_next()
        except BaseException as problem:  # noqa: BLE001 - raised again by whoever waits
            self.problem = problem

    def outcome(self) -> object:
        """Return the result, or raise what was raised."""
        if self.problem is not None:
            problem, self.problem = self.problem, None  # no circle through the traceback
            raise problem
        return self.result
