"""Suspends bindings whose tasks cannot start, and resumes them when one does (ojs-serverless, 7.2).

RunTask accepts a task whose image cannot be pulled. Only the task's end says so, so a trial is over
when a task has started, and not when ECS has accepted it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ojs_aws.domain.bindings.stopped_tasks import Task
from ojs_aws.domain.bindings.tasks import TaskBinding
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.bindings import QueueBindings

_logger = logging.getLogger(__name__)


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
