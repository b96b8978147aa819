"""Stores new jobs within the capacity of their queues and under their uniqueness keys.

Recognises a push that was sent again because its client got no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from ojs_aws.domain.attributes import at_index
from ojs_aws.domain.conflicts import AlreadyStoredError, TransactionTooLargeError, id_taken
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import QueueFullError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import RawJson, decode, stored_texts
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant, parse_timestamp
from ojs_aws.services.jobs.render import PushResult, push_result_of, settled
from ojs_aws.services.queues.backpressure import Backpressure, Capacity
from ojs_aws.services.stored_jobs.messages import JobMessages

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.adapters.dynamodb.limits import Limits
    from ojs_aws.services.batches import BatchPush
    from ojs_aws.services.unique import WantedJob
    from ojs_aws.services.unique.admit import Uniqueness

MAX_TRANSACTION: Final = 100
"""Jobs, and locks of unique ones, that one DynamoDB transaction can hold; more go by a log."""

_INSTANTS: Final = frozenset({"scheduled_at", "expires_at"})


@dataclass(frozen=True, slots=True)
class NewJobs:
    """Stores the jobs that PUSH made of envelopes, and sends their messages.

    :ivar unique: admits jobs with a unique policy; made with the first of them.
    :ivar batch_push: stores batches beyond one transaction; likewise.
    """

    store: JobStore
    job_messages: JobMessages
    clock: Clock
    limits: Callable[[], Limits]
    unique: Callable[[], Uniqueness]
    batch_push: Callable[[], BatchPush]
    backpressure: Backpressure

    def store_one(self, job: Job, record: JobRecord) -> PushResult:
        """Store one job within its queue's capacity: one conditional put, then one message.

        A unique job takes a transaction. A push that is repeated finds the job that it made.
        """
        with self._capacity([record]) as capacity:
            [record] = capacity.records
            if record.unique_key or record.sequence:
                return settled(capacity, self._store_unique([job], [record]))[0]
            try:
                self.store.insert(record)
            except AlreadyStoredError as taken:
                existing = self.same(record, taken.existing[0])
                self.job_messages.send_for([existing], self.clock.now())
                pushed = PushResult(existing, is_new=False)
            else:
                self.send_for([record])
                pushed = PushResult(record)
            return settled(capacity, [pushed])[0]

    def store_many(self, jobs: Sequence[Job], records: Sequence[JobRecord]) -> list[PushResult]:
        """Store jobs in places of their queues, all or none.

        One transaction stores them where it has room; else a log, which one record commits.
        """
        with self._capacity(records) as capacity:
            records = capacity.records
            unique, is_sequenced = _unique_among(records), any(each.sequence for each in records)
            if is_sequenced:
                pushed = self._store_sequenced(jobs, records)
            elif len(records) + unique > MAX_TRANSACTION:
                pushed = self._store_by_log(jobs, records)
            elif not unique:
                pushed = self._store_all(records)
            else:
                try:
                    pushed = self._store_unique(jobs, records)
                except TransactionTooLargeError:
                    pushed = self._store_by_log(jobs, records)
            return settled(capacity, pushed)

    @contextmanager
    def _capacity(self, records: Sequence[JobRecord]) -> Iterator[Capacity]:
        """Hold capacity of bounded queues for jobs; those that are stored already need none.

        :raises QueueFullError: there is no capacity for them, and they are not stored.
        """
        with ExitStack() as held:
            try:
                capacity = held.enter_context(self.backpressure.capacity(records))
            except QueueFullError:
                if not self.is_there(records):
                    raise
                capacity = Capacity(records)
            yield capacity

    def is_there(self, records: Sequence[JobRecord]) -> bool:
        """Return True if the first of the jobs is stored: then this request is a repeated one."""
        first = records[0].id
        if _actions_of(records) <= MAX_TRANSACTION:
            return self.store.load(first) is not None
        return bool(self.batch_push().rescue([first]))

    def _store_all(self, records: Sequence[JobRecord]) -> list[PushResult]:
        """Store jobs by one transaction, and send the messages."""
        existing = self._insert_all(records)
        self.send_for(existing or records)
        return [PushResult(record, is_new=not existing) for record in existing or records]

    def _insert_all(self, records: Sequence[JobRecord]) -> list[JobRecord]:
        """Store the jobs; return the stored ones when the whole batch had been pushed before."""
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

    def _store_sequenced(
        self, jobs: Sequence[Job], records: Sequence[JobRecord]
    ) -> list[PushResult]:
        """Store jobs of which some are part of sequences.

        Which way they go follows from the request alone, so that a repeated one goes the same way.

        :raises PayloadTooLargeError: unique jobs of sequences are too many for one transaction.
        """
        needed = _actions_of(records)
        if needed <= MAX_TRANSACTION:
            try:
                return self._store_unique(jobs, records)
            except TransactionTooLargeError as error:
                needed = error.actions
        if any(record.unique_key and record.sequence for record in records):
            from ojs_aws.domain.sequences import too_many  # hardly any jobs are

            raise too_many(needed, MAX_TRANSACTION)
        return self._store_by_log(jobs, records)

    def _store_by_log(self, jobs: Sequence[Job], records: Sequence[JobRecord]) -> list[PushResult]:
        """Store jobs that are too many for one transaction."""
        return push_result_of(self.batch_push().store_all(_wanted(jobs, records), self.same))

    def _store_unique(self, jobs: Sequence[Job], records: Sequence[JobRecord]) -> list[PushResult]:
        """Store jobs with the locks of unique ones by one transaction, and send the messages.

        :raises TransactionTooLargeError: jobs that are replaced are too many for it.
        """
        admitted = self.unique().admit(_wanted(jobs, records), self.same)
        self.send_for(
            [each.record for each in admitted if not each.is_duplicate and not each.is_update]
        )
        self._note_limits([each.record for each in admitted if each.is_update])
        for each in admitted:
            if each.replaced is not None:
                self.job_messages.end_reservation(each.replaced, self.clock.now())
        return push_result_of(admitted)

    def send_for(self, records: Sequence[JobRecord]) -> None:
        """Send the messages of jobs that were stored, once the limits that they bring are seen."""
        self._note_limits(records)
        self.job_messages.send_for(records, self.clock.now())

    def send_late(self, record: JobRecord) -> bool:
        """Send the message of a job that an application's own transaction stored.

        :returns: False when it is not certain to be sent: then again.
        """
        self._note_limits([record])
        return self.job_messages.send_late(record, self.clock.now())

    def _note_limits(self, records: Sequence[JobRecord]) -> None:
        """Let the limits that jobs bring be seen before any of them begins."""
        if any(record.limit is not None for record in records):
            from ojs_aws.services.limits.check import note_limits  # few jobs do

            note_limits(self.limits, records, self.clock.now())

    def same(self, wanted: JobRecord, existing: JobRecord) -> JobRecord:
        """Return the existing job, if it came from the same envelope.

        :raises DuplicateError: it did not.
        """
        whole = self.store.fill(existing)
        if not is_same_envelope(whole, wanted):
            raise id_taken(whole)
        return whole


def _wanted(jobs: Sequence[Job], records: Sequence[JobRecord]) -> list[WantedJob]:
    from ojs_aws.domain.unique.keys import parse_unique_policy  # few jobs do
    from ojs_aws.services.unique import WantedJob

    return [
        WantedJob(record, parse_unique_policy(job.get("unique")) if record.unique_key else None)
        for job, record in zip(jobs, records, strict=True)
    ]


def _actions_of(records: Sequence[JobRecord]) -> int:
    """Return how many items a transaction that stores jobs writes, without replaced ones."""
    needed = len(records) + _unique_among(records)
    if any(record.sequence for record in records):
        from ojs_aws.domain.sequences import actions_of  # few jobs are part of one

        needed += actions_of(records)
    return needed


def _unique_among(records: Sequence[JobRecord]) -> int:
    return sum(bool(record.unique_key) for record in records)


def is_same_envelope(stored: JobRecord, wanted: JobRecord) -> bool:
    """Return whether a new job is the stored one, sent again.

    A relative timestamp (``+PT10S``) is kept as what it came to mean, and means a later instant
    the second time: by as much later as the second push came.

    :param stored: with its document filled in, and ``wanted`` likewise.
    """
    if (stored.type, stored.queue) != (wanted.type, wanted.queue):
        return False
    if not _is_same_retry(stored, wanted):
        return False
    later = wanted.created_at - stored.created_at
    is_shifted = all(
        _is_shifted(_written(stored, name), _written(wanted, name), later) for name in _INSTANTS
    )
    return is_shifted and _timeless(stored) == _timeless(wanted)


def _is_same_retry(stored: JobRecord, wanted: JobRecord) -> bool:
    """Return whether the client sent the same retry policy; the queue's default may differ now."""
    if stored.retry_document == wanted.retry_document:
        return True
    return _own_retry(stored) == _own_retry(wanted)


def _own_retry(job: JobRecord) -> RawJson | None:
    return None if job.is_retry_queues else job.retry_document


def _written(job: JobRecord, name: str) -> Instant | None:
    """Return the instant that the client sent; a limit or an operator may have changed it."""
    raw = _texts(job).get(name)
    return None if raw is None else parse_timestamp(decode(raw), name)


def _is_shifted(stored: Instant | None, wanted: Instant | None, later: int) -> bool:
    if stored is None or wanted is None:
        return stored is wanted
    return wanted - stored in {0, later}


def _timeless(job: JobRecord) -> list[tuple[str, str]]:
    """Return the members of the document except for the instants."""
    return [(name, raw) for name, raw in _texts(job).items() if name not in _INSTANTS]


def _texts(job: JobRecord) -> dict[str, RawJson]:
    """Return the members of a document that is in the job's item, each as its own text."""
    return stored_texts(cast("RawJson", job.document))
