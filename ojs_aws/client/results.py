"""What the client's operations return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.results import EnqueueResult, EnqueueStatus, Stored

__all__ = ["DeadLetters", "EnqueueResult", "EnqueueStatus", "Stored"]


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """A page of dead letters.

    :ivar cursor: where the next page starts; empty on the last one.
    :ivar total: how many the server says there are; at least so many where it is not exact.
    """

    jobs: Sequence[Job]
    cursor: str = ""
    total: int = 0
    is_exact: bool = True
