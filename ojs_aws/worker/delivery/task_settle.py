"""Settles the jobs of tasks that stopped without a report, and suspends what cannot start.

EventBridge sends ECS's events to a queue, which invokes this (ojs-serverless, 7). An event counts
while its attempt still holds the job: a task that reported ACK or FAIL is over for us, and an event
may come twice. RunTask accepts a task whose image cannot be pulled. Only the task's end says so, so
a trial is over when a task has started, and not when ECS has accepted it (7.2).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.domain.bindings import wait_ms
from ojs_aws.domain.bindings.tasks import TASK_FAILED, Task, TaskBinding, TaskEnd, read_task
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.timestamps import Instant
from ojs_aws.worker.delivery.settle import finally_failed, is_settled, settled_each
from ojs_aws.worker.directly import members

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.bindings import QueueBindings
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.services.backend import Backend


@dataclass(frozen=True, slots=True)
class TaskSuspensions:
    """Suspends and resumes the bindings of task definitions.

    :ivar bindings: those of the stack. A task of another revision than theirs says nothing.
    """

    states: QueueBindings
    bindings: Sequence[TaskBinding]

    @property
    def families(self) -> list[tuple[str, str]]:
        """Return the clusters and families of the tasks, without repetitions."""
        return sorted({(each.cluster, each.family) for each in self.bindings})

    def suspend(self, queue: str, definition: str, why: str, now: Instant) -> None:
        """Suspend the bindings of a queue that start this task definition.

        Makes a read and an update for each.
        """
        for each in self.bindings:
            if queue in each.queues and each.target == definition:
                _logger.error("The binding %s is suspended: %s", each.name, why)
                reason = f"{definition} cannot start: {why}"
                self.states.suspend(queue, each.name, reason, now)

    def resume(self, tasks: Iterable[Task]) -> None:
        """Resume bindings of which a task has started since they were suspended.

        Makes a read for each queue of tasks that have started, and an update for each such binding.
        What a person suspended stays so.
        """
        latest: dict[str, Instant] = {}
        for task in tasks:
            if task.started_at is not None and task.proves_definition:
                before = latest.get(task.definition, task.started_at)
                latest[task.definition] = max(before, task.started_at)
        proved = {each.name: each for each in self.bindings if each.target in latest}
        for queue in sorted({queue for each in proved.values() for queue in each.queues}):
            for name, found in self.states.of(queue).suspended.items():
                binding = proved.get(name)
                if binding is None or found.is_lasting or latest[binding.target] < found.since:
                    continue
                self.states.end_trial(queue, name, found)


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
        return is_settled("end of a task", task.attempt.job_id, lambda: self._report(task))

    def _report(self, task: Task) -> None:
        """Report how a task ended, if its attempt still holds the job."""
        end, which = task.end, task.attempt.which
        record = self.backend.changer.find(task.attempt.job_id)
        if end is None or record is None or not which.is_running(record):
            return
        jobs = self.backend.jobs
        if end.is_complete:
            jobs.ack(record.id, None, None, which=which, wakes_next=True)
        elif end.is_given_back:
            if end.broken:
                now = self.backend.clock.now()
                self.suspensions.suspend(record.queue, task.definition, end.broken, now)
            jobs.fail.requeue(
                record.id,
                None,
                members(_error(_UNDELIVERED, end, "SNOOZE")),
                which=which,
                delay_ms=wait_ms(record.uncounted_attempts),
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
