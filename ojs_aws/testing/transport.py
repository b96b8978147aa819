"""Carries requests to the backend of a test, and runs jobs at once if the test asks for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from ojs_aws.client.loop_thread import in_loop_thread
from ojs_aws.client.results import Stored, WaitTimeoutError
from ojs_aws.client.transports.in_process import InProcessTransport, stored_of
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobRecord, JobState, Reservation, is_blocked
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.timestamps import Instant
from ojs_aws.middleware.synchronous import in_thread
from ojs_aws.testing.backend import WORKER_ID, MemoryBackend

if TYPE_CHECKING:
    from ojs_aws.client.transports.requests import Answer, RouteRequest
    from ojs_aws.domain.errors import TransactAction
    from ojs_aws.testing.executions import Execution, JobRunner

PATIENCE_S: Final = 0.2
"""How long somebody may wait for a job while nothing runs: another task may be about to drain."""
DRAIN_PATIENCE_S: Final = 2.0
"""How long somebody may wait while a drain runs jobs."""
_UNDONE: Final = frozenset(state for state in JobState if not state.is_terminal)
P = ParamSpec("P")
R = TypeVar("R")
RUNNABLE = frozenset({JobState.AVAILABLE, JobState.SCHEDULED})


class NothingRunsError(WaitTimeoutError):
    """Raised when a test waits for a job that nobody runs."""

    def __str__(self) -> str:
        """Say what to do."""
        return (
            f"Job {self.job.type} {self.job.id} is {self.job.state}, and in a test nothing runs by "
            "itself: call drain() before you wait for a result."
        )


class MemoryTransport(InProcessTransport):
    """Reaches the backend of a test. It answers as the HTTP API does."""

    def __init__(self, backend: MemoryBackend) -> None:
        """Reach this backend."""
        super().__init__(backend.services)
        self._memory = backend
        self._asked: dict[str, float] = {}

    async def _run(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the services here and now, after what follows from the calls before."""
        return self._memory.call(call, *args, **kwargs)

    async def push(self, job: Job) -> Stored:
        """Store one job."""
        self._note_time([job])
        self._check_size(job)
        return stored_of(self._memory.write(self._backend.jobs.push, job))

    async def push_all(self, jobs: Sequence[Job]) -> list[Stored]:
        """Store several jobs, all or none."""
        self._note_time(jobs)
        return await super().push_all(jobs)

    async def transact(self, job: Job) -> tuple[Stored, list[TransactAction]]:
        """Store one job now, as if the application's transaction had committed; nothing is left.

        There is no table that the application could write to.
        """
        return await self.push(job), []

    async def ask(self, request: RouteRequest) -> Answer:
        """Ask for an operation.

        :raises WaitTimeoutError: nobody has run a job whose result was asked for some time.
        """
        answer = await super().ask(request)
        if request.operation == "get_result" and answer.values.get("state") in _UNDONE:
            await self._check_patience(request.path["job_id"])
        return answer

    async def _check_patience(self, job_id: str) -> None:
        now = time.monotonic()
        patience_s = DRAIN_PATIENCE_S if self._memory.drains else PATIENCE_S
        if now - self._asked.setdefault(job_id, now) < patience_s:
            return
        del self._asked[job_id]
        raise NothingRunsError(await self.get(job_id), patience_s)

    def _note_time(self, jobs: Sequence[Job]) -> None:
        """Set the clock if jobs name a time of day, which they have from this machine's clock."""
        moments = (job.get(name) for job in jobs for name in ("scheduled_at", "expires_at"))
        if any(isinstance(moment, str) and not moment.startswith("+") for moment in moments):
            self._memory.catch_up()


@dataclass(slots=True)
class InlineRuns:
    """Executes the jobs that are new, one after the other; delays do not count.

    :ivar begun: ids of jobs that were executed, or are to be by another call.
    """

    backend: MemoryBackend
    runner: JobRunner
    begun: set[str] = field(default_factory=set)

    async def run_new(self) -> None:
        """Execute the new jobs, and those that follow from them, such as steps of a workflow.

        :raises Exception: whatever a handler raised; the jobs behind it stay as they are.
        """
        while (record := self._next()) is not None:
            execution = await self._run(record)
            if execution.error is not None:
                raise execution.error

    def _next(self) -> JobRecord | None:
        """Return the next new job, claimed."""
        for record in self.backend.records():
            is_runnable = record.state in RUNNABLE and not is_blocked(record)
            if is_runnable and record.id not in self.begun:
                self.begun.add(record.id)
                return self.backend.call(self._claim, record)
        return None

    def _claim(self, record: JobRecord) -> JobRecord:
        now = self.backend.clock.now()
        services = self.backend.services
        store = services.stores.store
        if record.state is JobState.SCHEDULED:
            kept = replace(record, expires_at=None)  # it is not over now, whatever its delay
            due = deadlines.settle_once(kept, Instant(record.scheduled_at or now))
            if due is not None:
                store.save(record, replace(due, enqueued_at=now, expires_at=record.expires_at))
        visibility_ms = record.visibility_timeout_ms or services.visibility.of(record.queue)
        timeout_ms = record.timeout_ms or services.default_timeout_ms
        reservation = Reservation(
            worker_id=WORKER_ID,
            expires_at=Instant(now + visibility_ms),
            execution_ends_at=Instant(now + timeout_ms),
            id=services.stores.new_reservation_id(),
            alive_until=None,
            message_handle="",
            message_job_id="",
        )
        return store.claim(record.queue, record.id, reservation, now)

    async def _run(self, record: JobRecord) -> Execution:
        """Execute a job here; in another loop, where this one serves synchronous callers.

        A handler that enqueues without ``await`` would wait for the loop that waits for it.
        """
        if not in_loop_thread():
            return await self._execute(record)
        # A thread of its own: those of a pool could all wait for jobs that wait for a thread.
        return await in_thread("ojs-inline", lambda: asyncio.run(self._execute(record)))

    async def _execute(self, record: JobRecord) -> Execution:
        async with AsyncExitStack() as opened:
            return await self.runner.run(record, opened, is_final=True)


class InlineTransport(MemoryTransport):
    """Reaches the backend of a test, and runs what is enqueued before it answers."""

    def __init__(self, backend: MemoryBackend, runner: JobRunner) -> None:
        """Reach this backend, and execute its jobs so."""
        super().__init__(backend)
        self._runs = InlineRuns(backend, runner)

    async def push(self, job: Job) -> Stored:
        """Store one job and run it.

        :raises Exception: whatever its handler raised.
        """
        stored = await super().push(job)
        await self._runs.run_new()
        return await self._now(stored)

    async def push_all(self, jobs: Sequence[Job]) -> list[Stored]:
        """Store several jobs, all or none, and run them."""
        stored = await super().push_all(jobs)
        await self._runs.run_new()
        return [await self._now(each) for each in stored]

    async def ask(self, request: RouteRequest) -> Answer:
        """Ask for an operation, and run the jobs that it made."""
        answer = await super().ask(request)
        await self._runs.run_new()
        return answer

    async def activate(self, job_id: str) -> Job:
        """Make a pending job available, and run it."""
        await super().activate(job_id)
        await self._runs.run_new()
        return await self.get(job_id)

    async def _now(self, stored: Stored) -> Stored:
        """Return what was stored with the job as it is now."""
        if stored.job is None:
            return stored
        return replace(stored, job=await self.get(stored.job.id))
