"""Reads tasks as ECS describes them, and decides what a task's end means for its job.

An event of EventBridge and an answer to DescribeTasks have the same form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.jobs.task_attempts import TaskAttempt, read_started_by

TASK_FAILED: Final = "task_failed"
STOPPED: Final = "STOPPED"
_EXITED: Final = "EssentialContainerExited"
_NOT_THE_JOBS_FAULT: Final = frozenset(
    {"TaskFailedToStart", "SpotInterruption", "TerminationNotice"}
)
"""Codes of ends by which the job's program never ran, or AWS took the machine away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEnd:
    """Says how a task ended.

    :ivar is_complete: the job's container exited by itself, with 0.
    :ivar is_given_back: the attempt does not count.
    :ivar message: for people.
    """

    is_complete: bool
    is_given_back: bool
    message: str
    details: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Describes a task that runs a job, or did.

    :ivar end: how it ended; None while it runs.
    """

    arn: str
    cluster: str
    group: str
    attempt: TaskAttempt
    end: TaskEnd | None


def read_task(described: Mapping[str, Any]) -> Task | None:
    """Return a task as ECS describes it; None for one that runs no job."""
    attempt = read_started_by(str(described.get("startedBy") or ""))
    if attempt is None:
        return None
    is_over = described.get("lastStatus") == STOPPED
    return Task(
        arn=str(described.get("taskArn", "")),
        cluster=str(described.get("clusterArn", "")),
        group=str(described.get("group", "")),
        attempt=attempt,
        end=_end(described) if is_over else None,
    )


def _end(described: Mapping[str, Any]) -> TaskEnd:
    stop_code = str(described.get("stopCode") or "")
    reason = str(described.get("stoppedReason") or "")
    containers = _containers(described)
    exit_code, said = _exit_code(containers), _reasons(containers)
    is_by_itself = stop_code in {"", _EXITED}  # a container that got SIGTERM may exit with 0
    why = ". ".join(each.rstrip(".") for each in (reason, *said) if each) or "no reason given"
    exited = "" if exit_code is None else f" with exit code {exit_code}"
    details: dict[str, JsonValue] = {
        "exit_code": exit_code,
        "stop_code": stop_code or None,
        "stopped_reason": reason or None,
        "task_arn": str(described.get("taskArn", "")),
    }
    return TaskEnd(
        is_complete=is_by_itself and exit_code == 0,
        is_given_back=stop_code in _NOT_THE_JOBS_FAULT,
        message=f"The task stopped{exited}: {why}.",
        details={name: value for name, value in details.items() if value is not None},
    )


def _containers(described: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the container that got the job; all of them where the task does not say which."""
    overrides: Mapping[str, Any] = described.get("overrides") or {}
    named = {each.get("name") for each in overrides.get("containerOverrides") or []}
    containers: Sequence[Mapping[str, Any]] = described.get("containers") or []
    return [each for each in containers if each.get("name") in named] or containers


def _exit_code(containers: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the first exit code that is not 0; None if a container has none."""
    codes = [each.get("exitCode") for each in containers]
    if failed := [code for code in codes if code]:
        return int(failed[0])
    return 0 if codes and all(code == 0 for code in codes) else None


def _reasons(containers: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(each["reason"]) for each in containers if each.get("reason")]
