"""Declares the store of jobs, and the errors of its writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import Document, JobRecord, JobState, Reservation
from ojs_aws.domain.jobs.completion import NOTHING_LEFT, LeftToStream
from ojs_aws.domain.jobs.held_job import Extension, Holder
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.limits.rules import Bucket
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports.job_lists import Between, Count, Head, JobList, ListedJob, Page


class StaleJobError(Exception):
    """Reports that the job changed between the read and a conditional write.

    :ivar current: the job as the write found it, or None when there is none.
    """

    def __init__(self, current: JobRecord | None) -> None:
        """Keep what the write found."""
        super().__init__("the job has changed")
        self.current = current


class BucketTakenError(Exception):
    """Reports that a bucket of a limit has changed since it was read."""


class AlreadyStoredError(Exception):
    """Reports that an insert met ids that are taken.

    :ivar existing: the stored jobs by their position in the insert.
    """

    def __init__(self, existing: Mapping[int, JobRecord]) -> None:
        """Keep what the insert met."""
        super().__init__("the id is taken")
        self.existing = dict(existing)


class JobStore(Protocol):
    """Stores jobs. Each write is one conditional write (or one transaction), atomic.

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
        """Read a job, strongly consistent, without documents that are stored elsewhere."""

    def load_whole(self, job_id: str) -> JobRecord | None:
        """Read a job with all its documents, strongly consistent, in one call (two with S3)."""

    def load_many(self, job_ids: Sequence[str]) -> dict[str, JobRecord]:
        """Read up to 100 jobs like :meth:`load`; absent ones are left out."""

    def fill(self, job: JobRecord) -> JobRecord:
        """Return the job with the documents that are stored elsewhere; no call if it has none."""

    def fill_many(self, jobs: Sequence[JobRecord]) -> Sequence[JobRecord | OjsError]:
        """Return jobs with their documents, in their order, in few calls.

        :returns: instead of a job the error for which its documents cannot be read.
        """

    def save(self, before: JobRecord, after: JobRecord) -> JobRecord:
        """Replace one version of a job by the next.

        :returns: the next version, with the token of this write.
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
        """Claim a job like :meth:`claim`, and take its places in the same transaction.

        :param takes: each bucket before and after.
        :raises StaleJobError: the job is no longer what was read.
        :raises BucketTakenError: somebody else took a place meanwhile; nothing was written.
        """

    def acknowledge(
        self,
        job_id: str,
        holder: Holder,
        result: Document | None,
        now: Instant,
        leaves: LeftToStream = NOTHING_LEFT,
    ) -> JobRecord:
        """Move an active job in time to completed, without reading it.

        :param holder: the worker and the attempt to insist on. A reservation that was made
            without a name accepts every worker.
        :param leaves: note that whoever reads the stream deletes the job's message, or lists the
            job: see :meth:`list_completed`.
        :returns: the job as it was before, with its reservation.
        :raises StaleJobError: it is not active, not the worker's, not at this attempt, or
            overdue; or it keeps no result, or none of this size.
        """

    def list_completed(self, jobs: Sequence[JobRecord]) -> None:
        """Add completed jobs to the lists of their queues, which :meth:`acknowledge` did not.

        One write for up to 36 jobs of a queue. May be repeated; a job that is added together with
        other jobs than before may be listed twice.
        """

    def unlist(self, rows: Sequence[ListedJob]) -> None:
        """Remove rows of jobs that are gone from the lists, as far as this saves reading them."""

    def extend(self, job_id: str, asked: Extension) -> JobRecord:
        """Let the worker of an active job count as alive for longer, without reading the job.

        :returns: the job after it, documents kept elsewhere not filled in.
        :raises StaleJobError: what is asked for cannot be granted without a read.
        """

    def fits_inline(self, result: RawJson) -> bool:
        """Return whether a result stays with its job, so that :meth:`keep_result` makes no call."""

    def keep_result(self, job_id: str, result: RawJson) -> Document:
        """Store a result before :meth:`acknowledge`; small ones need no call."""

    def keep_checkpoint(self, job_id: str, state: RawJson) -> Document:
        """Store a checkpoint before :meth:`save`; small ones need no call.

        Never in the place of another one, so that the one before can be removed late.
        """

    def forget_document(self, job_id: str, document: Document) -> None:
        """Remove a document that its job no longer names; may be repeated."""

    def delete(self, job: JobRecord) -> None:
        """Remove a job and its documents.

        :raises StaleJobError: the stored job is no longer this one.
        """

    def forget_documents(self, job: JobRecord) -> None:
        """Remove the documents that a deleted job stored elsewhere; may be repeated."""

    def head(self, queue: str, limit: int) -> Head:
        """Return the first ready jobs of a queue; jobs claimed a moment ago may be among them."""

    def oldest_ready(self, queue: str) -> Instant | None:
        """Return since when the oldest ready job has been available, whatever its priority.

        One call for each priority that jobs are available in, eight at most: the highest ones.
        """

    def due(
        self, queue: str, since: Instant, until: Instant, limit: int, *, cursor: str = ""
    ) -> Page:
        """Return a page of waiting jobs whose next due time is in [since, until], earliest first.

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
        """Return a page of one list of a queue; for lists ordered by time, of a time range.

        :param cursor: of the page before, or of :meth:`place_of` a row.
        """

    def place_of(self, row: ListedJob, name: JobList) -> str:
        """Return the cursor of the page that begins after a row of a list."""

    def count(self, queue: str, name: JobList, between: Between | None = None) -> Count:
        """Return how many rows a list has, in one call; not exact beyond some thousands."""

    def count_priorities(self, queue: str) -> tuple[Mapping[int, int], bool]:
        """Return how many jobs are ready in each priority, in one call; bounded like :meth:`count`.

        :returns: the numbers by priority, and whether they are exact.
        """

    def count_waiting(self, queue: str) -> Mapping[JobState, Count]:
        """Return how many jobs wait in each state, in one call; bounded like :meth:`count`.

        :returns: scheduled, retryable and active ones.
        """
