"""Runs each job as soon as it is enqueued, and gives its error to whoever enqueued it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ojs_aws.client.loop_thread import in_loop_thread
from ojs_aws.client.results import Stored
from ojs_aws.domain.job import JobRecord, JobState, Reservation
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.timestamps import Instant
from ojs_aws.middleware.chain.threads import in_thread
from ojs_aws.testing.backend import WORKER_ID, MemoryBackend
from ojs_aws.testing.transport import MemoryTransport

if TYPE_CHECKING:
    from ojs_aws.client.transports.answers import Answer
    from ojs_aws.client.transports.requests import RouteRequest
    from ojs_aws.domain.envelope import Job
    from ojs_aws.testing.executions import Execution, JobRunner

RUNNABLE = frozenset({JobState.AVAILABLE, JobState.SCHEDULED})


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
            if record.state in RUNNABLE and record.id not in self.begun:
                self.begun.add(record.id)
                return self.backend.call(self._claim, record)
        return None

    def _claim(self, record: JobRecord) -> JobRecord:
        now = self.backend.clock.now()
        services = self.backend.services
        store = services.ports.store
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
            id=services.ports.new_reservation_id(),
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
