"""Implements PUSH of one job or many: validate, run the middleware, store, send (core, 7.1).

One job goes the short way that :class:`Push` shows. Many jobs of one request go together
(``push_many``). Both end in ``new_jobs``, which takes places of bounded queues and stores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from ojs_aws.domain.attributes import at_index
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import DuplicateError, TenantLimitError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.batches import BatchFaults, check_count
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant
from ojs_aws.middleware.chain import run_coroutine
from ojs_aws.middleware.chain.batch import Batch, StoreOne
from ojs_aws.middleware.enqueuer import Enqueuer
from ojs_aws.middleware.results import EnqueueResult, Stored, result_of
from ojs_aws.services.jobs.build import CheckedJob, JobBuilder
from ojs_aws.services.jobs.new_jobs import NewJobs
from ojs_aws.services.jobs.render import PushResult, not_pushed, raise_swallowed, rejecting

if TYPE_CHECKING:
    from ojs_aws.services.fairness import FairPlaces
    from ojs_aws.services.tenants.enqueue_limits import TenantEnqueueLimits

StoreJob: TypeAlias = Callable[[Job, JobRecord], PushResult]
"""Stores a job that came through the middleware."""


@dataclass(slots=True)
class _OneJob:
    """Builds and stores one job, once the middleware calls it with the job."""

    operation: Push
    now: Instant
    checked: CheckedJob
    store: StoreJob
    pushed: PushResult | None = None

    def __call__(self, final: Job) -> Job:
        """Store the job as the middleware left it."""
        record = self.operation.job_builder.record(final, self.now, self.checked)
        if record.tenant:
            self.operation.admit([record])
        if record.fairness is not None:
            [record] = self.operation.placed([record])
        self.pushed = self.store(final, record)
        return final


@dataclass(frozen=True, slots=True)
class Push:
    """Enqueues jobs: one conditional put, then one message."""

    clock: Clock
    enqueuing: Enqueuer
    job_builder: JobBuilder
    new_jobs: NewJobs
    max_batch_jobs: int
    tenant_limits: Callable[[], TenantEnqueueLimits]
    places: Callable[[], FairPlaces]
    limits_all_tenants: bool = False

    def __call__(self, job: Job, store: StoreJob | None = None) -> PushResult:
        """Enqueue one job.

        A push that is repeated with the same id and the same envelope finds the job it made.

        :param store: takes the job that came through the middleware; by default it is stored.
        :raises InvalidRequestError: a constraint of the envelope is broken; nothing is stored.
        :raises EnqueueRejectedError: a middleware or a hook raised an error of its own.
        :raises DuplicateError: another job has this id, or the same uniqueness key.
        :raises TenantLimitError: its tenant has reached a limit; nothing is stored.
        """
        now = self.clock.now()
        checked = self.job_builder.complete(job, now)
        store = store or self.new_jobs.store_one
        one = _OneJob(self, now, checked, store)
        return run_coroutine(self._enqueue(job, one), never_waits=self.enqueuing.never_waits)

    async def _enqueue(self, job: Job, one: _OneJob) -> PushResult:
        """Run the enqueue middleware around what stores the job."""
        with rejecting(job.id):
            result = await self.enqueuing.single(job, one)
            raise_swallowed([result])
        return one.pushed or not_pushed(result)

    def admit(self, records: Sequence[JobRecord]) -> None:
        """Let the tenants of new jobs enqueue them; a request that is repeated may pass.

        :raises TenantLimitError: a tenant has reached a limit; nothing is stored.
        """
        builder = self.job_builder
        by_tenant: dict[str, list[JobRecord]] = {}
        has_own: set[str] = set()
        for record in () if builder.is_internal else records:
            if not record.tenant:
                continue
            is_set = builder.settings.of(record.queue).has_tenants
            if is_set or self.limits_all_tenants:
                by_tenant.setdefault(record.tenant, []).append(record)
                has_own |= {record.tenant} if is_set else set()
        try:
            for tenant, own in by_tenant.items():
                tenants = builder.tenants()
                settings = tenants.of(tenant) if tenant in has_own else tenants.of_all
                self.tenant_limits().admit(tenant, settings, own)
        except TenantLimitError:
            if not self.new_jobs.is_there(records):
                raise

    def placed(self, records: Sequence[JobRecord]) -> list[JobRecord]:
        """Return new jobs, those of fair queues with their places.

        A job that names a key or a weight makes its queue fair if it is not.
        """
        fair = {record.queue for record in records if record.fairness is not None}
        for queue in fair:
            self.job_builder.settings.make_fair(queue)
        those = [at for at, record in enumerate(records) if record.queue in fair]
        placed = [*records]
        for at, record in zip(
            those, self.places().place_all([records[at] for at in those]), strict=True
        ):
            placed[at] = record
        return placed

    def all(self, jobs: Sequence[Job]) -> list[PushResult]:
        """Enqueue jobs, all or none; jobs that a middleware drops are left out.

        The chain of each job goes on after its ``call_next`` when the whole batch is stored.

        :raises PayloadTooLargeError: more jobs than a batch may have; nothing is stored.
        :raises OjsError: of the first job at fault, its index in the details, with what is wrong
            with the others; nothing is stored.
        """
        check_count(len(jobs), self.max_batch_jobs)
        # Batches alone need asyncio, whose import takes long.
        from ojs_aws.middleware.synchronous import run_in_loop

        many = PushMany(self.for_many(), jobs, self.clock.now())
        many.complete()
        return run_in_loop(many.push())

    def for_many(self) -> Push:
        """Return a copy for many jobs of one request, which reads each queue's settings once."""
        job_builder = self.job_builder.for_many()
        return self if job_builder is self.job_builder else replace(self, job_builder=job_builder)

    def check(self, job: Job) -> JobRecord:
        """Return the job that PUSH would make of an envelope without middleware; nothing is stored.

        :raises OjsError: PUSH would refuse it.
        """
        return self.job_builder.record(job, self.clock.now())


@dataclass(slots=True)
class PushMany:
    """Tracks the jobs of one request. Used once.

    :ivar operation: PUSH, which reads each queue's settings once for all of them.
    :ivar built: what is to be stored of each job: as the middleware left it, and its record.
    :ivar pushed: what became of the jobs that came through the middleware.
    """

    operation: Push
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
                self.checked.append(self.operation.job_builder.complete(job, self.now))
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
            results = await self.operation.enqueuing.many(self.jobs, self._insert)
            raise_swallowed(results)
        return [self.pushed.get(result.id) or not_pushed(result) for result in results]

    async def _insert(self, jobs: Sequence[Job]) -> list[EnqueueResult]:
        """Insert the jobs that the batch middleware passed on."""
        return await Batch(self._enqueue_one, self._store, stops_at_failure=True).run(jobs)

    async def _enqueue_one(self, job: Job, store: StoreOne) -> EnqueueResult:
        """Run the chain of one job, which waits for the storing of all."""

        async def build_and_store(final: Job) -> Job | None:
            checked = self.checked[self.index_of[job.id]]
            self.built[job.id] = final, self.operation.job_builder.record(final, self.now, checked)
            return (await store(final)).job

        with at_index(self.index_of[job.id]), rejecting(job.id):
            return result_of(job, *await self.operation.enqueuing.one(job, build_and_store))

    async def _store(self, jobs: Sequence[Job]) -> list[Stored]:
        """Store all the jobs that came through their chains."""
        finals = [self.built[job.id][0] for job in jobs]
        records = [self.built[job.id][1] for job in jobs]
        self.operation.admit(records)
        if any(record.fairness is not None for record in records):
            records = self.operation.placed(records)
        stored = self.operation.new_jobs.store_many(finals, records)
        self.pushed.update({job.id: one for job, one in zip(jobs, stored, strict=True)})
        return [Stored(job, one.is_new) for job, one in zip(jobs, stored, strict=True)]


def _same_id(job: Job, first: int, second: int) -> DuplicateError:
    from ojs_aws.domain.tenants import tenant_of  # few requests have this fault

    return DuplicateError(
        f"Jobs at index {first} and {second} have the same id.",
        details={"index": second, "existing_job_id": job.id},
        existing=(job.queue, job.type, tenant_of(job)),
    )
