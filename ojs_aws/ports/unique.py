"""Declares the store of jobs that are admitted under uniqueness keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.timestamps import Instant


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


TransactAction: TypeAlias = dict[str, Any]
"""One entry of ``TransactItems`` of DynamoDB's TransactWriteItems, as the low-level client takes
it."""


class NotAdmittedError(Exception):
    """Reports that jobs were not admitted. Without an attribute, something else has changed.

    :ivar existing: stored jobs with these ids, by the position of the admission.
    :ivar locks: locks that are not as they were seen, by the position of the admission.
    """

    def __init__(self, existing: Mapping[int, JobRecord], locks: Mapping[int, UniqueLock]) -> None:
        """Keep what stood in the way."""
        super().__init__("not admitted")
        self.existing = dict(existing)
        self.locks = dict(locks)


class UniqueJobs(Protocol):
    """Stores jobs that are admitted under uniqueness keys."""

    def admit(self, admissions: Sequence[Admission]) -> None:
        """Store new jobs, take their locks and change the jobs they replace, all or none.

        :raises NotAdmittedError: something is not as it was seen; nothing was stored.
        """

    def actions(self, admission: Admission) -> list[TransactAction]:
        """Return what :meth:`admit` would write for one job, for a caller's transaction; no call.

        :raises PayloadTooLargeError: its document does not fit into the table.
        """

    def reserve(self, lock: UniqueLock, seen: UniqueLock | None) -> UniqueLock:
        """Take a lock for a job that is not stored yet, in one conditional write.

        :param seen: the lock as it was read; None when there must be none.
        :returns: the lock as it is now.
        :raises NotAdmittedError: it is not as it was seen.
        """

    def lock(self, key: str) -> UniqueLock | None:
        """Return the lock of a key, strongly consistent."""

    def forget(self, key: str, job_id: str) -> None:
        """Remove the lock of a job that is gone; another job's lock stays."""


MAX_ACTIONS: Final = 100
"""What one transaction can do: each job counts once, and once more for its lock, and for the job
that it replaces."""
