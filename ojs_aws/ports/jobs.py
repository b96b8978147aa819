"""The store of jobs, and the lists of its index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from ojs_aws.domain.attempts import ANY_ATTEMPT, AttemptRef
from ojs_aws.domain.job import Document, JobRecord, JobState, Reservation
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.limits.rules import Bucket
from ojs_aws.domain.timestamps import Instant


class JobList(StrEnum):
    """The lists that the index keeps for each queue."""

    READY = "ready"
    WAITING = "waiting"
    PENDING = "pending"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    DISCARDED = "discarded"
    DEAD_LETTER = "dead_letter"
    """Discarded jobs whose policy keeps them for an operator; not in ``discarded``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedJob:
    """One row of the index: enough to claim or arm a job without reading it.

    :ivar sort_key: place within its list; smaller comes first.
    :ivar is_far: waits for an instant that was beyond the reach of an SQS delay when the job
        began to wait, so that nobody but the sweep sends its message.
    :ivar priority: of a job that waits, where its row tells it.
    """

    id: str
    queue: str
    sort_key: str
    state: JobState
    type: str
    timeout_ms: int | None
    visibility_timeout_ms: int | None
    is_far: bool = False
    priority: int | None = None

    @property
    def due(self) -> Instant:
        """When a row of the waiting list is due."""
        return Instant(int(self.sort_key))


@dataclass(frozen=True, slots=True)
class Head:
    """The first ready jobs of a queue, in fetch order, and whether the queue is paused.

    :ivar limit: the policy that limits the whole queue, as JSON text; empty for none.
    :ivar visibility_timeout_ms: reservation length that the queue's settings name, if they do.
    """

    jobs: tuple[ListedJob, ...]
    is_paused: bool = False
    limit: str = ""
    visibility_timeout_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Between:
    """A range of instants, both ends included."""

    since: Instant
    until: Instant


@dataclass(frozen=True, slots=True)
class Count:
    """A number of rows; at least so many, where it is not exact."""

    rows: int
    is_exact: bool = True


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list. ``cursor`` is empty on the last page."""

    jobs: tuple[ListedJob, ...]
    cursor: str = ""


class StaleJobError(Exception):
    """A conditional write found the job changed since it was read.

    :ivar current: the job as the write found it, or None when there is none.
    """

    def __init__(self, current: JobRecord | None) -> None:
        """Keep what the write found."""
        super().__init__("the job has changed")
        self.current = current


class BucketTakenError(Exception):
    """A bucket of a limit has changed since it was read."""


class AlreadyStoredError(Exception):
    """An insert met ids that are taken.

    :ivar existing: the stored jobs by their position in the insert.
    """

    def __init__(self, existing: Mapping[int, JobRecord]) -> None:
        """Keep what the insert met."""
        super().__init__("the id is taken")
        self.existing = dict(existing)


class JobStore(Protocol):
    """Jobs. Each write is one conditional write (or one transaction), atomic.

    A write that took effect although its answer was lost is recognised when it is repeated, and
    answered as the success it was.
    """

    def insert(self, job: JobRecord) -> None:
        """Store a new job.

        :raises AlreadyStoredError: its id is taken.
        """

    def insert_all(self, jobs: Sequence[JobRecord]) -> None:
        """Store up to 100 new jobs, all or none.

        :raises AlreadyStoredError: ids are taken; nothing was stored.
        """

    def check_new(self, jobs: Sequence[JobRecord]) -> None:
        """Refuse new jobs that :meth:`insert` would refuse for their size; no call.

        :raises PayloadTooLargeError: as :meth:`insert`.
        """

    def load(self, job_id: str) -> JobRecord | None:
        """Read a job, strongly consistent, without documents that are kept elsewhere."""

    def load_whole(self, job_id: str) -> JobRecord | None:
        """Read a job with all its documents, strongly consistent, in one call (two with S3)."""

    def load_many(self, job_ids: Sequence[str]) -> dict[str, JobRecord]:
        """Read up to 100 jobs like :meth:`load`; absent ones are left out."""

    def fill(self, job: JobRecord) -> JobRecord:
        """The job with the documents that are kept elsewhere; no call when there are none."""

    def save(self, before: JobRecord, after: JobRecord) -> None:
        """Replace one version of a job by the next.

        :raises StaleJobError: the stored job is no longer ``before``.
        """

    def claim(
        self, queue: str, job_id: str, reservation: Reservation, now: Instant, place: str = ""
    ) -> JobRecord:
        """Move an available, unexpired job to active, counting the attempt, without reading it.

        :param queue: the queue that the job must be of.
        :param place: the place in line that it must have; empty for any.
        :returns: the claimed job, documents kept elsewhere not filled in.
        :raises StaleJobError: it is not available, has another place, or has expired.
        """

    def load_with_buckets(
        self, job_id: str, keys: Sequence[str]
    ) -> tuple[JobRecord | None, Mapping[str, Bucket]]:
        """Read a job and the buckets of some limits in one call, strongly consistent.

        :returns: the job, and the buckets by key; those that do not exist yet are empty.
        """

    def claim_within(
        self,
        job: JobRecord,
        reservation: Reservation,
        takes: Sequence[tuple[Bucket, Bucket]],
        now: Instant,
    ) -> JobRecord:
        """Like :meth:`claim`, taking the reservation's places in the same transaction.

        :param takes: each bucket before and after.
        :raises StaleJobError: the job is no longer what was read.
        :raises BucketTakenError: somebody else took a place meanwhile; nothing was written.
        """

    def acknowledge(
        self,
        job_id: str,
        worker_id: str | None,
        result: Document | None,
        now: Instant,
        which: AttemptRef = ANY_ATTEMPT,
    ) -> JobRecord:
        """Move an active job whose reservation is not over to completed, without reading it.

        :param worker_id: the holder to insist on; None accepts any, and a reservation made
            without a name accepts every worker.
        :param which: the attempt to insist on.
        :returns: the job as it was before, with its reservation.
        :raises StaleJobError: it is not active, not the worker's, not at this attempt, or
            overdue; or it keeps no result, or none of this size.
        """

    def fits_inline(self, result: RawJson) -> bool:
        """Whether a result stays with its job, so that :meth:`keep_result` makes no call."""

    def keep_result(self, job_id: str, result: RawJson) -> Document:
        """Put a result where it belongs before :meth:`acknowledge`; small ones need no call."""

    def keep_checkpoint(self, job_id: str, state: RawJson) -> Document:
        """Put a checkpoint where it belongs before :meth:`save`; small ones need no call.

        Never in the place of another one, so that the one before can be removed late.
        """

    def forget_document(self, job_id: str, document: Document) -> None:
        """Remove a document that its job no longer names; again is no error."""

    def delete(self, job: JobRecord) -> None:
        """Remove a job and its documents.

        :raises StaleJobError: the stored job is no longer this one.
        """

    def forget_documents(self, job: JobRecord) -> None:
        """Remove the documents that a job which is gone kept elsewhere; again is no error."""

    def head(self, queue: str, limit: int) -> Head:
        """The first ready jobs of a queue; what others claimed a moment ago may still be there."""

    def oldest_ready(self, queue: str) -> Instant | None:
        """Since when the job has been available that has been for longest; of any priority.

        One call for each priority that jobs are available in, eight at most: the highest ones.
        """

    def due(
        self, queue: str, since: Instant, until: Instant, limit: int, *, cursor: str = ""
    ) -> Page:
        """A page of the waiting jobs whose next due time lies in [since, until], earliest first.

        :param cursor: where the page before ended; any number of jobs may share an instant.
        """

    def listed(
        self,
        queue: str,
        name: JobList,
        limit: int,
        *,
        cursor: str = "",
        newest_first: bool = True,
        between: Between | None = None,
    ) -> Page:
        """A page of one list of a queue; of those lists that are ordered by time, of a time range.

        :param cursor: of the page before, or of :meth:`place_of` a row.
        """

    def place_of(self, row: ListedJob, name: JobList) -> str:
        """The cursor of the page that begins after a row of a list."""

    def count(self, queue: str, name: JobList, between: Between | None = None) -> Count:
        """How many rows a list has, in one call; not exact beyond some thousands."""

    def count_priorities(self, queue: str) -> tuple[Mapping[int, int], bool]:
        """How many jobs are ready in each priority, in one call; bounded like :meth:`count`.

        :returns: the numbers by priority, and whether they are exact.
        """

    def count_waiting(self, queue: str) -> Mapping[JobState, Count]:
        """How many jobs wait for time in each state, in one call; bounded like :meth:`count`.

        :returns: scheduled, retryable and active ones.
        """
