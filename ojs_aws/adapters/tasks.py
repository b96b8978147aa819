"""Calls ECS: starts, lists, describes and stops the tasks that run jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from ojs_aws.adapters.aws_errors import answer_of, error_code, refusals
from ojs_aws.adapters.errors import translated
from ojs_aws.adapters.functions import TargetError
from ojs_aws.domain.bindings.tasks import TaskAttempt, TaskBinding
from ojs_aws.domain.errors import BackendUnavailableError

MOST_DESCRIBED: Final = 100
"""Tasks of one DescribeTasks."""
_WRONG: Final = {
    "AccessDeniedException": "may not be started by the dispatcher",
    "AccessDenied": "may not be started by the dispatcher",
    "ClusterNotFoundException": "has a cluster that does not exist",
    "InvalidParameterException": "cannot be started as the stack says",
    "ClientException": "cannot be started as the stack says",
    "PlatformUnknownException": "needs a platform that does not exist",
    "PlatformTaskDefinitionIncompatibilityException": "does not fit its platform",
    "UnsupportedFeatureException": "needs a feature that its region does not have",
}
"""What an answer says of the task definition, and nothing of the job (ojs-serverless, 7.2)."""
_STARTED: Final = "ConflictException"
"""Says that the token of the attempt has a task already."""
_FULL: Final = ("apacity is unavailable", "limit on the number of tasks")
"""Parts of messages about capacity, which ECS sends with the code of a client's mistake."""


class EcsClient(Protocol):
    """The calls of botocore's client that are made here."""

    def run_task(self, **given: Any) -> Mapping[str, Any]:
        """Start tasks."""

    def list_tasks(self, **given: Any) -> Mapping[str, Any]:
        """List tasks."""

    def describe_tasks(self, **given: Any) -> Mapping[str, Any]:
        """Describe tasks."""

    def stop_task(self, **given: Any) -> Mapping[str, Any]:
        """Stop a task."""


@dataclass(frozen=True, slots=True)
class Tasks:
    """Starts, finds and stops tasks."""

    client: EcsClient

    def run(
        self, binding: TaskBinding, attempt: TaskAttempt, group: str, environment: Mapping[str, str]
    ) -> None:
        """Start the task of an attempt; one that has been started is not started again.

        Makes one call.

        :param group: of the deployment's tasks.
        :param environment: what the job's container gets beside its own.
        :raises TargetError: there is no such task definition, or it may not be started.
        :raises BackendUnavailableError: ECS certainly did not start it: it has no capacity now.
        :raises BackendError: it may have started it.
        """
        network = {
            "subnets": [*binding.subnets],
            "securityGroups": [*binding.security_groups],
            "assignPublicIp": "ENABLED" if binding.has_public_ip else "DISABLED",
        }
        variables = [{"name": name, "value": value} for name, value in environment.items()]
        with translated("RunTask"):
            try:
                answer = self.client.run_task(
                    cluster=binding.cluster,
                    taskDefinition=binding.target,
                    count=1,
                    clientToken=attempt.client_token,
                    startedBy=attempt.started_by,
                    group=group,
                    **_place(binding),
                    networkConfiguration={"awsvpcConfiguration": network},
                    overrides={
                        "containerOverrides": [
                            {"name": binding.container, "environment": variables}
                        ]
                    },
                )
            except refusals() as problem:
                if error_code(problem) == _STARTED:
                    return
                raise _refusal(binding, problem) from problem
        if not answer.get("tasks"):
            reasons = [str(each.get("reason")) for each in answer.get("failures") or []]
            text = f"ECS started no task: {', '.join(reasons) or 'no reason given'}."
            raise BackendUnavailableError(text)

    def listed(self, cluster: str, family: str, *, are_over: bool) -> Iterator[list[str]]:
        """Return the ARNs of a family's tasks, up to 100 at a time.

        Makes one call for each hundred.

        :param are_over: those that ECS has stopped within the last hour; else those that run, or
            are to run.
        """
        marker: dict[str, str] = {}
        while True:
            with translated("ListTasks"):
                answer = self.client.list_tasks(
                    cluster=cluster,
                    family=family,
                    desiredStatus="STOPPED" if are_over else "RUNNING",
                    maxResults=MOST_DESCRIBED,
                    **marker,
                )
            if arns := [*answer.get("taskArns", ())]:
                yield arns
            if not answer.get("nextToken"):
                return
            marker = {"nextToken": str(answer["nextToken"])}

    def described(self, cluster: str, arns: Sequence[str]) -> list[Mapping[str, Any]]:
        """Return what ECS knows of some tasks, 100 at most; those that it forgot are missing.

        Makes one call.
        """
        with translated("DescribeTasks"):
            return [*self.client.describe_tasks(cluster=cluster, tasks=[*arns]).get("tasks", ())]

    def stop(self, cluster: str, arn: str, reason: str) -> None:
        """Stop a task: its containers get SIGTERM, and SIGKILL after their stop timeouts.

        Makes one call.
        """
        with translated("StopTask"):
            self.client.stop_task(cluster=cluster, task=arn, reason=reason[:255])


def _place(binding: TaskBinding) -> dict[str, Any]:
    """Return on whose machines the task runs."""
    if not binding.capacity:
        return {"launchType": "FARGATE"}
    return {"capacityProviderStrategy": [{"capacityProvider": binding.capacity, "weight": 1}]}


def _refusal(binding: TaskBinding, problem: Exception) -> Exception:
    """Return what a refused RunTask means."""
    message = str(answer_of(problem).get("Error", {}).get("Message", ""))
    if any(each in message for each in _FULL):
        return BackendUnavailableError(f"ECS has no capacity now: {message}")
    if wrong := _WRONG.get(error_code(problem)):
        return TargetError(binding.target, wrong)
    return problem
