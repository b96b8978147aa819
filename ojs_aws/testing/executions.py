"""Executes the jobs of one test as a worker does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from ojs_aws.client.timer import SystemTimer
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobState
from ojs_aws.services.jobs.render import render_job
from ojs_aws.testing.backend import WORKER_ID, MemoryBackend
from ojs_aws.testing.handlers import JobHandlers
from ojs_aws.typed_jobs.declarations import in_use, not_in_use, open_all
from ojs_aws.worker.directly import DirectReservations
from ojs_aws.worker.executor import ActiveJob, Failed, Outcome, ResultError, Snoozed, Succeeded
from ojs_aws.worker.job_logs import own_lines
from ojs_aws.worker.registry import NoHandlerError
from ojs_aws.worker.reports import Reporter
from ojs_aws.worker.reservations import WorkerContext
from ojs_aws.worker.typed_handlers import NewerArgumentsError

if TYPE_CHECKING:
    from ojs_aws.domain.errors import JsonValue
    from ojs_aws.domain.job import JobRecord

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Execution:
    """Says how one execution of a job ended.

    :ivar job: the job as it was claimed.
    :ivar outcome: ``completed``, ``failed``, ``snoozed`` or ``cancelled``.
    :ivar error: what the handler, or a middleware, raised; None where nothing is wrong.
    :ivar is_injected: it failed on purpose, by ``fail_next`` or ``fail_all``.
    :ivar failure: the error object that the backend got.
    """

    job: Job
    outcome: str
    error: BaseException | None = None
    is_injected: bool = False
    failure: dict[str, JsonValue] = field(default_factory=dict)

    @property
    def is_failure(self) -> bool:
        """Return True if it failed, and not on purpose.

        A job is snoozed that has arguments which its function does not take: a newer worker may
        know them. In a test there is none.
        """
        return self.error is not None and not self.is_injected

    def __str__(self) -> str:
        """Name the job, its arguments and the attempt, with the traceback of the error."""
        job = self.job
        of = f" of {job.max_attempts}" if job.max_attempts else ""
        first = f"{job.type} {job.id}, attempt {job.attempt}{of}, args={job.args!r}: {self.outcome}"
        if self.error is None:
            message = self.failure.get("message")
            return f"{first}: {message}" if message else first
        if isinstance(self.error, (NoHandlerError, NewerArgumentsError)):
            return f"{first}: {self.error}"
        error = self.error
        return f"{first}\n{own_lines(error)}"


class MemoryReservations(DirectReservations):
    """Reports to the backend of a test, without threads."""

    def __init__(self, memory: MemoryBackend, claimed: JobRecord) -> None:
        """Hold one claimed job."""
        super().__init__(memory.services, WORKER_ID, claimed=claimed, has_message=True)
        self._memory = memory

    async def _run(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a service here and now."""
        return self._memory.report(call, *args, **kwargs)


@dataclass(slots=True)
class JobRunner:
    """Executes jobs of a test, one by one.

    :ivar log: every execution so far.
    """

    backend: MemoryBackend
    handlers: JobHandlers
    log: list[Execution] = field(default_factory=list)

    def clear(self) -> None:
        """Forget the executions."""
        self.log.clear()

    async def run(
        self, record: JobRecord, opened: AsyncExitStack, *, is_final: bool = False
    ) -> Execution:
        """Execute a claimed job, and report its outcome.

        :param opened: closes what its worker would have opened.
        :param is_final: a failure ends the job, whatever its retry policy says.
        """
        await open_resources(self.handlers, record.type, opened)
        held = MemoryReservations(self.backend, record)
        members = render_job(record)
        kept, job = Job.from_members(members), Job.from_members(members)
        reservation_id = str(job.get("reservation_id") or "")
        ctx = WorkerContext(
            job,
            extend=held.extend,
            held=held,
            reservation_id=reservation_id,
            timer=SystemTimer(),
        )
        outcome = await ActiveJob(ctx, reservation_id).execute(self.handlers.executor())
        if is_final and isinstance(outcome, Failed):
            outcome.error["retryable"] = False
        if outcome is not None:
            await Reporter(SystemTimer()).report(held, kept, outcome, reservation_id)
        execution = self._execution(kept, outcome)
        self.log.append(execution)
        return execution

    def _execution(self, job: Job, outcome: Outcome | None) -> Execution:
        now = self.backend.record(job.id)
        if outcome is None or now is None or now.state is JobState.CANCELLED:
            return Execution(job, "cancelled")
        if isinstance(outcome, Succeeded):
            if now.state is JobState.COMPLETED:
                return Execution(job, "completed")
            refused = now.failures[-1].message if now.failures else f"It is {now.state}."
            return Execution(job, "failed", ResultError(refused))
        if isinstance(outcome, Snoozed):
            wrong = outcome.problem if isinstance(outcome.problem, NewerArgumentsError) else None
            return Execution(job, "snoozed", wrong, failure=outcome.error)
        is_injected = self.handlers.faults.is_injected(outcome.problem)
        return Execution(job, "failed", outcome.problem, is_injected, outcome.error)


async def open_resources(handlers: JobHandlers, job_type: str, opened: AsyncExitStack) -> None:
    """Open what the worker of a job would have opened, unless the test gives it.

    :param opened: closes them.
    """
    missing = not_in_use(handlers.resources_of(job_type))
    if not missing:
        return
    try:
        values = await open_all(missing, opened)
    except Exception as problem:
        problem.add_note(
            f"A resource for the job {job_type!r} could not be opened. In a test, give your own: "
            "with pool.use(value): ..."
        )
        raise
    opened.enter_context(in_use(values))
