"""Describes what binds job types of a queue to an ECS task, and names the task of an attempt."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.bindings.binding import Binding
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.held_job import AttemptRef

TASK_WORKER: Final = "tasks_"
"""Begins the worker id of jobs that were claimed for tasks."""
_STARTED_BY: Final = re.compile(
    r"ojs_(?P<job>[0-9a-f-]{36})_(?P<attempt>[0-9]{1,10})_(?P<reservation>[0-9A-Za-z_-]{1,64})",
    re.ASCII,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskBinding(Binding):
    """Binds job types of queues to a task definition of ECS.

    :ivar target: ARN of the task definition, with its revision.
    :ivar cluster: ARN of the cluster that runs the tasks.
    :ivar container: the container that gets the job, and whose exit code counts.
    :ivar subnets: of the tasks.
    :ivar security_groups: of the tasks.
    :ivar has_public_ip: whether a task gets a public address.
    :ivar capacity: name of a capacity provider, such as ``FARGATE_SPOT``; empty: Fargate itself,
        which every cluster has.
    """

    cluster: str
    container: str
    subnets: Sequence[str]
    security_groups: Sequence[str]
    has_public_ip: bool = False
    capacity: str = ""


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


def read_task_bindings(text: str) -> list[TaskBinding]:
    """Return the bindings that a JSON array describes, as the construct writes it."""
    return [TaskBinding(**each) for each in json.loads(text)]
