"""Batches that are too large for one transaction: a log of jobs, and one record that decides."""

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
    """A few bytes that tell most ids apart."""
    return hashlib.sha256(job_id.encode()).digest()[:MARK_BYTES]


@dataclass(frozen=True, slots=True)
class StagedJob:
    """A job of the log.

    :ivar replaces: it takes the place, or goes into, the job that holds its uniqueness key.
    """

    record: JobRecord
    replaces: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBatch:
    """A committed batch whose jobs may not all be in their places yet.

    :ivar id: made of the ids of its jobs, so that the same request sent again has the same one.
    :ivar token: tells who wrote its log; several requests may have, and one was committed.
    :ivar sizes: how many jobs each part of the log has.
    :ivar marks: of its jobs' ids, in their order.
    """

    id: str
    token: str
    committed_at: Instant
    sizes: tuple[int, ...]
    marks: bytes

    def holds_any(self, job_ids: Sequence[str]) -> bool:
        """Whether one of these jobs may be in the batch."""
        marks = {self.marks[at : at + MARK_BYTES] for at in range(0, len(self.marks), MARK_BYTES)}
        return any(mark_of(job_id) in marks for job_id in job_ids)

    def part_of(self, job_id: str) -> int | None:
        """The part in which a job may be; None when it is not in the batch."""
        wanted, at = mark_of(job_id), 0
        for number, size in enumerate(self.sizes):
            for _ in range(size):
                if self.marks[at : at + MARK_BYTES] == wanted:
                    return number
                at += MARK_BYTES
        return None


@dataclass(frozen=True, slots=True)
class Decision:
    """What stands of a batch.

    :ivar token: of the log that was committed; empty when the batch was given up.
    """

    token: str = ""

    @property
    def is_committed(self) -> bool:
        """Whether its jobs exist."""
        return bool(self.token)


class LogLostError(BackendError):
    """Something of a committed batch's log is gone: nobody can put those jobs into their places."""


class Batches(Protocol):
    """Logs of batches. What was never committed vanishes by itself after some days."""

    def token(self) -> str:
        """A new name for a log."""

    def stage(self, batch_id: str, token: str, jobs: Sequence[StagedJob]) -> tuple[int, ...]:
        """Write the log of a batch; nobody reads it before the batch is committed.

        :returns: how many jobs each part has.
        """

    def decide(self, batch_id: str, commit: OpenBatch | None, now: Instant) -> Decision:
        """Commit a batch, or give it up (``commit`` is None), unless that is decided already.

        :returns: what stands: the first decision is the last.
        """

    def decided(self, batch_id: str) -> Decision | None:
        """What stands of a batch, strongly consistent; None while nothing is decided."""

    def open(self) -> list[OpenBatch]:
        """Committed batches whose jobs may not all be in their places, the oldest first.

        Strongly consistent: a batch that is committed and not closed is among them.
        """

    def part(self, batch: OpenBatch, number: int) -> list[StagedJob]:
        """The jobs of one part of a batch's log.

        :raises LogLostError: it is gone.
        """

    def done(self, batch: OpenBatch) -> int:
        """How many parts of a batch, the first ones, are known to be in their places.

        :raises LogLostError: nobody knows any more.
        """

    def advance(self, batch: OpenBatch, done: int) -> None:
        """Note that the first parts are in their places."""

    def close(self, batch: OpenBatch) -> None:
        """All jobs of a batch are in their places: nobody need look for them here."""

    def abandon(self, batch: OpenBatch, now: Instant) -> None:
        """Some jobs of a batch are lost: nobody looks for them here any more.

        What is known of the batch is kept for some months.
        """
