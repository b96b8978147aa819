"""Holds what the steps of a large batch share: their outcomes."""

from __future__ import annotations

from dataclasses import dataclass

from ojs_aws.domain.job import JobRecord


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
