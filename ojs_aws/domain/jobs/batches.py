"""Describes batches that are too large for one transaction: a log and a deciding record."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

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
