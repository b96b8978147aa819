"""Describes ECS tasks: what binds job types to one, which attempt it runs, what its end means.

An event of EventBridge and an answer to DescribeTasks describe a task in almost the same form. The
instants of an event are texts, which nobody reads.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from ojs_aws.domain.bindings import (
    NO_CONFIG,
    Binding,
    BindingConfig,
    stored_config,
    with_config,
)
from ojs_aws.domain.errors import JsonValue, OjsError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.held_job import AttemptRef
from ojs_aws.domain.timestamps import Instant

TASK_WORKER: Final = "tasks_"
"""Begins the worker id of jobs that were claimed for tasks."""
TASK_FAILED: Final = "task_failed"
STOPPED: Final = "STOPPED"
CONFIG_VARIABLE: Final = "OJS_BINDING_CONFIG"
"""The variable of a task's container that holds the config of its binding, as JSON. ECS describes a
task with its overrides, so the config of an attempt is known when it ends."""
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
"""Parts of ECS's reasons after which the next task of the definition will not start either."""
_TRANSIENT: Final = ("toomanyrequests", "rate exceeded", "rate limit", "throttl", "capacity")
"""Parts of such reasons, in lower case, after which it soon may start."""
_STARTED_BY: Final = re.compile(
    r"ojs_(?P<job>[0-9a-f-]{36})_(?P<attempt>[0-9]{1,10})_(?P<reservation>[0-9A-Za-z_-]{1,64})",
    re.ASCII,
)


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


def task_of(job: JobRecord) -> str:
    """Return what ECS lists the task by that runs an active job; empty if none does."""
    held = job.reservation
    is_task = held is not None and held.worker_id.startswith(TASK_WORKER)
    return TaskAttempt.of(job).started_by if is_task else ""


def read_started_by(text: str) -> TaskAttempt | None:
    """Return the attempt that a task names; None for a task that runs no job."""
    match = _STARTED_BY.fullmatch(text)
    if match is None:
        return None
    return TaskAttempt(
        job_id=match["job"], attempt=int(match["attempt"]), reservation_id=match["reservation"]
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
        """Return whether it runs for longer than its binding allows (ojs-serverless, 2.1)."""
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
    """Return the first exit code that is not 0; 0 if all are 0; None if one is missing."""
    codes = [each.get("exitCode") for each in containers]
    if failed := [code for code in codes if code]:
        return int(failed[0])
    return 0 if codes and all(code == 0 for code in codes) else None


def _reasons(containers: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(each["reason"]) for each in containers if each.get("reason")]
