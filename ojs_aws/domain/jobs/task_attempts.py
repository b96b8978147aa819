"""Names the ECS task that runs an attempt of a job."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.held_job import AttemptRef

TASK_WORKER: Final = "tasks_"
"""Begins the worker id of jobs that were claimed for tasks."""
_STARTED_BY: Final = re.compile(
    r"ojs_(?P<job>[0-9a-f-]{36})_(?P<attempt>[0-9]{1,10})_(?P<reservation>[0-9A-Za-z_-]{1,64})",
    re.ASCII,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAttempt:
    """Names the attempt of a job that a task runs. The task carries it, so nothing is stored."""

    job_id: str
    attempt: int
    reservation_id: str

    @classmethod
    def of(cls, record: JobRecord) -> TaskAttempt:
        """Return the running attempt of a claimed job."""
        held = record.reservation
        assert held is not None  # noqa: S101 - it was claimed
        return cls(job_id=record.id, attempt=record.attempt, reservation_id=held.id)

    @property
    def which(self) -> AttemptRef:
        """Return a reference for reports."""
        return AttemptRef(reservation_id=self.reservation_id, attempt=self.attempt)

    @property
    def started_by(self) -> str:
        """Return what ECS lists the task by: letters, digits, hyphens and underscores."""
        return f"ojs_{self.job_id}_{self.attempt}_{self.reservation_id}"

    @property
    def client_token(self) -> str:
        """Return the token by which ECS starts one task for the attempt, however often asked.

        64 characters, as many as ECS takes.
        """
        return hashlib.sha256(self.started_by.encode()).hexdigest()


def read_started_by(text: str) -> TaskAttempt | None:
    """Return the attempt that a task names; None for a task that runs no job."""
    match = _STARTED_BY.fullmatch(text)
    if match is None:
        return None
    return TaskAttempt(
        job_id=match["job"], attempt=int(match["attempt"]), reservation_id=match["reservation"]
    )
