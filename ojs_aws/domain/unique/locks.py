"""Describes the locks of uniqueness keys, and jobs to admit under them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

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
