"""Say what became of a job that was to be enqueued."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.envelope import Job

_LATER: Final = frozenset({"get", "result", "value", "wait"})
"""What other libraries have on what enqueuing returns."""


class EnqueueStatus(StrEnum):
    """Says what became of a job that was to be enqueued."""

    ENQUEUED = "enqueued"
    DROPPED = "dropped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnqueueResult:
    """Holds the outcome of enqueuing one job. It is true if the job is enqueued.

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

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Explain what is not known yet: this is the outcome of enqueuing alone."""
            hint = f": ask for it with client.wait({self.id!r})" if name in _LATER else ""
            shown = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(shown + hint, name=name, obj=self)

    @property
    def id(self) -> str:
        """Return the id of the job, enqueued or not."""
        return self.job.id

    @property
    def is_duplicate(self) -> bool:
        """Return True if the system had a job with the same uniqueness key already."""
        return bool(self.asked_id)

    @property
    def state(self) -> str | None:
        """Return the state of the job; None if it was not enqueued."""
        return self.job.state

    @property
    def is_enqueued(self) -> bool:
        """Return True if the system has the job."""
        return self.status is EnqueueStatus.ENQUEUED

    @property
    def is_dropped(self) -> bool:
        """Return True if a middleware dropped the job, without an error."""
        return self.status is EnqueueStatus.DROPPED

    def __bool__(self) -> bool:
        """Return True if the system has the job."""
        return self.is_enqueued


@dataclass(frozen=True, slots=True)
class Stored:
    """Says what was done with one job that passed the middleware.

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


def result_of(job: Job, stored: Job | None, dropped_by: str) -> EnqueueResult:
    """Return the outcome of a job's run through the chain: stored, or dropped."""
    if stored is None:
        return dropped(job, dropped_by)
    return EnqueueResult(status=EnqueueStatus.ENQUEUED, job=stored)
