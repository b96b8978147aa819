"""Translate between calls of Celery's tasks and jobs."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from kombu.utils import json as celery_json

from ojs_aws.domain.attributes import ID_PATTERN, MAX_TYPE_LENGTH
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue

META: Final = "celery"
"""The member of a job's ``meta`` that has what only Celery knows."""
ENDLESS: Final = 1000
"""Attempts of a task whose ``max_retries`` is None."""
_CELERYS: Final = re.compile(ID_PATTERN.replace("-7", "-4"))
_CARRIED: Final = ("link", "link_error", "chain", "headers")


class NotBridgedError(ValueError):
    """Reports a call of a task that cannot become a job; the message says what to do instead."""


@dataclass(frozen=True, slots=True)
class TaskCall:
    """Holds the call of a task that a job carries.

    :ivar task_id: Celery's id of it.
    :ivar more: signatures that follow, and headers, by Celery's names.
    """

    task_id: str
    args: list[Any]
    kwargs: dict[str, Any]
    more: Mapping[str, Any]


def job_type_of(name: str) -> str:
    """Return the job type of a task: its name, with what a type cannot have as ``_``."""
    parts = (re.sub("[^a-z0-9_-]", "_", part) for part in name.lower().split("."))
    named = ".".join(part if part[:1].isalpha() else f"t{part}" for part in parts)
    return named[:MAX_TYPE_LENGTH]


def queue_name(name: str) -> str:
    """Return the queue of a job for one of Celery, with what a name cannot have as ``-``."""
    return re.sub("[^a-z0-9.-]", "-", name.lower()).lstrip(".-") or "default"


def is_job_id(task_id: str) -> bool:
    """Return whether an id is a UUIDv7, as those of jobs are; Celery makes others."""
    return re.fullmatch(ID_PATTERN, task_id) is not None


def job_id_of(task_id: str) -> str:
    """Return the id of a task's job: always the same for the same task id.

    A UUIDv4, as Celery makes them, gets 7 as its version. Another id is hashed.
    """
    if is_job_id(task_id):
        return task_id
    digits = task_id
    if not _CELERYS.fullmatch(task_id):
        hashed = hashlib.sha256(task_id.encode("utf-8", "surrogatepass")).digest()
        digits = str(uuid.UUID(bytes=hashed[:16], version=4))
    return f"{digits[:14]}7{digits[15:]}"


def native(value: object) -> Any:
    """Return a value as JSON has it, by Celery's own encoding of dates, UUIDs and decimals.

    :raises NotBridgedError: JSON cannot carry it.
    """
    try:
        return json.loads(celery_json.dumps(value))
    except (TypeError, ValueError) as problem:
        raise NotBridgedError(
            f"JSON cannot carry this: {problem}. Send ids and plain values, or leave the task "
            "with Celery."
        ) from problem


def restored(value: JsonValue) -> Any:
    """Return a value as it was before :func:`native`."""
    return celery_json.loads(json.dumps(value))


def job_of(
    name: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    options: Mapping[str, Any],
    task: Any = None,
) -> Job:
    """Return the job of a call.

    :param options: those of ``apply_async``; ``queue`` is a name, and ``task_id`` is there.
    :param task: the task, if this process knows it.
    :raises NotBridgedError: the call is part of a chord, or JSON cannot carry it.
    :raises InvalidRequestError: a value that a job cannot have, such as the name of the queue.
    """
    if options.get("chord"):
        raise NotBridgedError(
            f"{name} is in the header of a chord, which counts in Celery's result backend. Use a "
            "batch (docs/workflows.md), or leave the queue with Celery."
        )
    placed, named = _placed(task, list(args), dict(kwargs))
    about: dict[str, JsonValue] = {"task": name}
    about |= {key: native(options[key]) for key in _CARRIED if options.get(key)}
    about |= {
        key: [about[key]] for key in ("link", "link_error") if isinstance(about.get(key), dict)
    }
    job_id = job_id_of(options["task_id"])
    if job_id != options["task_id"]:
        about["id"] = options["task_id"]
    if named:
        about["has_keywords"] = True
    job = Job(
        job_type_of(name),
        native([*placed, named] if named else placed),
        id=job_id,
        queue=queue_name(options["queue"]),
        meta={META: about},
        retry={"max_attempts": attempts_of(task), "non_retryable_errors": ["timeout"]},
    )
    if options.get("priority") is not None:
        job["priority"] = int(options["priority"])
    if (limit := options.get("time_limit")) is not None:
        job["timeout"] = math.ceil(limit)
    for attribute, moment in (
        ("scheduled_at", options.get("eta") or options.get("countdown")),
        ("expires_at", options.get("expires")),
    ):
        if moment:
            job[attribute] = _instant(moment)
    return job


def call_of(job: Job) -> TaskCall:
    """Return the call that a job carries."""
    about = job.meta.get(META)
    more: dict[str, Any] = about if isinstance(about, dict) else {}
    args: list[Any] = restored(job.args)
    kwargs = args.pop() if more.get("has_keywords") else {}
    return TaskCall(more.get("id", job.id), args, kwargs, restored(more))


def attempts_of(task: Any) -> int:
    """Return how often a task runs at most, its retries included, by what it declares."""
    retries = getattr(task, "max_retries", 3)
    named = getattr(task, "retry_kwargs", {}).get("max_retries", retries)
    return ENDLESS if None in {retries, named} else max(retries, named) + 1


def _placed(task: Any, args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments as typed jobs send them: keywords take their places where they have some."""
    try:
        parameters = inspect.signature(task.run).parameters.values()
    except (AttributeError, TypeError, ValueError):
        return args, kwargs
    places = [each for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD][len(args) :]
    if kwargs.keys() <= {each.name for each in places}:
        while places and places[-1].name not in kwargs:
            places.pop()
    if all(each.name in kwargs or each.default is not each.empty for each in places):
        args += [kwargs.pop(each.name, each.default) for each in places]
    return args, kwargs


def _instant(moment: Any) -> str:
    """Return when something is due: an instant (UTC where it names no zone), or seconds from now.

    Celery sends naive datetimes likewise.
    """
    if isinstance(moment, (int, float)):
        return f"+{max(moment, 0):.3f}s"
    read = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    aware: datetime = read if read.tzinfo else read.replace(tzinfo=UTC)
    return aware.isoformat()
