"""Decides which attempt of a job a worker's report is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.job import JobRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRef:
    """Names one attempt of a job. What it leaves empty is not checked.

    A number alone may come again: an operator's retry counts from 0. The id of the reservation
    never does.

    :ivar reservation_id: what FETCH answered with the job; None where the report does not say it.
    :ivar attempt: the number of the attempt; None where the report does not say it.
    """

    reservation_id: str | None = None
    attempt: int | None = None

    def is_running(self, job: JobRecord) -> bool:
        """Return True if this names the job's running attempt."""
        held = job.reservation
        if held is None:
            return False
        if self.reservation_id is not None and self.reservation_id != held.id:
            return False
        return self.attempt is None or self.attempt == job.attempt


ANY_ATTEMPT: Final = AttemptRef()
"""Names no attempt: whichever is running."""


def attempt_of(job: JobRecord) -> AttemptRef:
    """Return a reference to the running attempt of a claimed job, for later reports."""
    held = job.reservation
    return AttemptRef(reservation_id=held.id or None if held else None, attempt=job.attempt)
