"""Executes one job: finds its handler, runs it inside the chain, and tracks what is executing."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_members import check_native
from ojs_aws.domain.json_text import RawJson, encode
from ojs_aws.middleware.chain.execution import ExecutionChain
from ojs_aws.middleware.context import CURRENT_JOB, JobContext
from ojs_aws.middleware.hook_values import WorkOutcome
from ojs_aws.middleware.hooks import Hooks
from ojs_aws.middleware.synchronous import in_thread
from ojs_aws.worker.failure import HANDLER, JobError, SnoozeError, failure_of, given_back
from ojs_aws.worker.registry import Handler, HandlerRegistry, NoHandlerError

_logger = logging.getLogger(__name__)

_NO_HANDLER_ADVICE: Final = (
    "The job is discarded. Deploy a worker that has its handler, then run: ojs-aws jobs retry"
)


@dataclass(frozen=True, slots=True)
class Succeeded:
    """Says that the job must be acknowledged."""

    result: RawJson | None


@dataclass(frozen=True, slots=True)
class Failed:
    """Says that the job must be failed with this error object.

    :ivar delay_ms: how long a retry waits; None for as long as the policy says.
    :ivar problem: what was raised.
    """

    error: dict[str, JsonValue]
    delay_ms: int | None = None
    problem: BaseException | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Snoozed:
    """Says that the job must be repeated later, and that the attempt does not count.

    :ivar problem: what was raised.
    """

    error: dict[str, JsonValue]
    delay_ms: int
    problem: SnoozeError | None = field(default=None, compare=False, repr=False)


Outcome: TypeAlias = Succeeded | Failed | Snoozed


class ResultError(TypeError):
    """Reports that the handler returned something that is not JSON."""


@dataclass(frozen=True, slots=True)
class Executor:
    """Executes jobs. All jobs share it; it keeps nothing between two.

    :ivar advice: what to do about a job without a handler, before the job's id; empty for nothing.
    :ivar missing_handler_wait_s: for how long a job without a handler is given back; 0 for not at
        all.
    :ivar obeys_interrupt: asked at a KeyboardInterrupt: whether the process ends in its own way.
    """

    registry: HandlerRegistry
    chain: ExecutionChain
    hooks: Hooks = field(default_factory=Hooks)
    advice: str = _NO_HANDLER_ADVICE
    missing_handler_wait_s: float = 0
    obeys_interrupt: Callable[[], bool] = lambda: False

    async def execute(self, ctx: JobContext) -> Outcome:
        """Execute the job of a context.

        :raises asyncio.CancelledError: the executing task was cancelled; nothing is to be
            reported.
        """
        current = CURRENT_JOB.set(ctx)
        handler: Handler | None = None
        try:
            handler = self.registry.find(ctx.job.type, ctx.job.get("version"))
            returned = await self._run_chain(handler, ctx)
            return Succeeded(self._result(returned, ctx))
        except asyncio.CancelledError as cancelled:
            if _is_being_cancelled():
                raise
            return self.failed(cancelled, ctx)
        except NoHandlerError as missing:  # no middleware has seen the job
            snooze = given_back(missing, ctx.job, self.missing_handler_wait_s)
            if snooze is not None:
                _logger.warning("%s", snooze, extra=ctx.log_fields)
                return self.failed(snooze, ctx)
            if self.advice:
                missing.args = (f"{missing} {self.advice} {ctx.job.id}",)
            _logger.error("%s", missing, extra=ctx.log_fields)
            return self.failed(missing, ctx)
        except BaseException as problem:  # whatever it is, the job failed
            if isinstance(problem, KeyboardInterrupt) and not self.obeys_interrupt():
                raise  # it is meant for the process
            return self.failed(problem, ctx, handler)
        finally:
            CURRENT_JOB.reset(current)

    async def _run_chain(self, handler: Handler, ctx: JobContext) -> object:
        async def innermost(*_: object) -> object:
            if self.hooks.has_execution():
                return await self._call_with_hooks(handler, ctx)
            return await self._call(handler, ctx)

        return await self.chain.run(ctx.job, ctx, innermost)

    async def _call_with_hooks(self, handler: Handler, ctx: JobContext) -> object:
        """Call the handler between ``work_begin`` and ``work_end``.

        What is no Exception, such as the cancellation by a timeout, is shown to the hooks, and
        nothing that they say changes it.
        """
        try:
            await self.hooks.work_begin(ctx.job, ctx)
            outcome = WorkOutcome(await self._call(handler, ctx))
        except Exception as problem:  # noqa: BLE001 - the hooks may make another outcome of it
            outcome = WorkOutcome(error=problem)
        except BaseException as problem:
            await self.hooks.work_end(ctx.job, ctx, WorkOutcome(error=problem))
            raise
        outcome = await self.hooks.work_end(ctx.job, ctx, outcome)
        if outcome.error is not None:
            raise outcome.error
        return outcome.result

    async def _call(self, handler: Handler, ctx: JobContext) -> object:
        """Call the handler with the arguments that the middleware left."""
        call = handler.bound_to(ctx)
        if handler.is_async:
            return await call()  # type: ignore[misc]
        returned = await in_thread(f"ojs-{ctx.job.type}", call)
        return await returned if inspect.isawaitable(returned) else returned

    def _result(self, returned: object, ctx: JobContext) -> RawJson | None:
        """Return what the chain returned, else what ``ctx.set_result`` set; else None."""
        value = ctx.result if returned is None else returned
        if value is None:
            return None
        try:
            check_native(value, "result")
        except Exception as problem:
            raise ResultError(f"The handler returned what JSON cannot say: {problem}") from problem
        return encode(value)  # type: ignore[arg-type]

    def failed(
        self, problem: BaseException, ctx: JobContext, handler: Handler | None = None
    ) -> Failed | Snoozed:
        """Return the outcome of a job whose execution raised something."""
        origin = ctx.failure_origin(problem)
        error = failure_of(problem, origin)
        if handler is not None and origin == HANDLER and handler.ends_with(problem):
            error["retryable"] = False
        if isinstance(problem, SnoozeError):
            return Snoozed(error, problem.delay_ms, problem)
        delay_ms = problem.delay_ms if isinstance(problem, JobError) else None
        return Failed(error, delay_ms, problem)


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


@dataclass(eq=False, slots=True)
class ActiveJob:
    """Holds one job of a worker, from the claim until its outcome is reported.

    :ivar job: the job as it was claimed, whatever middleware and handler make of theirs.
    :ivar reservation_id: what the backend calls the claim; empty where it gave none.
    :ivar gone: why the job was given up; empty while it is not.
    """

    ctx: JobContext
    reservation_id: str = ""
    gone: str = ""
    job: Job = field(init=False)
    _execution: asyncio.Task[Outcome] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Keep the job as it is now."""
        self.job = self.ctx.job.copy()

    async def execute(self, executor: Executor) -> Outcome | None:
        """Execute the job; return None if nothing is to be reported.

        It was given up meanwhile, or handed over to somebody who reports. A handler that cancels
        the task in which it runs has failed.
        """
        self._execution = asyncio.ensure_future(executor.execute(self.ctx))
        try:
            await asyncio.wait({self._execution})
        except asyncio.CancelledError:
            self.give_up("the worker ends")
            raise
        if self.gone:
            self.ctx.stop()
            return None
        await self.ctx.finish()
        try:
            outcome = self._execution.result()
        except asyncio.CancelledError as cancelled:
            return executor.failed(cancelled, self.ctx)
        is_theirs = self.ctx.is_handed_over and isinstance(outcome, Succeeded)
        return None if is_theirs else outcome

    def give_up(self, reason: str) -> bool:
        """Stop the handler. Does nothing once it has returned: then its outcome is reported.

        :returns: whether there was something to stop.
        """
        if self._execution is None or self._execution.done() or self.gone:
            return False
        self.gone = reason
        self.ctx.cancel(reason)
        self._execution.cancel()
        return True


class ActiveJobs:
    """Holds all the jobs of a worker, and waits until there is room."""

    def __init__(self) -> None:
        """Start without jobs."""
        self._jobs: dict[str, ActiveJob] = {}
        self._left = asyncio.Event()

    def add(self, active: ActiveJob) -> None:
        """Add a job. One that comes a second time was lost the first time."""
        earlier = self._jobs.get(active.job.id)
        if earlier is not None:
            earlier.give_up("reservation lost")
        self._jobs[active.job.id] = active

    def remove(self, active: ActiveJob) -> None:
        """Remove a job."""
        if self._jobs.get(active.job.id) is active:
            del self._jobs[active.job.id]
        left, self._left = self._left, asyncio.Event()
        left.set()

    def get(self, job_id: str) -> ActiveJob | None:
        """Return a job by its id."""
        return self._jobs.get(job_id)

    def ids(self) -> list[str]:
        """Return the ids of all jobs that have not been given up."""
        return [job_id for job_id, active in self._jobs.items() if not active.gone]

    def reservation_ids(self, job_ids: Iterable[str]) -> dict[str, str]:
        """Return the ids of some jobs' reservations, by job id, if known."""
        known = ((job_id, self._jobs.get(job_id)) for job_id in job_ids)
        return {
            job_id: active.reservation_id
            for job_id, active in known
            if active is not None and active.reservation_id
        }

    def one_left(self) -> Awaitable[object]:
        """Return an awaitable for the next job that leaves, counted from this call."""
        return self._left.wait()

    async def empty(self) -> None:
        """Wait until there are no jobs."""
        while self._jobs:
            await self._left.wait()

    def __len__(self) -> int:
        """Return how many jobs there are."""
        return len(self._jobs)

    def __iter__(self) -> Iterator[ActiveJob]:
        """Yield the jobs, as of now."""
        return iter(list(self._jobs.values()))


def about(job: Job) -> dict[str, object]:
    """Return the fields of a line about a job; its handler's lines have them from ``ctx.log``."""
    return {"job_id": job.id, "job_type": job.type, "queue": job.queue, "attempt": job.attempt}
