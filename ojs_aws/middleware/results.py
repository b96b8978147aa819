"""What became of a job that was to be enqueued."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ojs_aws.domain.envelope import Job


class EnqueueStatus(StrEnum):
    """What became of a job that was to be enqueued."""

    ENQUEUED = "enqueued"
    DROPPED = "dropped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnqueueResult:
    """The outcome of enqueuing one job. True in a condition exactly when the job is enqueued.

    :ivar job: the job as stored; one that was dropped or failed, as the middleware last saw it.
    :ivar is_new: False when the very same job had been enqueued before.
    :ivar dropped_by: name of the middleware that dropped the job.
    :ivar asked_id: id of the job that was to be enqueued, where ``job`` is another one that was
        found under the same uniqueness key; else empty.
    :ivar error: what was raised; only in the results of a batch, a single enqueue raises it.
    """

    status: EnqueueStatus
    job: Job
    is_new: bool = True
    dropped_by: str = ""
    asked_id: str = ""
    error: BaseException | None = None

    @property
    def id(self) -> str:
        """Id of the job, whether it was enqueued or not."""
        return self.job.id

    @property
    def is_duplicate(self) -> bool:
        """Whether the system had a job with the same uniqueness key, which this one gave way to."""
        return bool(self.asked_id)

    @property
    def state(self) -> str | None:
        """State of the job; None when it was not enqueued."""
        return self.job.state

    @property
    def is_enqueued(self) -> bool:
        """Whether the system has the job."""
        return self.status is EnqueueStatus.ENQUEUED

    @property
    def is_dropped(self) -> bool:
        """Whether a middleware dropped the job, silently and without an error."""
        return self.status is EnqueueStatus.DROPPED

    def __bool__(self) -> bool:
        """Whether the system has the job."""
        return self.is_enqueued


@dataclass(frozen=True, slots=True)
class Stored:
    """What was done with one envelope that the middleware let pass.

    :ivar job: the stored job; None when a middleware further on, in the backend, dropped it.
    :ivar is_new: False when the very same envelope had been stored before.
    :ivar dropped_by: name of the middleware of the backend that dropped the job.
    """

    job: Job | None
    is_new: bool = True
    dropped_by: str = ""


def failed(job: Job, error: BaseException, *, is_new: bool = True) -> EnqueueResult:
    """Return the outcome of a job whose enqueueing failed."""
    return EnqueueResult(status=EnqueueStatus.FAILED, job=job, is_new=is_new, error=error)


def dropped(job: Job, by: str) -> EnqueueResult:
    """Return the outcome of a job that a middleware dropped."""
    return EnqueueResult(status=EnqueueStatus.DROPPED, job=job, is_new=False, dropped_by=by)
