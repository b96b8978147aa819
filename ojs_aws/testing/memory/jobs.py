"""Keeps jobs in a dict, with the index over them, and the buckets that claims take places in."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import Document, JobRecord, JobState, Reservation, ready_since, size_of
from ojs_aws.domain.jobs import held_job, lifecycle
from ojs_aws.domain.jobs.attempts import ANY_ATTEMPT, AttemptRef
from ojs_aws.domain.jobs.held_job import Extension
from ojs_aws.domain.jobs.lifecycle import NOTHING_LEFT, LeftToStream
from ojs_aws.domain.jobs.results import keeps_result
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.limits.rules import Bucket
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import (
    AlreadyStoredError,
    Between,
    BucketTakenError,
    Count,
    Head,
    JobList,
    ListedJob,
    Page,
    StaleJobError,
)
from ojs_aws.testing.memory.rows import list_of, row_of, row_place

MAX_INLINE = 100_000


@dataclass
class MemoryStore:
    """Keeps jobs in a dict. ``lagging`` holds jobs as the index still shows them.

    :ivar completed: jobs that the stream's consumer has listed, and when they completed.
    """

    jobs: dict[str, JobRecord] = field(default_factory=dict)
    lagging: dict[str, JobRecord | None] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)
    rows_read: int = 0
    buckets: dict[str, Bucket] = field(default_factory=dict)
    queue_limits: dict[str, str] = field(default_factory=dict)
    queue_visibility: dict[str, int] = field(default_factory=dict)
    completed: dict[str, Instant | None] = field(default_factory=dict)
    _tokens: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def put(self, job: JobRecord) -> JobRecord:
        """Store a version of a job under a token of its own."""
        stored = replace(job, token=f"write-{next(self._tokens)}")
        self.jobs[job.id] = stored
        return stored

    def is_as_read(self, job: JobRecord) -> bool:
        """Return whether the stored job is the very version that was read."""
        current = self.jobs.get(job.id)
        if current is None or current.version != job.version:
            return False
        return job.token in {"", current.token}

    def release(self, before: JobRecord, after: JobRecord) -> None:
        """Give back the places of a job that is no longer active."""
        held, kept = (
            set(job.reservation.places) if job.reservation else set() for job in (before, after)
        )
        for key in held - kept:
            bucket = self.buckets[key]
            self.buckets[key] = replace(bucket, active=bucket.active - 1)

    def load_with_buckets(
        self, job_id: str, keys: Sequence[str]
    ) -> tuple[JobRecord | None, dict[str, Bucket]]:
        """Read a job and buckets."""
        return self.jobs.get(job_id), {key: self.buckets.get(key, Bucket(key=key)) for key in keys}

    def claim_within(
        self,
        job: JobRecord,
        reservation: Reservation,
        takes: Sequence[tuple[Bucket, Bucket]],
        now: Instant,
    ) -> JobRecord:
        """Claim a job and take its places, all or nothing."""
        current = self.jobs.get(job.id)
        if current is None or not self.is_as_read(job) or (current.enqueued_at or 0) > now:
            raise StaleJobError(current)
        known = {before.key: self.buckets.get(before.key, before) for before, _ in takes}
        if any(known[before.key].version != before.version for before, _ in takes):
            raise BucketTakenError
        for before, after in takes:
            found = known[before.key]
            self.buckets[before.key] = replace(
                after,
                active=found.active + 1,
                exhausted="" if before.exhausted else found.exhausted,
                exhausted_at=found.exhausted_at,
                released=job.id if before.exhausted else found.released,
            )
        return self.put(lifecycle.claim(current, reservation, now))

    def insert(self, job: JobRecord) -> None:
        """Store a new job."""
        if job.id in self.jobs:
            raise AlreadyStoredError({0: self.jobs[job.id]})
        self.put(job)

    def insert_all(self, jobs: Sequence[JobRecord]) -> None:
        """Store new jobs, all or none."""
        taken = {i: self.jobs[job.id] for i, job in enumerate(jobs) if job.id in self.jobs}
        if taken:
            raise AlreadyStoredError(taken)
        for job in jobs:
            self.put(job)

    def check_new(self, jobs: Sequence[JobRecord]) -> None:
        """Accept everything: all jobs fit."""

    def load(self, job_id: str) -> JobRecord | None:
        """Read a job."""
        return self.jobs.get(job_id)

    def load_whole(self, job_id: str) -> JobRecord | None:
        """Read a job."""
        return self.jobs.get(job_id)

    def load_many(self, job_ids: Sequence[str]) -> dict[str, JobRecord]:
        """Read jobs."""
        return {job_id: self.jobs[job_id] for job_id in job_ids if job_id in self.jobs}

    def fill(self, job: JobRecord) -> JobRecord:
        """Do nothing: no part of a job is kept elsewhere."""
        return job

    def save(self, before: JobRecord, after: JobRecord) -> JobRecord:
        """Replace one version by the next."""
        if not self.is_as_read(before):
            raise StaleJobError(self.jobs.get(before.id))
        self.release(before, after)
        return self.put(after)

    def claim(
        self, queue: str, job_id: str, reservation: Reservation, now: Instant, place: str = ""
    ) -> JobRecord:
        """Move an available, unexpired job to active."""
        current = self.jobs.get(job_id)
        if (
            current is None
            or current.queue != queue
            or current.state is not JobState.AVAILABLE
            or (current.enqueued_at or 0) > now
            or place not in {"", current.ready_key}
            or (current.expires_at is not None and current.expires_at <= now)
        ):
            raise StaleJobError(current)
        return self.put(lifecycle.claim(current, reservation, now))

    def acknowledge(
        self,
        job_id: str,
        worker_id: str | None,
        result: Document | None,
        now: Instant,
        which: AttemptRef = ANY_ATTEMPT,
        leaves: LeftToStream = NOTHING_LEFT,
    ) -> JobRecord:
        """Move an active job whose reservation is not over to completed."""
        current = self.jobs.get(job_id)
        held = current.reservation if current else None
        if (
            current is None
            or current.state is not JobState.ACTIVE
            or held is None
            or not which.is_running(current)
            or held.due_at <= now
            or (current.started_at or 0) > now
            or (worker_id is not None and held.worker_id not in {"", worker_id})
            or (result is not None and not _takes(current, result))
        ):
            raise StaleJobError(current)
        after = lifecycle.complete(current, result, now, leaves)
        self.put(after)
        self.release(current, after)
        return current

    def list_completed(self, jobs: Sequence[JobRecord]) -> None:
        """List completed jobs."""
        self.completed |= {job.id: job.completed_at for job in jobs}

    def unlist(self, rows: Sequence[ListedJob]) -> None:
        """Do nothing: who is gone is in no list."""

    def is_listed(self, job: JobRecord) -> bool:
        """Return whether a list may have a job; ACK may have left that to the stream's consumer."""
        return not job.is_listing_left or self.completed.get(job.id) == job.completed_at

    def extend(self, job_id: str, asked: Extension) -> JobRecord:
        """Let the worker of an active job count as alive for longer."""
        current = self.jobs.get(job_id)
        after = held_job.extended(current, asked) if current else None
        if after is None:
            raise StaleJobError(current)
        return self.put(after)

    def fill_many(self, jobs: Sequence[JobRecord]) -> list[JobRecord]:
        """Do nothing: no part of a job is kept elsewhere."""
        return [self.fill(job) for job in jobs]

    def fits_inline(self, result: RawJson) -> bool:
        """Return whether a result stays with its job: all but large ones do."""
        return len(result) <= MAX_INLINE

    def keep_result(self, job_id: str, result: RawJson) -> Document:
        """Return the result: it stays with the job."""
        return result

    def keep_checkpoint(self, job_id: str, state: RawJson) -> Document:
        """Return the checkpoint: it stays with the job."""
        return state

    def forget_document(self, job_id: str, document: Document) -> None:
        """Do nothing: no part of a job is kept elsewhere."""

    def delete(self, job: JobRecord) -> None:
        """Remove a job."""
        if not self.is_as_read(job):
            raise StaleJobError(self.jobs.get(job.id))
        del self.jobs[job.id]

    def forget_documents(self, job: JobRecord) -> None:
        """Do nothing: no part of a job is kept elsewhere."""
        assert job.id not in self.jobs

    def _rows(self, queue: str, name: JobList) -> list[ListedJob]:
        shown = {**self.jobs, **self.lagging}
        rows = []
        for job in shown.values():
            if job is None or job.queue != queue or not self.is_listed(job):
                continue
            listed, key = list_of(job)
            if listed is name:
                rows.append(row_of(job, key))
        return sorted(rows, key=row_place)

    def head(self, queue: str, limit: int) -> Head:
        """The first ready jobs as the index shows them."""
        return Head(
            tuple(self._rows(queue, JobList.READY)[:limit]),
            queue in self.paused,
            self.queue_limits.get(queue, ""),
            self.queue_visibility.get(queue),
        )

    def oldest_ready(self, queue: str) -> Instant | None:
        """Return since when the oldest ready job is ready."""
        rows = self._rows(queue, JobList.READY)
        return min((ready_since(row.sort_key) for row in rows), default=None)

    def due(
        self, queue: str, since: Instant, until: Instant, limit: int, *, cursor: str = ""
    ) -> Page:
        """Return a page of waiting jobs that are due in a range."""
        rows = [
            row
            for row in self._rows(queue, JobList.WAITING)
            if since <= row.due <= until and row_place(row) > cursor
        ]
        page = tuple(rows[:limit])
        self.rows_read += len(page)
        return Page(page, row_place(page[-1]) if len(rows) > limit else "")

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
        """Return a page of a list."""
        rows = [row for row in self._rows(queue, name) if _is_between(row, between)]
        if cursor and cursor.count("|") != 1:
            raise InvalidRequestError("no cursor", details={"field": "cursor"})
        rows.sort(key=lambda row: (row.sort_key, row.id), reverse=newest_first)
        if cursor:
            sort_key, _, job_id = cursor.partition("|")
            rows = [
                row
                for row in rows
                if ((row.sort_key, row.id) < (sort_key, job_id)) is newest_first
                and (row.sort_key, row.id) != (sort_key, job_id)
            ]
        shown = rows[:limit]
        return Page(tuple(shown), self.place_of(shown[-1], name) if len(rows) > limit else "")

    def place_of(self, row: ListedJob, name: JobList) -> str:
        """Return the place of a row."""
        return f"{row.sort_key}|{row.id}"

    def count(self, queue: str, name: JobList, between: Between | None = None) -> Count:
        """Count the rows; of jobs that were listed late, others only know how many at most."""
        rows = [row for row in self._rows(queue, name) if _is_between(row, between)]
        is_late = name is JobList.COMPLETED and any(row.id in self.completed for row in rows)
        return Count(len(rows), is_exact=not is_late, is_most=is_late)

    def count_priorities(self, queue: str) -> tuple[dict[int, int], bool]:
        """Count the ready jobs by priority."""
        rows = self._rows(queue, JobList.READY)
        return dict(Counter(100 - int(row.sort_key.partition("#")[0]) for row in rows)), True

    def count_waiting(self, queue: str) -> dict[JobState, Count]:
        """Count the waiting jobs by state."""
        counted = Counter(row.state for row in self._rows(queue, JobList.WAITING))
        states = (JobState.SCHEDULED, JobState.RETRYABLE, JobState.ACTIVE)
        return {state: Count(counted[state]) for state in states}


def _takes(job: JobRecord, result: Document) -> bool:
    limit = job.result_limit_bytes
    return keeps_result(job) and (limit is None or size_of(result) <= limit)


def _is_between(row: ListedJob, between: Between | None) -> bool:
    return between is None or between.since <= int(row.sort_key) <= between.until
