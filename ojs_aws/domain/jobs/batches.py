"""Describes jobs that are stored together: under unique keys, in batches, by bulk operations."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from ojs_aws.domain.attributes import at_index
from ojs_aws.domain.errors import InvalidRequestError, JsonValue, OjsError, PayloadTooLargeError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.timestamps import Instant

MAX_ACTIONS: Final = 100
"""What one transaction can do: each job counts once, and once more for its lock, and for the job
that it replaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UniqueLock:
    """Says which job was last admitted under a uniqueness key.

    It is only a pointer: the job itself decides whether it keeps others out, so nothing has to
    release a lock.

    :ivar version: names the write that made it; empty in one that is to be written.
    :ivar until: when it is of no use any more, if that is known.
    :ivar applied_id: the push whose arguments were put into the job, if that happened.
    :ivar batch: the large batch that took it for a job of its own, before it was committed; what
        it says holds if that batch is. Empty for others.
    :ivar previous: the job that holds it if that batch is not committed.
    """

    key: str
    job_id: str
    version: str = ""
    until: Instant | None = None
    applied_id: str = ""
    batch: str = ""
    previous: str = ""

    @property
    def is_brought(self) -> bool:
        """Return whether the lock's batch changes the arguments of the job that has it."""
        return bool(self.batch) and self.job_id == self.previous


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Describes a job to admit, and what must not have changed since it was read.

    :ivar job: the new job; None when what it brings goes into the job ``before``.
    :ivar lock: the lock that it takes; None for a job without a unique policy.
    :ivar seen: the lock as it was read; None when there must be none.
    :ivar before: the job that is replaced, as it was read.
    :ivar after: and what becomes of it.
    """

    job: JobRecord | None = None
    lock: UniqueLock | None = None
    seen: UniqueLock | None = None
    before: JobRecord | None = None
    after: JobRecord | None = None


MARK_BYTES: Final = 4

MAX_FAULTS: Final = 50
"""Faults that an error lists; it counts the others."""


def check_count(received: int, most: int) -> None:
    """Refuse a batch of no jobs, or of too many.

    :raises InvalidRequestError: there is none.
    :raises PayloadTooLargeError: there are more than ``most``.
    """
    details: dict[str, JsonValue] = {"field": "jobs", "received": received, "max_batch_size": most}
    message = f"A batch holds from 1 to {most} jobs; received {received}."
    if received < 1:
        raise InvalidRequestError(message, details=details)
    if received > most:
        hint = "Send several batches; each is stored whole or not at all."
        raise PayloadTooLargeError(message, details=details, hint=hint)


@dataclass(slots=True)
class BatchFaults:
    """Collects the errors of a batch's jobs."""

    found: list[OjsError] = field(default_factory=list)

    @contextmanager
    def at(self, index: int) -> Iterator[None]:
        """Keep why one job is refused; errors of AWS are raised at once."""
        try:
            with at_index(index):
                yield
        except InvalidRequestError as problem:
            self.found.append(problem)

    def raise_all(self) -> None:
        """Raise the first error with all of them in its details (``errors``), if any.

        :raises InvalidRequestError: it, or one of its kinds.
        """
        if not self.found:
            return
        first = self.found[0]
        if len(self.found) > 1:
            listed: list[JsonValue] = [_fault(each) for each in self.found[:MAX_FAULTS]]
            first.message += f" {len(self.found) - 1} more of the batch's jobs are refused."
            first.details |= {"errors": listed, "error_count": len(self.found)}
        raise first


def _fault(problem: OjsError) -> JsonValue:
    fault: dict[str, JsonValue] = {"index": problem.details["index"], "code": problem.code}
    if "field" in problem.details:
        fault["field"] = problem.details["field"]
    return fault | {"message": problem.message}


def mark_of(job_id: str) -> bytes:
    """Return a few bytes that differ for most ids."""
    return hashlib.sha256(job_id.encode()).digest()[:MARK_BYTES]


@dataclass(frozen=True, slots=True)
class StagedJob:
    """Holds a job of the log.

    :ivar replaces: it takes the place, or goes into, the job that holds its uniqueness key.
    :ivar is_last: no job of its sequence follows in the batch.
    """

    record: JobRecord
    replaces: bool = False
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class StoredJob:
    """Holds a job of a committed batch that is in its place.

    :ivar record: the job that there is; None when it was put there before, and is gone.
    :ivar is_update: another job has its arguments and metadata now.
    :ivar replaced: the job that was cancelled for it, as it was before.
    """

    record: JobRecord | None
    is_update: bool = False
    replaced: JobRecord | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBatch:
    """Describes a committed batch whose jobs may not all be in their places yet.

    :ivar id: made of the ids of its jobs, so that the same request sent again has the same one.
    :ivar token: names who wrote its log; several requests may have, and one was committed.
    :ivar sizes: how many jobs each part of the log has.
    :ivar marks: of its jobs' ids, in their order.
    """

    id: str
    token: str
    committed_at: Instant
    sizes: tuple[int, ...]
    marks: bytes

    def holds_any(self, job_ids: Sequence[str]) -> bool:
        """Return whether one of these jobs may be in the batch."""
        marks = {self.marks[at : at + MARK_BYTES] for at in range(0, len(self.marks), MARK_BYTES)}
        return any(mark_of(job_id) in marks for job_id in job_ids)

    def part_of(self, job_id: str) -> int | None:
        """Return the part in which a job may be; None if it is not in the batch."""
        wanted, at = mark_of(job_id), 0
        for number, size in enumerate(self.sizes):
            for _ in range(size):
                if self.marks[at : at + MARK_BYTES] == wanted:
                    return number
                at += MARK_BYTES
        return None


@dataclass(frozen=True, slots=True)
class RollForwardReport:
    """Counts batches whose processes seemed to have died.

    :ivar done: those whose jobs are all in their places now.
    :ivar failed: those that met an error; the next tick repeats it.
    :ivar lost: those that were given up, because something of their log is gone.
    :ivar sent: ids of jobs that were put into their places, whose messages were sent just now.
    """

    done: int = 0
    failed: int = 0
    lost: int = 0
    sent: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Decision:
    """Says whether a batch was committed.

    :ivar token: of the log that was committed; empty when the batch was given up.
    """

    token: str = ""

    @property
    def is_committed(self) -> bool:
        """Return whether its jobs exist."""
        return bool(self.token)


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkRequest:
    """Describes a bulk operation with an idempotency key (ojs-bulk-operations, section 10).

    :ivar key: of the operation, the caller and the client's own key.
    :ivar digest: of the request's body.
    :ivar begun_at: when it was first seen.
    :ivar status: of the answer; 0 while there is none.
    :ivar answer: JSON text.
    """

    key: str
    digest: str
    begun_at: Instant
    status: int = 0
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkDone:
    """Describes a finished bulk operation, which the stream publishes.

    :ivar id: names it.
    :ivar operation: enqueue, cancel, retry or delete.
    :ivar total: jobs that it was about.
    :ivar done: those that it did it to.
    :ivar is_atomic: all or none.
    :ivar by: who did it, as ``domain.credentials`` stores it; empty where nobody knows.
    """

    id: str
    operation: str
    total: int
    done: int
    is_atomic: bool
    at: Instant
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationDone:
    """Describes an operation of somebody, which the stream publishes.

    :ivar id: names the record.
    :ivar operation: id of the operation.
    :ivar target: what it was done to: a JSON object.
    :ivar queue: that it concerns, or empty.
    :ivar by: who did it, as ``domain.credentials`` stores it.
    """

    id: str
    operation: str
    target: str
    at: Instant
    by: str
    queue: str = ""
