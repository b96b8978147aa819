"""Keeps jobs in a dict, with the index over them, and the buckets that claims take places in."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ojs_aws.domain.job import Document, JobRecord, JobState, Reservation, size_of
from ojs_aws.domain.jobs import held_job, lifecycle
from ojs_aws.domain.jobs.completion import NOTHING_LEFT, LeftToStream
from ojs_aws.domain.jobs.held_job import Extension, Holder
from ojs_aws.domain.jobs.outcomes import keeps_result
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.limits.rules import Bucket
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import (
    AlreadyStoredError,
    BucketTakenError,
    ListedJob,
    StaleJobError,
)
from tests.model.job_lists import MemoryJobLists

MAX_INLINE = 100_000


@dataclass
class MemoryStore(MemoryJobLists):
    """Keeps jobs in a dict, and the buckets that claims take places in."""

    buckets: dict[str, Bucket] = field(default_factory=dict)
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
        holder: Holder,
        result: Document | None,
        now: Instant,
        leaves: LeftToStream = NOTHING_LEFT,
    ) -> JobRecord:
        """Move an active job whose reservation is not over to completed."""
        worker = holder.worker_id
        current = self.jobs.get(job_id)
        held = current.reservation if current else None
        if (
            current is None
            or current.state is not JobState.ACTIVE
            or held is None
            or not holder.which.is_running(current)
            or held.due_at <= now
            or (current.started_at or 0) > now
            or (worker is not None and held.worker_id not in {"", worker})
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


def _takes(job: JobRecord, result: Document) -> bool:
    limit = job.result_limit_bytes
    return keeps_result(job) and (limit is None or size_of(result) <= limit)
