"""PUSH: validate, run the enqueue middleware, store, and send the message (core, section 7.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import DuplicateError, QueueFullError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.timestamps import Instant
from ojs_aws.middleware.enqueuer import Enqueuer
from ojs_aws.middleware.results import EnqueueResult, Stored
from ojs_aws.ports import AlreadyStoredError, Clock, JobStore, Limits
from ojs_aws.services.batches.errors import (
    BatchFaults,
    TransactionTooLargeError,
    at_index,
    check_count,
)
from ojs_aws.services.jobs.build import JobBuilder
from ojs_aws.services.jobs.idempotency import id_taken, is_same_envelope
from ojs_aws.services.jobs.messages import JobMessages
from ojs_aws.services.jobs.push_result import (
    PushResult,
    not_pushed,
    push_result_of,
    raise_swallowed,
    rejecting,
    result_of,
)

if TYPE_CHECKING:
    from ojs_aws.services.batches.push import BatchPush
    from ojs_aws.services.queues.backpressure import Backpressure
    from ojs_aws.services.unique.admit import Uniqueness
    from ojs_aws.services.unique.entries import WantedJob

MAX_TRANSACTION: Final = 100
"""Jobs, and locks of unique ones, that one DynamoDB transaction can hold; more go by a log."""


@dataclass(frozen=True, slots=True)
class Push:
    """Enqueues jobs: one conditional put, then one message.

    :ivar unique: what lets in jobs with a unique policy; asked for with the first of them.
    :ivar batching: what stores batches beyond one transaction; likewise.
    """

    store: JobStore
    job_messages: JobMessages
    clock: Clock
    limits: Callable[[], Limits]
    enqueuing: Enqueuer
    job_builder: JobBuilder
    unique: Callable[[], Uniqueness]
    batch_push: Callable[[], BatchPush]
    max_batch_jobs: int
    bounds: Backpressure

    def __call__(self, job: Job) -> PushResult:
        """Enqueue one job.

        A push that is repeated with the same id and the same envelope finds the job it made.

        :raises InvalidRequestError: a constraint of the envelope is broken; nothing is stored.
        :raises EnqueueRejectedError: a middleware or a hook raised an error of its own.
        :raises DuplicateError: another job has this id, or the same uniqueness key.
        """
        return self.through(job, self._store_one)

    def through(self, job: Job, store: Callable[[Job, JobRecord], PushResult]) -> PushResult:
        """Validate one job, and run the enqueue middleware around what stores it.

        :raises OjsError: as :meth:`__call__`, and whatever ``store`` raises.
        """
        now = self.clock.now()
        self.job_builder.complete(job, now)
        return self.enqueuing.run_sync(self._push(job, now, store))

    async def _push(
        self, job: Job, now: Instant, keep: Callable[[Job, JobRecord], PushResult]
    ) -> PushResult:
        pushed: list[PushResult] = []

        def store(final: Job) -> Job:
            pushed.append(keep(final, self.job_builder.record(final, now)))
            return final

        async def through(jobs: Sequence[Job]) -> list[EnqueueResult]:
            return [result_of(passed, *await self.enqueuing.one(passed, store)) for passed in jobs]

        with rejecting(job.id):
            [result] = await self.enqueuing.many([job], through)
            raise_swallowed([result])
        return pushed[0] if pushed else not_pushed(result)

    def for_many(self) -> Push:
        """The same, for many jobs of one request: what is asked of their queues is asked once."""
        job_builder = self.job_builder.for_many()
        return self if job_builder is self.job_builder else replace(self, job_builder=job_builder)

    def check(self, job: Job) -> JobRecord:
        """What PUSH would make of an envelope, before any middleware; nothing is stored.

        :raises OjsError: PUSH would refuse it.
        """
        return self.job_builder.record(job, self.clock.now())

    def _store_one(self, job: Job, record: JobRecord) -> PushResult:
        """Store a job, in a place of its own where its queue is bounded."""
        [pushed] = self._placed([record], lambda records: [self._keep_one(job, records[0])])
        return pushed

    def _placed(
        self,
        records: Sequence[JobRecord],
        store: Callable[[Sequence[JobRecord]], Sequence[PushResult]],
    ) -> list[PushResult]:
        """Store jobs in places of their queues. Those that are stored already need no place.

        :raises QueueFullError: there is no place for them, and they are not there.
        """
        try:
            return self._in_places(records, store)
        except QueueFullError:
            if not self._is_there(records):
                raise
            return list(store(records))

    def _is_there(self, records: Sequence[JobRecord]) -> bool:
        """Whether the first of the jobs is stored: then this request is a repeated one."""
        first = records[0].id
        if len(records) == 1 or len(records) + _unique_among(records) <= MAX_TRANSACTION:
            return self.store.load(first) is not None
        return bool(self.batch_push().rescue([first]))

    def _in_places(
        self,
        records: Sequence[JobRecord],
        store: Callable[[Sequence[JobRecord]], Sequence[PushResult]],
    ) -> list[PushResult]:
        """Store jobs while they have places; those that turn out not to be new give them back."""
        with self.bounds.places(records) as places:
            stored = store(places.records)
            places.give_back(
                index
                for index, pushed in enumerate(stored)
                if not pushed.is_new or pushed.is_duplicate or pushed.is_update
            )
        if not places.fills:
            return list(stored)
        return [
            replace(pushed, fill=places.fills.get(record.queue))
            for pushed, record in zip(stored, records, strict=True)
        ]

    def _keep_one(self, job: Job, record: JobRecord) -> PushResult:
        """One conditional put, one message; a transaction for a unique job."""
        if record.unique_key:
            return self._store_unique([job], [record])[0]
        try:
            self.store.insert(record)
        except AlreadyStoredError as taken:
            existing = self.same(record, taken.existing[0])
            self.job_messages.send_for([existing], self.clock.now())
            return PushResult(existing, is_new=False)
        self._note_limits([record])
        self.job_messages.send_for([record], self.clock.now())
        return PushResult(record)

    def _note_limits(self, records: Sequence[JobRecord]) -> None:
        """Let the limits that jobs bring be seen before any of them begins."""
        if any(record.limit is not None for record in records):
            from ojs_aws.services.limits.notes import note_limits  # noqa: PLC0415 - few jobs do

            note_limits(self.limits, records, self.clock.now())

    def all(self, jobs: Sequence[Job]) -> list[PushResult]:
        """Enqueue jobs, all or none; jobs that a middleware drops are left out.

        The chain of each job goes on after its ``call_next`` when the whole batch is stored.

        :raises PayloadTooLargeError: more jobs than a batch may have; nothing is stored.
        :raises OjsError: of the first job at fault, its index in the details, with what is wrong
            with the others; nothing is stored.
        """
        check_count(len(jobs), self.max_batch_jobs)
        now = self.clock.now()
        faults = BatchFaults()
        for index, job in enumerate(jobs):
            with faults.at(index):
                self.job_builder.complete(job, now)
        faults.raise_all()
        _check_ids(jobs)
        from ojs_aws.middleware.event_loop import run_in_loop  # noqa: PLC0415 - imports asyncio

        return run_in_loop(self.for_many()._push_all(jobs, now))  # noqa: SLF001 - ourselves

    async def _push_all(self, jobs: Sequence[Job], now: Instant) -> list[PushResult]:
        from ojs_aws.middleware.chain.batch import Batch, StoreOne  # noqa: PLC0415 - imports asyncio

        pushed: dict[str, PushResult] = {}
        finals: dict[str, Job] = {}
        index_of = {job.id: index for index, job in enumerate(jobs)}

        async def one(job: Job, store: StoreOne) -> EnqueueResult:
            async def checked(final: Job) -> Job | None:
                records[job.id], finals[job.id] = self.job_builder.record(final, now), final
                return (await store(final)).job

            with at_index(index_of[job.id]), rejecting(job.id):
                return result_of(job, *await self.enqueuing.one(job, checked))

        async def store_all(through: Sequence[Job]) -> list[Stored]:
            wanted = [records[job.id] for job in through]
            drafts = [finals[job.id] for job in through]

            def keep(marked: Sequence[JobRecord]) -> list[PushResult]:
                return self._store_batch(drafts, marked)

            stored = self._placed(wanted, keep)
            pushed.update({job.id: one for job, one in zip(through, stored, strict=True)})
            return [Stored(job, one.is_new) for job, one in zip(through, stored, strict=True)]

        async def through(passed: Sequence[Job]) -> list[EnqueueResult]:
            return await Batch(one, store_all, stops_at_failure=True).run(passed)

        records: dict[str, JobRecord] = {}
        with rejecting(""):
            results = await self.enqueuing.many(jobs, through)
            raise_swallowed(results)
        return [pushed.get(result.id) or not_pushed(result) for result in results]

    def _store_all(self, records: Sequence[JobRecord]) -> list[PushResult]:
        """One transaction, and the messages."""
        existing = self._insert_all(records)
        self._note_limits(records)
        self.job_messages.send_for(existing or records, self.clock.now())
        return [PushResult(record, is_new=not existing) for record in existing or records]

    def _insert_all(self, records: Sequence[JobRecord]) -> list[JobRecord]:
        """Store the jobs; the stored ones when the whole batch had been pushed before."""
        try:
            self.store.insert_all(records)
        except AlreadyStoredError as taken:
            found: dict[int, JobRecord] = {}
            for index, job in sorted(taken.existing.items()):
                with at_index(index):
                    found[index] = self.same(records[index], job)
            if len(found) < len(records):
                with at_index(min(found)):
                    raise id_taken(found[min(found)]) from None
            return [found[i] for i in range(len(records))]
        return []

    def _store_batch(self, jobs: Sequence[Job], records: Sequence[JobRecord]) -> list[PushResult]:
        """One transaction where the batch fits one; else a log that one record commits."""
        unique = _unique_among(records)
        if len(records) + unique > MAX_TRANSACTION:
            return push_result_of(self.batch_push().store_all(_wanted(jobs, records), self.same))
        if not unique:
            return self._store_all(records)
        try:
            return self._store_unique(jobs, records)
        except TransactionTooLargeError:
            return push_result_of(self.batch_push().store_all(_wanted(jobs, records), self.same))

    def _store_unique(self, jobs: Sequence[Job], records: Sequence[JobRecord]) -> list[PushResult]:
        """One transaction with the locks of unique jobs, and the messages.

        :raises TransactionTooLargeError: jobs that are replaced are too many for it.
        """
        lets = self.unique().admit(_wanted(jobs, records), self.same)
        self.job_messages.send_for(
            [let.record for let in lets if not let.is_duplicate and not let.is_update],
            self.clock.now(),
        )
        for let in lets:
            if let.replaced is not None:
                self.job_messages.delete_for(let.replaced)
        return push_result_of(lets)

    def same(self, wanted: JobRecord, existing: JobRecord) -> JobRecord:
        """The existing job, if it came from the same envelope.

        :raises DuplicateError: it did not.
        """
        whole = self.store.fill(existing)
        if not is_same_envelope(whole, wanted):
            raise id_taken(whole)
        return whole


def _wanted(jobs: Sequence[Job], records: Sequence[JobRecord]) -> list[WantedJob]:
    from ojs_aws.domain.uniqueness import parse_unique_policy  # noqa: PLC0415 - few jobs do
    from ojs_aws.services.unique.entries import WantedJob  # noqa: PLC0415

    return [
        WantedJob(record, parse_unique_policy(job.get("unique")) if record.unique_key else None)
        for job, record in zip(jobs, records, strict=True)
    ]


def _unique_among(records: Sequence[JobRecord]) -> int:
    return sum(bool(record.unique_key) for record in records)


def _check_ids(jobs: Sequence[Job]) -> None:
    seen: dict[str, int] = {}
    for index, job in enumerate(jobs):
        if job.id in seen:
            raise DuplicateError(
                f"Jobs at index {seen[job.id]} and {index} have the same id.",
                details={"index": index, "existing_job_id": job.id},
                existing=(job.queue, job.type),
            )
        seen[job.id] = index
