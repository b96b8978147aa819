"""PUSH: validate, run the enqueue middleware, store, and send the message (core, section 7.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from ojs_aws.domain import lifecycle
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import (
    DuplicateError,
    EnqueueRejectedError,
    InvalidRequestError,
    JsonValue,
    NotFoundError,
    OjsError,
    PayloadTooLargeError,
)
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.json_text import assemble
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.validation import Envelope, read_envelope
from ojs_aws.ports import AlreadyStoredError, Clock, IdGenerator, JobStore
from ojs_aws.services.waking import Waking

MAX_BATCH: Final = 100
"""Jobs that one DynamoDB transaction can hold."""


class Enqueuing(Protocol):
    """The enqueue middleware chain, as PUSH needs it."""

    def run_sync(self, job: Job, store: Callable[[Job], Job]) -> tuple[Job | None, str]:
        """Run the chain around ``store``; the stored job, or None and who dropped it."""


@dataclass(frozen=True, slots=True)
class QueueRules:
    """Which queues a job may be pushed to."""

    declared: frozenset[str]
    allow_undeclared: bool

    def check(self, queue: str) -> None:
        """Refuse a queue that is not declared.

        :raises NotFoundError: naming the queues there are.
        """
        if not self.allow_undeclared and queue not in self.declared:
            raise NotFoundError(
                f"There is no queue '{queue}'.",
                details={"queue": queue, "queues": [*sorted(self.declared)]},
                hint="Declare it (OJS_QUEUES), or allow queues to be created on first use.",
            )


@dataclass(frozen=True, slots=True)
class Pushed:
    """What became of one envelope.

    :ivar record: the stored job; None when a middleware dropped it.
    :ivar is_new: False when the very same envelope had been pushed before.
    :ivar dropped_by: name of the middleware that dropped the job.
    """

    record: JobRecord | None
    is_new: bool = True
    dropped_by: str = ""


@dataclass(frozen=True, slots=True)
class Push:
    """Enqueues jobs: one conditional put, then one message."""

    store: JobStore
    waking: Waking
    clock: Clock
    ids: IdGenerator
    chain: Enqueuing
    rules: QueueRules
    max_envelope_bytes: int
    default_timeout_ms: int

    def __call__(self, job: Job) -> Pushed:
        """Enqueue one job.

        A push that is repeated with the same id and the same envelope finds the job it made.

        :raises InvalidRequestError: a constraint of the envelope is broken; nothing is stored.
        :raises EnqueueRejectedError: a middleware raised an error of its own.
        :raises DuplicateError: another job has this id.
        """
        now = self.clock.now()
        pushed: list[Pushed] = []

        def store(final: Job) -> Job:
            pushed.append(self._store(self._record(final, now)))
            return final

        dropped_by = self._through_middleware(job, now, store)
        return pushed[0] if pushed else Pushed(None, is_new=False, dropped_by=dropped_by)

    def _store(self, record: JobRecord) -> Pushed:
        """One conditional put, one message."""
        try:
            self.store.insert(record)
        except AlreadyStoredError as taken:
            existing = self._same(record, taken.existing[0])
            self.waking.cover([existing], self.clock.now())
            return Pushed(existing, is_new=False)
        self.waking.cover([record], self.clock.now())
        return Pushed(record)

    def all(self, jobs: Sequence[Job]) -> list[Pushed]:
        """Enqueue up to 100 jobs, all or none; jobs that a middleware drops are left out.

        :raises OjsError: the first job at fault, its index in the details; nothing is stored.
        """
        if not 0 < len(jobs) <= MAX_BATCH:
            raise InvalidRequestError(
                f"A batch holds from 1 to {MAX_BATCH} jobs; received {len(jobs)}.",
                details={"field": "jobs", "received": len(jobs), "max_jobs": MAX_BATCH},
            )
        prepared = [self._at(index, job) for index, job in enumerate(jobs)]
        records = [record for record, _ in prepared if record is not None]
        self._check_ids(records)
        existing = self._insert_all(records)
        self.waking.cover(existing or records, self.clock.now())
        stored = iter(existing or records)
        return [
            Pushed(None, is_new=False, dropped_by=by)
            if record is None
            else Pushed(next(stored), is_new=not existing)
            for record, by in prepared
        ]

    def _at(self, index: int, job: Job) -> tuple[JobRecord | None, str]:
        try:
            return self._prepare(job)
        except OjsError as problem:
            problem.message = f"Job at index {index}: {problem.message}"
            problem.details["index"] = index
            raise

    def _check_ids(self, records: Sequence[JobRecord]) -> None:
        seen: dict[str, int] = {}
        for index, record in enumerate(records):
            if record.id in seen:
                raise DuplicateError(
                    f"Jobs at index {seen[record.id]} and {index} have the same id.",
                    details={"index": index, "existing_job_id": record.id},
                )
            seen[record.id] = index

    def _insert_all(self, records: Sequence[JobRecord]) -> list[JobRecord]:
        """Store the jobs; the stored ones when the whole batch had been pushed before."""
        if not records:
            return []
        try:
            self.store.insert_all(records)
        except AlreadyStoredError as taken:
            found = {i: self._same(records[i], job) for i, job in sorted(taken.existing.items())}
            missing = [i for i in range(len(records)) if i not in found]
            if missing:
                existing = found[min(found)]
                raise self._duplicate(existing.id) from None
            return [found[i] for i in range(len(records))]
        return []

    def _prepare(self, job: Job) -> tuple[JobRecord | None, str]:
        """The record of a batch's job; the batch is stored when every chain has ended."""
        now = self.clock.now()
        made: list[JobRecord] = []

        def build(final: Job) -> Job:
            made.append(self._record(final, now))
            return final

        dropped_by = self._through_middleware(job, now, build)
        return (made[0], "") if made else (None, dropped_by)

    def _through_middleware(self, job: Job, now: Instant, store: Callable[[Job], Job]) -> str:
        """Validate, then run the chain around ``store``; who dropped the job, if anybody did.

        :raises EnqueueRejectedError: a middleware raised an error of its own.
        """
        if not job.id:
            if "id" in job:
                read_envelope(job, now)
            job.id = self.ids.job_id()
        read_envelope(job, now)
        try:
            _, dropped_by = self.chain.run_sync(job, store)
        except OjsError:
            raise
        except Exception as problem:
            stored: list[JsonValue] = list(getattr(problem, "stored_job_ids", ()))
            raise EnqueueRejectedError(
                f"An enqueue middleware refused the job: {type(problem).__name__}: {problem}",
                details={"job_id": job.id, "stored_job_ids": stored},
            ) from problem
        return dropped_by

    def _record(self, job: Job, now: Instant) -> JobRecord:
        envelope = read_envelope(job, now)
        self.rules.check(envelope.queue)
        document = assemble(envelope.document)
        size = len(document.encode()) + len((envelope.retry_document or "").encode())
        if size > self.max_envelope_bytes:
            raise PayloadTooLargeError(
                f"The envelope has {size} bytes; at most {self.max_envelope_bytes} are accepted.",
                details={"size_bytes": size, "max_bytes": self.max_envelope_bytes},
                hint="Store the data elsewhere and send a reference to it.",
            )
        state = lifecycle.initial_state(
            envelope.scheduled_at, is_pending=envelope.is_pending, now=now
        )
        return self._new(envelope, state, now)

    def _new(self, envelope: Envelope, state: JobState, now: Instant) -> JobRecord:
        return JobRecord(
            id=envelope.id,
            type=envelope.type,
            queue=envelope.queue,
            state=state,
            priority=envelope.priority,
            attempt=0,
            version=1,
            order=self.clock.order(),
            document=assemble(envelope.document),
            timeout_ms=envelope.timeout_ms or self.default_timeout_ms,
            visibility_timeout_ms=envelope.visibility_timeout_ms,
            created_at=now,
            enqueued_at=now if state is JobState.AVAILABLE else None,
            scheduled_at=envelope.scheduled_at,
            expires_at=envelope.expires_at,
            retry=envelope.retry,
            retry_document=envelope.retry_document,
        )

    def _same(self, wanted: JobRecord, existing: JobRecord) -> JobRecord:
        """The existing job, if it came from the same envelope."""
        whole = self.store.fill(existing)
        if _envelope_of(whole) != _envelope_of(wanted):
            raise self._duplicate(wanted.id)
        return whole

    def _duplicate(self, job_id: str) -> DuplicateError:
        return DuplicateError(
            f"A job with the id '{job_id}' already exists.",
            details={"existing_job_id": job_id},
            hint="Give each job an id of its own, or leave the id out.",
        )


def _envelope_of(job: JobRecord) -> tuple[object, ...]:
    return job.type, job.queue, job.retry_document, job.document
