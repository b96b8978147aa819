"""ECS as far as bindings of tasks need it, after its API reference: idempotent starts, and ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ojs_aws.adapters.aws_errors import AwsError

PAGE = 2
"""Tasks of one page, so that tests meet several."""


def refusal(operation: str, code: str, message: str = "", status: int = 400) -> AwsError:
    """An error as botocore raises it."""
    answer = {"Error": {"Code": code, "Message": message}}
    return AwsError({**answer, "ResponseMetadata": {"HTTPStatusCode": status}}, operation)


@dataclass
class FakeEcs:
    """A region's ECS.

    :ivar now_ms: the clock.
    :ivar tasks: all tasks, by ARN.
    :ivar faults: what the next call of an operation meets: an error, and whether it took effect.
    :ivar failures: reasons for which RunTask starts nothing, while there are some.
    :ivar calls: the names of all calls.
    """

    now_ms: Callable[[], int]
    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)
    faults: dict[str, tuple[Exception, bool]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    by_token: dict[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)

    def _call(self, operation: str, effect: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        self.calls.append(operation)
        problem, has_effect = self.faults.pop(operation, (None, True))
        answer = effect() if has_effect else {}
        if problem is not None:
            raise problem
        return answer

    def run_task(self, **given: Any) -> dict[str, Any]:
        return self._call("RunTask", lambda: self._run(given))

    def _run(self, given: Mapping[str, Any]) -> dict[str, Any]:
        if self.failures:
            failures = [{"arn": given["cluster"], "reason": each} for each in self.failures]
            return {"tasks": [], "failures": failures}
        assert len(given["startedBy"]) <= 128
        assert len(given["clientToken"]) <= 64
        assert set(given["startedBy"]) <= {
            *"-_",
            *map(chr, range(48, 58)),
            *map(chr, range(97, 123)),
        }
        if known := self.by_token.get(given["clientToken"]):
            if known[1] != given:
                raise refusal("RunTask", "ConflictException")
            return {"tasks": [self.tasks[known[0]]], "failures": []}
        arn = f"{given['cluster'].replace(':cluster/', ':task/')}/{len(self.tasks)}"
        (override,) = given["overrides"]["containerOverrides"]
        self.tasks[arn] = {
            "taskArn": arn,
            "clusterArn": given["cluster"],
            "taskDefinitionArn": given["taskDefinition"],
            "startedBy": given["startedBy"],
            "group": given["group"],
            "lastStatus": "PROVISIONING",
            "desiredStatus": "RUNNING",
            "overrides": {"containerOverrides": [override]},
            "containers": [{"name": override["name"]}, {"name": "sidecar"}],
        }
        self.by_token[given["clientToken"]] = arn, given
        return {"tasks": [self.tasks[arn]], "failures": []}

    def list_tasks(self, **given: Any) -> dict[str, Any]:
        return self._call("ListTasks", lambda: self._list(given))

    def _list(self, given: Mapping[str, Any]) -> dict[str, Any]:
        found = [
            arn
            for arn, each in self.tasks.items()
            if each["clusterArn"] == given["cluster"]
            and each["taskDefinitionArn"].split("/")[-1].split(":")[0] == given["family"]
            and each["desiredStatus"] == given["desiredStatus"]
        ]
        begin = int(given.get("nextToken", 0))
        more = {"nextToken": str(begin + PAGE)} if len(found) > begin + PAGE else {}
        return {"taskArns": found[begin : begin + PAGE], **more}

    def describe_tasks(self, **given: Any) -> dict[str, Any]:
        known = [self.tasks[arn] for arn in given["tasks"] if arn in self.tasks]
        return self._call("DescribeTasks", lambda: {"tasks": known, "failures": []})

    def stop_task(self, **given: Any) -> dict[str, Any]:
        def effect() -> dict[str, Any]:
            self.end(given["task"], 143, "UserInitiated", given["reason"])
            return {"task": self.tasks[given["task"]]}

        return self._call("StopTask", effect)

    def start(self, arn: str) -> None:
        """Let the containers of a task run."""
        started = datetime.fromtimestamp(self.now_ms() / 1000, UTC)
        self.tasks[arn] |= {"lastStatus": "RUNNING", "startedAt": started}

    def end(
        self,
        arn: str,
        exit_code: int | None,
        stop_code: str = "EssentialContainerExited",
        reason: str = "Essential container in task exited",
        **container: Any,
    ) -> None:
        """End a task."""
        code = {} if exit_code is None else {"exitCode": exit_code}
        task = self.tasks[arn]
        task["containers"][0] |= {**code, **container}
        task["containers"][1] |= {"exitCode": 0}
        task |= {
            "lastStatus": "STOPPED",
            "desiredStatus": "STOPPED",
            "stopCode": stop_code,
            "stoppedReason": reason,
            "stoppedAt": datetime.fromtimestamp(self.now_ms() / 1000, UTC),
        }
