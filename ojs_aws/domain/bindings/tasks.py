"""Describes what binds job types of a queue to an ECS task."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from ojs_aws.domain.bindings.functions import Binding, with_config


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

    @property
    def family(self) -> str:
        """Return the family of the task definition."""
        return family_of(self.target)


def family_of(definition: str) -> str:
    """Return the family of a task definition, whatever its revision."""
    return definition.rpartition("/")[2].partition(":")[0]


def read_task_bindings(text: str) -> list[TaskBinding]:
    """Return the bindings that a JSON array describes, as the construct writes it."""
    return [TaskBinding(**with_config(each)) for each in json.loads(text)]
