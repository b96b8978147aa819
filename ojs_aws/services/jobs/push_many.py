"""Enqueues many jobs by one request: each through the middleware, and stored together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import DuplicateError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.timestamps import Instant
from ojs_aws.middleware.chain.batch import Batch, StoreOne
from ojs_aws.middleware.enqueuer import Enqueuer
from ojs_aws.middleware.results import EnqueueResult, Stored, result_of
from ojs_aws.services.batches.errors import BatchFaults, at_index
from ojs_aws.services.jobs.build import CheckedJob, JobBuilder
from ojs_aws.services.jobs.new_jobs import NewJobs
from ojs_aws.services.jobs.push_result import PushResult, not_pushed, raise_swallowed, rejecting


@dataclass(slots=True)
class PushMany:
    """Tracks the jobs of one request. Used once.

    :ivar built: what is to be stored of each job: as the middleware left it, and its record.
    :ivar pushed: what became of the jobs that came through the middleware.
    """

    enqueuing: Enqueuer
    job_builder: JobBuilder
    new_jobs: NewJobs
    jobs: Sequence[Job]
    now: Instant
    checked: list[CheckedJob] = field(default_factory=list)
    built: dict[str, tuple[Job, JobRecord]] = field(default_factory=dict)
    pushed: dict[str, PushResult] = field(default_factory=dict)
    index_of: dict[str, int] = field(default_factory=dict)

    def complete(self) -> None:
        """Validate the envelopes, and give ids to those without.

        :raises OjsError: of the first job at fault, with what is wrong with the others.
        """
        faults = BatchFaults()
        for index, job in enumerate(self.jobs):
            with faults.at(index):
                self.checked.append(self.job_builder.complete(job, self.now))
        faults.raise_all()
        for index, job in enumerate(self.jobs):
            if job.id in self.index_of:
                raise _same_id(job, self.index_of[job.id], index)
            self.index_of[job.id] = index

    async def push(self) -> list[PushResult]:
        """Run the middleware and store the jobs, all or none.

        The chain of each job goes on after its ``call_next`` when the whole batch is stored.
        """
        with rejecting(""):
            results = await self.enqueuing.many(self.jobs, self._insert)
            raise_swallowed(results)
        return [self.pushed.get(result.id) or not_pushed(result) for result in results]

    async def _insert(self, jobs: Sequence[Job]) -> list[EnqueueResult]:
        """Insert the jobs that the batch middleware passed on."""
        return await Batch(self._enqueue_one, self._store, stops_at_failure=True).run(jobs)

    async def _enqueue_one(self, job: Job, store: StoreOne) -> EnqueueResult:
        """Run the chain of one job, which waits for the storing of all."""

        async def build_and_store(final: Job) -> Job | None:
            checked = self.checked[self.index_of[job.id]]
            self.built[job.id] = final, self.job_builder.record(final, self.now, checked)
            return (await store(final)).job

        with at_index(self.index_of[job.id]), rejecting(job.id):
            return result_of(job, *await self.enqueuing.one(job, build_and_store))

    async def _store(self, jobs: Sequence[Job]) -> list[Stored]:
        """Store all the jobs that came through their chains."""
        finals = [self.built[job.id][0] for job in jobs]
        records = [self.built[job.id][1] for job in jobs]
        stored = self.new_jobs.store_many(finals, records)
        self.pushed.update({job.id: one for job, one in zip(jobs, stored, strict=True)})
        return [Stored(job, one.is_new) for job, one in zip(jobs, stored, strict=True)]


def _same_id(job: Job, first: int, second: int) -> DuplicateError:
    return DuplicateError(
        f"Jobs at index {first} and {second} have the same id.",
        details={"index": second, "existing_job_id": job.id},
        existing=(job.queue, job.type),
    )
