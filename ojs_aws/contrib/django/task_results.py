"""Find the tasks of Django, and translate between jobs and their results."""

from __future__ import annotations

from datetime import datetime
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from django.utils.module_loading import import_string

from ojs_aws.domain.envelope import Job

IS_BUILT_IN: Final = find_spec("django.tasks") is not None
PACKAGE: Final = "django.tasks" if IS_BUILT_IN else "django_tasks"

_base: Any = import_module(f"{PACKAGE}.base")
_signals: Any = import_module(f"{PACKAGE}.signals")

BaseTaskBackend: Any = import_module(f"{PACKAGE}.backends.base").BaseTaskBackend
Task: Any = _base.Task
TaskContext: Any = _base.TaskContext
TaskError: Any = _base.TaskError
TaskResult: Any = _base.TaskResult
TaskResultStatus: Any = _base.TaskResultStatus
TaskResultDoesNotExist: Any = import_module(f"{PACKAGE}.exceptions").TaskResultDoesNotExist
normalize_json: Any = import_module(
    "django.utils.json" if IS_BUILT_IN else f"{PACKAGE}.utils"
).normalize_json
task_backends: Any = import_module(PACKAGE).task_backends
task_enqueued: Any = _signals.task_enqueued
task_started: Any = _signals.task_started
task_finished: Any = _signals.task_finished


TYPE: Final = "django.task"
"""The type of the jobs: which task one runs is in its metadata."""

TASK: Final = "django.task"
BACKEND: Final = "django.backend"
CLASS: Final = "exception_class"
TRACEBACK: Final = "traceback"
WORKER: Final = "worker"

_STATUS: Final = {
    "active": TaskResultStatus.RUNNING,
    "completed": TaskResultStatus.SUCCESSFUL,
    "discarded": TaskResultStatus.FAILED,
    "cancelled": TaskResultStatus.FAILED,
}
_ENDS: Final = ("completed_at", "discarded_at", "cancelled_at")


class NoTaskError(LookupError):
    """Reports that the path in a job leads to no task."""


def task_of(job: Job) -> Any:
    """Return the task of a job, as it was enqueued.

    :raises NoTaskError: the path leads to no task. What it leads to is never called.
    """
    path = job.meta.get(TASK)
    try:
        found = import_string(str(path))
    except ImportError:
        found = None
    if job.type != TYPE or not isinstance(found, Task):
        raise NoTaskError(f"{path!r} is no task of this project.")
    scheduled = job.get("scheduled_at")
    return found.using(
        priority=job.priority,
        queue_name=job.queue,
        run_after=_moment(scheduled) if scheduled else None,
        backend=str(job.meta.get(BACKEND)),
    )


def result_of(job: Job) -> Any:
    """Return the result of a job as Django has it.

    Its ``worker_ids`` have an entry for each attempt. A worker's name is known if its attempt
    failed, else the entry is empty.

    :raises TaskResultDoesNotExist: it is no job of a task.
    """
    try:
        task = task_of(job)
    except NoTaskError as problem:
        raise TaskResultDoesNotExist(job.id) from problem
    failures = _failures(job)
    workers = {each.get("attempt"): _details(each).get(WORKER, "") for each in failures}
    started = _moment(job.get("started_at"))
    args, keywords = job.args
    result = TaskResult(
        task=task,
        id=job.id,
        status=_STATUS.get(str(job.state), TaskResultStatus.READY),
        enqueued_at=_moment(job.get("enqueued_at") or job.get("created_at")),
        started_at=started,
        finished_at=next((_moment(job.get(name)) for name in _ENDS if job.get(name)), None),
        last_attempted_at=started,
        args=args,
        kwargs=keywords,
        backend=task.backend,
        errors=[_error(each) for each in failures],
        worker_ids=[str(workers.get(number, "")) for number in range(1, job.attempt + 1)],
    )
    if result.status == TaskResultStatus.SUCCESSFUL:
        change(result, _return_value=job.result)
    return result


def change(result: Any, **values: object) -> None:
    """Set attributes of a result, which is frozen."""
    for name, value in values.items():
        object.__setattr__(result, name, value)


def _failures(job: Job) -> list[dict[str, Any]]:
    listed = job.get("errors")
    found = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return found or ([job.error] if job.error else [])


def _details(failure: dict[str, Any]) -> dict[str, Any]:
    details = failure.get("details")
    return details if isinstance(details, dict) else {}


def _error(failure: dict[str, Any]) -> Any:
    """Return a failure; one that no exception of the task caused has a class of this package."""
    details = _details(failure)
    path = details.get(CLASS) or "ojs_aws.client.JobFailedError"
    text = details.get(TRACEBACK) or f"{failure.get('type')}: {failure.get('message')}"
    return TaskError(exception_class_path=str(path), traceback=str(text))


def _moment(value: object) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else None
