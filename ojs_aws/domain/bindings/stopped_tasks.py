"""Reads tasks as ECS describes them, and decides what a task's end means for its job.

An event of EventBridge and an answer to DescribeTasks have the same form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from ojs_aws.domain.bindings.config import (
    CONFIG_VARIABLE,
    NO_CONFIG,
    BindingConfig,
    stored_config,
)
from ojs_aws.domain.errors import JsonValue, OjsError
from ojs_aws.domain.jobs.task_attempts import TaskAttempt, read_started_by
from ojs_aws.domain.timestamps import Instant

TASK_FAILED: Final = "task_failed"
STOPPED: Final = "STOPPED"
_EXITED: Final = "EssentialContainerExited"
_NOT_THE_JOBS_FAULT: Final = frozenset(
    {"TaskFailedToStart", "SpotInterruption", "TerminationNotice"}
)
"""Codes of ends by which the job's program never ran, or AWS took the machine away."""
_CANNOT_WORK: Final = (
    "CannotPull",  # ...ContainerError, ...ImageManifestError, ...ECRContainerError
    "CannotCreateContainerError",
    "CannotStartContainerError",
    "CannotCreateVolumeError",
    "ResourceInitializationError",
    "exec format error",
)
"""What ECS says where the next task of the definition will not start either."""
_TRANSIENT: Final = ("toomanyrequests", "rate exceeded", "rate limit", "throttl", "capacity")
"""What the same errors say, in lower case, where it soon may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEnd:
    """Says how a task ended.

    :ivar is_complete: the job's container exited by itself, with 0.
    :ivar is_given_back: the attempt does not count.
    :ivar broken: why no task of the definition will start; empty unless ECS says so.
    :ivar code: ``exit.3`` for the exit code 3, else ``task_failed``: retry policies may name it.
    :ivar message: for people.
    """

    is_complete: bool
    is_given_back: bool
    broken: str
    code: str
    message: str
    details: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Describes a task that runs a job, or did.

    :ivar definition: ARN of its task definition, with the revision.
    :ivar started_at: when its containers ran first; None before, and in an event.
    :ivar end: how it ended; None while it runs.
    :ivar config: of its binding, when it was started.
    """

    arn: str
    cluster: str
    group: str
    attempt: TaskAttempt
    definition: str
    started_at: Instant | None
    end: TaskEnd | None
    config: BindingConfig = NO_CONFIG

    def is_overdue(self, now: Instant) -> bool:
        """Return whether it runs for longer than its binding allows, since its start (2.1)."""
        longest = self.config.timeout_ms
        if longest is None or self.started_at is None:
            return False
        return now >= self.started_at + longest

    @property
    def proves_definition(self) -> bool:
        """Return whether its containers ran, so that its definition works."""
        return self.started_at is not None and (self.end is None or not self.end.broken)


def read_task(described: Mapping[str, Any]) -> Task | None:
    """Return a task as ECS describes it; None for one that runs no job."""
    attempt = read_started_by(str(described.get("startedBy") or ""))
    if attempt is None:
        return None
    is_over = described.get("lastStatus") == STOPPED
    started = described.get("startedAt")
    return Task(
        arn=str(described.get("taskArn", "")),
        cluster=str(described.get("clusterArn", "")),
        group=str(described.get("group", "")),
        attempt=attempt,
        definition=str(described.get("taskDefinitionArn", "")),
        started_at=Instant(int(started.timestamp() * 1000))
        if isinstance(started, datetime)
        else None,
        end=_end(described) if is_over else None,
        config=_config(described),
    )


def _config(described: Mapping[str, Any]) -> BindingConfig:
    """Return the config that a container's variables hold; an empty one where it is no config."""
    overrides: Mapping[str, Any] = described.get("overrides") or {}
    for container in overrides.get("containerOverrides") or []:
        for variable in container.get("environment") or []:
            if variable.get("name") == CONFIG_VARIABLE:
                with suppress(OjsError):
                    return stored_config(str(variable.get("value")))
    return NO_CONFIG


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
    is_complete = is_by_itself and exit_code == 0
    broken = "" if is_complete else _broken([reason, *_reasons(described.get("containers") or [])])
    return TaskEnd(
        is_complete=is_complete,
        is_given_back=bool(broken) or stop_code in _NOT_THE_JOBS_FAULT,
        broken=broken,
        code=f"exit.{exit_code}" if exit_code else TASK_FAILED,
        message=f"The task stopped{exited}: {why}.",
        details={name: value for name, value in details.items() if value is not None},
    )


def _broken(reasons: Sequence[str]) -> str:
    """Return the first reason by which no task of the definition starts; empty if none does."""
    for each in reasons:
        is_transient = any(word in each.lower() for word in _TRANSIENT)
        if not is_transient and any(word in each for word in _CANNOT_WORK):
            return each
    return ""


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
