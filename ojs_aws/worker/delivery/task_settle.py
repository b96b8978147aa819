"""Settles the jobs of tasks that stopped without a report (ojs-serverless, 7).

EventBridge sends ECS's events to a queue, which invokes this. An event counts while its attempt
still holds the job: a task that reported ACK or FAIL is over for us, and an event may come twice.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.domain.bindings.functions import wait_ms
from ojs_aws.domain.bindings.stopped_tasks import TASK_FAILED, Task, TaskEnd, read_task
from ojs_aws.domain.errors import BackendError, ConflictError, JsonValue, NotFoundError
from ojs_aws.worker.delivery.dispatch import members
from ojs_aws.worker.delivery.settle import finally_failed, settled_each

if TYPE_CHECKING:
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.services.backend import Backend
    from ojs_aws.worker.delivery.task_suspension import TaskSuspensions

TIMEOUT: Final = "timeout"
_UNDELIVERED: Final = "UndeliveredError"
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TaskSettler:
    """Reports the ends of tasks.

    :ivar group: of the deployment's tasks; others are passed over.
    :ivar suspensions: suspends the bindings of definitions that cannot start.
    """

    backend: Backend
    group: str
    suspensions: TaskSuspensions

    def __call__(
        self, event: Mapping[str, Any], _context: object = None
    ) -> dict[str, list[dict[str, str]]]:
        """Settle the jobs of the tasks that the events of a batch are about.

        :returns: the partial batch response: events that must come back, as the backend could not
            be reached.
        :raises ValueError: no event of an SQS event source mapping.
        """
        return settled_each(self.backend, event, self._must_come_back)

    def _must_come_back(self, raw: Mapping[str, Any]) -> bool:
        try:
            task = read_task(json.loads(str(raw.get("body", "")))["detail"])
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            _logger.error("Event %s is dropped: %s", raw.get("messageId"), problem)
            return False
        return task is not None and not self.settle(task)

    def settle(self, task: Task) -> bool:
        """Settle the job of a task that has stopped; return False if that must be repeated.

        Makes one read, and nothing else if the attempt is over.
        """
        if task.end is None or task.group != self.group:
            return True
        job_id = task.attempt.job_id
        try:
            record = self.backend.changer.find(job_id)
            if record is not None and task.attempt.which.is_running(record):
                self._report(record, task, task.end)
        except (ConflictError, NotFoundError) as refusal:
            _logger.warning("The end of a task of job %s no longer counts: %s", job_id, refusal)
        except BackendError as problem:
            _logger.warning("The end of a task of job %s comes back: %s", job_id, problem)
            return False
        except Exception:  # a bug must not lose the other events of the batch
            _logger.exception("The end of a task of job %s comes back", job_id)
            return False
        return True

    def _report(self, record: JobRecord, task: Task, end: TaskEnd) -> None:
        jobs, which = self.backend.jobs, task.attempt.which
        if end.is_complete:
            jobs.ack(record.id, None, None, which=which, wakes_next=True)
        elif end.is_given_back:
            if end.broken:
                now = self.backend.clock.now()
                self.suspensions.suspend(record.queue, task.definition, end.broken, now)
            error = _error(_UNDELIVERED, end, "SNOOZE")
            delay_ms = wait_ms(record.uncounted_attempts)
            jobs.fail.requeue(
                record.id,
                None,
                members(error),
                which=which,
                delay_ms=delay_ms,
                start=record,
                wakes_next=True,
            )
        else:
            error = finally_failed(_error(TASK_FAILED, end, end.code), task.config)
            jobs.fail(record.id, None, members(error), which=which, start=record, wakes_next=True)

    def time_out(self, record: JobRecord, task: Task) -> None:
        """Fail the attempt of a task that runs for longer than its binding allows.

        :raises ConflictError: the attempt is over.
        """
        text = f"The task ran for longer than its binding allows: {task.config.timeout_ms} ms."
        error: dict[str, JsonValue] = {"type": TIMEOUT, "code": TIMEOUT, "message": text}
        error["details"] = {"task_arn": task.arn}
        final = members(finally_failed(error, task.config))
        self.backend.jobs.fail(
            record.id, None, final, which=task.attempt.which, start=record, wakes_next=True
        )


def _error(kind: str, end: TaskEnd, code: str) -> dict[str, JsonValue]:
    return {"type": kind, "code": code, "message": end.message, "details": {**end.details}}
