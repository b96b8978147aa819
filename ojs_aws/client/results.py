"""Hold the results of the client's operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.results import EnqueueResult, EnqueueStatus, Stored
from ojs_aws.ports import TransactAction

__all__ = ["DeadLetters", "EnqueueResult", "EnqueueStatus", "Stored", "TransactItems"]


@dataclass(frozen=True, slots=True)
class TransactItems:
    """A job for a transaction of the caller's own. Nothing is stored yet.

    :ivar job: the job as it will be; the existing one, where nothing is to be stored because of it.
    :ivar items: entries for ``TransactItems`` of TransactWriteItems, all of them or none. Empty
        where there is nothing to store: a middleware dropped the job, or the system has it.
    :ivar dropped_by: name of the middleware that dropped the job, or empty.
    """

    job: Job
    items: list[TransactAction]
    dropped_by: str = ""

    @property
    def id(self) -> str:
        """Return the id of the job."""
        return self.job.id


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Holds a page of dead letters.

    :ivar cursor: where the next page starts; empty on the last one.
    :ivar total: how many the server says there are.
    :ivar is_exact: whether there are exactly so many.
    :ivar total_is: ``exact``, an ``estimate``, or ``at_least``: a lower bound.
    """

    jobs: Sequence[Job]
    cursor: str = ""
    total: int = 0
    is_exact: bool = True
    total_is: str = "exact"
