"""Declares the store of batches too large for one transaction: a log and a deciding record."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.timestamps import Instant

MARK_BYTES: Final = 4


def mark_of(job_id: str) -> bytes:
    """Return a few bytes that differ for most ids."""
    return hashlib.sha256(job_id.encode()).digest()[:MARK_BYTES]


@dataclass(frozen=True, slots=True)
class StagedJob:
    """Holds a job of the log.

    :ivar replaces: it takes the place, or goes into, the job that holds its uniqueness key.
    """

    record: JobRecord
    replaces: bool = False


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
class Decision:
    """Says whether a batch was committed.

    :ivar token: of the log that was committed; empty when the batch was given up.
    """

    token: str = ""

    @property
    def is_committed(self) -> bool:
        """Return whether its jobs exist."""
        return bool(self.token)


class LogLostError(BackendError):
    """Reports a gap in a committed batch's log: these jobs cannot be put into their places."""


class Batches(Protocol):
    """Stores logs of batches. What was never committed expires after some days."""

    def token(self) -> str:
        """Return a new name for a log."""

    def stage(self, batch_id: str, token: str, jobs: Sequence[StagedJob]) -> tuple[int, ...]:
        """Write the log of a batch; nobody reads it before the batch is committed.

        :returns: how many jobs each part has.
        """

    def decide(self, batch_id: str, commit: OpenBatch | None, now: Instant) -> Decision:
        """Commit a batch, or give it up (``commit`` is None), unless this is already decided.

        :returns: what stands: the first decision is the last.
        """

    def decided(self, batch_id: str) -> Decision | None:
        """Return the decision on a batch, strongly consistent; None while there is none."""

    def open(self) -> list[OpenBatch]:
        """Return committed batches whose jobs may not all be in their places, oldest first.

        Strongly consistent: a batch that is committed and not closed is among them.
        """

    def part(self, batch: OpenBatch, number: int) -> list[StagedJob]:
        """Return the jobs of one part of a batch's log.

        :raises LogLostError: it is gone.
        """

    def done(self, batch: OpenBatch) -> int:
        """Return how many parts of a batch, counted from the first, are in their places.

        :raises LogLostError: nobody knows any more.
        """

    def advance(self, batch: OpenBatch, done: int) -> None:
        """Note that the first parts are in their places."""

    def close(self, batch: OpenBatch) -> None:
        """Close a batch: all its jobs are in their places."""

    def abandon(self, batch: OpenBatch, now: Instant) -> None:
        """Give up a committed batch of which some jobs are lost.

        What is known of the batch is kept for some months.
        """
