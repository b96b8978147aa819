"""Starts the ECS task of a claimed job, and tells its container where to fetch and report it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ojs_aws.domain.bindings.stopped_tasks import CONFIG_VARIABLE
from ojs_aws.domain.bindings.tasks import TaskBinding
from ojs_aws.domain.jobs.task_attempts import TaskAttempt
from ojs_aws.domain.json_text import encode
from ojs_aws.worker.delivery.request import delivery_of

if TYPE_CHECKING:
    from ojs_aws.adapters.tasks import Tasks
    from ojs_aws.domain.job import JobRecord


@dataclass(frozen=True, slots=True)
class TaskStarter:
    """Starts the tasks of attempts.

    :ivar group: of the deployment's tasks.
    :ivar url: of the API, with the path that operations are below.
    :ivar token: returns the token for a job's running attempt.
    """

    tasks: Tasks
    group: str
    url: str
    token: Callable[[JobRecord], str]

    def start(self, binding: TaskBinding, record: JobRecord) -> None:
        """Start the task of a job; what it raises is what ``Tasks.run`` raises.

        Makes one call.
        """
        attempt = TaskAttempt.of(record)
        environment = {
            "OJS_API_URL": self.url,
            "OJS_JOB_ID": record.id,
            "OJS_JOB_TYPE": record.type,
            "OJS_ATTEMPT": str(record.attempt),
            "OJS_DELIVERY_ID": delivery_of(attempt.reservation_id),
            "OJS_TOKEN": self.token(record),
        }
        if said := binding.config.render():
            environment[CONFIG_VARIABLE] = encode(said)
        self.tasks.run(binding, attempt, self.group, environment)
