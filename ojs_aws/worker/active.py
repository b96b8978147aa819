"""Tracks the jobs that a worker is executing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Iterator
from dataclasses import dataclass, field

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.context import JobContext
from ojs_aws.worker.executor import Executor, Outcome


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
        """Execute the job; return None if it was given up meanwhile: nothing is reported."""
        self._execution = asyncio.ensure_future(executor.execute(self.ctx))
        try:
            await asyncio.wait({self._execution})
        except asyncio.CancelledError:
            self.give_up("the worker ends")
            raise
        if self._execution.cancelled() or self.gone:
            self.ctx.stop()
            return None
        await self.ctx.finish()
        return self._execution.result()

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
