"""Jobs of which others take some first, and a round of FETCH over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.adapters.dynamodb.limits import Limits
from ojs_aws.adapters.dynamodb.queues.registry import QueueRegistry
from ojs_aws.adapters.sqs import MessageQueue
from ojs_aws.domain.conflicts import StaleJobError
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import JobRecord, JobState, Reservation
from ojs_aws.domain.jobs.lists import Head, JobList, ListedJob, Page
from ojs_aws.domain.limits import Bucket
from ojs_aws.domain.queues import ReceivedMessage
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.jobs.fetch.candidates import QueueSnapshot
from ojs_aws.services.jobs.fetch.job_claims import ClaimOptions, JobClaims
from ojs_aws.services.limits.check import LimitCheck
from ojs_aws.services.stored_jobs.change import JobChanger
from ojs_aws.services.stored_jobs.messages import JobMessages, message_of
from ojs_aws.testing.deployment import FakeClock
from tests.contract.test_job_store import NOW, a_job, a_reservation

LENGTH_MS = 30_000


@dataclass
class Jobs:
    """Stands for the table and SQS: each write meets what the test says."""

    jobs: dict[str, JobRecord] = field(default_factory=dict)
    pages: list[Page] = field(default_factory=list)
    clock: FakeClock = field(default_factory=lambda: FakeClock(NOW))
    claims: list[str] = field(default_factory=list)
    reads: list[tuple[str, ...]] = field(default_factory=list)
    listings: list[str] = field(default_factory=list)
    hidden: dict[str, int] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    is_refusing: bool = False
    contested: set[str] = field(default_factory=set)
    heads: list[tuple[str, int]] = field(default_factory=list)
    receipts: list[tuple[str, int, int, int]] = field(default_factory=list)
    broken: dict[str, Exception] = field(default_factory=dict)
    unreadable: dict[str, OjsError] = field(default_factory=dict)
    look_ms: int = 0

    def add(self, *jobs: JobRecord) -> None:
        self.jobs |= {job.id: job for job in jobs}

    # what the table does
    def claim(
        self,
        _queue: str,
        job_id: str,
        reservation: Reservation,
        now: Instant,
        sort_key: str,
        _shard: int = 0,
    ) -> JobRecord:
        self.claims.append(job_id)
        if job_id in self.contested:
            self.jobs[job_id] = taken(self.jobs[job_id])
        job = self.jobs.get(job_id)
        if self.is_refusing:
            raise StaleJobError(job)
        if job is None or job.state is not JobState.AVAILABLE or job.ready_key != sort_key:
            raise StaleJobError(job)
        return self._begun(job, reservation, now)

    def claim_within(
        self, job: JobRecord, reservation: Reservation, _takes: object, now: Instant
    ) -> JobRecord:
        self.claims.append(job.id)
        return self._begun(job, reservation, now)

    def _begun(self, job: JobRecord, reservation: Reservation, now: Instant) -> JobRecord:
        begun = replace(job, state=JobState.ACTIVE, attempt=1, started_at=now)
        self.jobs[job.id] = replace(begun, reservation=reservation)
        return self.jobs[job.id]

    def load_with_buckets(
        self, job_id: str, keys: Sequence[str]
    ) -> tuple[JobRecord | None, Mapping[str, Bucket]]:
        return self.jobs.get(job_id), {key: Bucket(key=key) for key in keys}

    def load(self, job_id: str) -> JobRecord | None:
        self.reads.append((job_id,))
        return self.jobs.get(job_id)

    def load_many(self, job_ids: Sequence[str]) -> dict[str, JobRecord]:
        self.reads.append(tuple(job_ids))
        return {job_id: self.jobs[job_id] for job_id in job_ids if job_id in self.jobs}

    def save(self, _before: JobRecord, after: JobRecord) -> JobRecord:
        self.jobs[after.id] = after
        return after

    def place_of(self, row: ListedJob, _name: JobList) -> str:
        return f"behind {row.id}"

    def listed(self, _queue: str, _name: JobList, _limit: int, *, cursor: str, **_: Any) -> Page:
        self.listings.append(cursor)
        return self.pages.pop(0)

    def head(self, queue: str, limit: int) -> Head:
        self.heads.append((queue, limit))
        self.clock.advance(ms=self.look_ms)
        if queue in self.broken:
            raise self.broken[queue]
        ready = [job for job in self.jobs.values() if job.queue == queue]
        rows = [row_of(job) for job in ready if job.state is JobState.AVAILABLE]
        return Head(tuple(sorted(rows, key=lambda row: row.sort_key)[:limit]))

    def due(self, *_: object) -> Page:
        return Page(())

    def fill_many(self, jobs: Sequence[JobRecord]) -> list[JobRecord | OjsError]:
        return [self.unreadable.get(job.id, job) for job in jobs]

    # what SQS does
    def receive(
        self, queue: str, limit: int, visibility_s: int, wait_s: int
    ) -> list[ReceivedMessage]:
        self.receipts.append((queue, limit, visibility_s, wait_s))
        return []

    def hide(self, _queue: str, handles: Sequence[tuple[str, int]]) -> None:
        self.hidden |= dict(handles)

    def delete(self, _queue: str, handles: Sequence[str]) -> None:
        self.deleted += handles


def claims_of(
    table: Jobs,
    *hands: ReceivedMessage,
    limiting: LimitCheck | None = None,
    now: Instant = NOW,
    **terms: Any,
) -> JobClaims:
    """Begin a round of queue ``default``, with some messages in hand."""
    usual: dict[str, Any] = {
        "queue": "default",
        "worker_id": "w",
        "visibility_timeout_ms": LENGTH_MS,
        "default_visibility_ms": LENGTH_MS,
        "timeout_ms": 60_000,
        "message_visibility_s": LENGTH_MS // 1000,
        "new_reservation_id": lambda: "r",
    }
    changer = JobChanger(cast("JobStore", table), table.clock)
    messages = JobMessages(cast("MessageQueue", table), cast("QueueRegistry", None))
    limits = cast("Limits", None)
    limiting = limiting or LimitCheck("default")
    options = ClaimOptions(**{**usual, **terms})
    return JobClaims(changer, messages, options, now, [*hands], limiting, lambda: limits)


def message(job: JobRecord, count: int = 1) -> ReceivedMessage:
    """The message of a job, in hand."""
    return ReceivedMessage(message_of(job), f"handle of {job.id}", count)


def row_of(job: JobRecord) -> ListedJob:
    """The row of a ready job."""
    return ListedJob(
        id=job.id,
        queue=job.queue,
        sort_key=job.ready_key,
        state=JobState.AVAILABLE,
        type=job.type,
        timeout_ms=job.timeout_ms,
        visibility_timeout_ms=job.visibility_timeout_ms,
    )


def look_at(*jobs: JobRecord, is_partial: bool = False) -> QueueSnapshot:
    """What the head shows."""
    return QueueSnapshot(Head(tuple(map(row_of, jobs))), Page(()), is_partial=is_partial)


def some_jobs(count: int, first: int = 1, **more: Any) -> list[JobRecord]:
    """Ready jobs in the order of their numbers."""
    return [a_job(number, **more) for number in range(first, first + count)]


def taken(job: JobRecord) -> JobRecord:
    """The same job in another worker's hands."""
    return replace(job, state=JobState.ACTIVE, attempt=1, reservation=a_reservation("other"))
