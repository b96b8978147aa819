"""Run Django's tasks in a worker, and translate between jobs and the results of tasks."""

from __future__ import annotations

import functools
import inspect
import os
import platform
import traceback
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from django.utils.module_loading import import_string

from ojs_aws.contrib.django.database import with_own_connections
from ojs_aws.contrib.django.options import make_client
from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.synchronous import in_thread
from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.worker.failure import JobError, PermanentError

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
MAX_TRACEBACK: Final = 8000
"""Characters of a traceback that are kept, from its end."""

task_jobs: Final = Jobs()
"""The one job that runs all tasks."""


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


task_jobs.configure(make_client)


@task_jobs.job(TYPE, context=True)
async def run_task(ctx: JobContext, args: list[Any], keywords: dict[str, Any]) -> Any:
    """Run the task that the job names.

    :raises PermanentError: it names none; a retry would find the same.
    :raises JobError: the task failed.
    """
    try:
        task = task_of(ctx.job)
    except NoTaskError as problem:
        raise PermanentError(str(problem)) from None
    result = _running(ctx)
    sender = type(task.get_backend())
    await task_started.asend(sender=sender, task_result=result)
    given = [TaskContext(task_result=result), *args] if task.takes_context else args
    try:
        value = normalize_json(await _call(task, given, keywords))
    except JobError:
        raise
    except Exception as problem:
        failure = _failure(problem)
        if ctx.attempt >= (ctx.job.max_attempts or ctx.attempt):
            result.errors.append(
                TaskError(
                    exception_class_path=failure.details[CLASS],
                    traceback=failure.details[TRACEBACK],
                )
            )
            change(result, status=TaskResultStatus.FAILED, finished_at=datetime.now(UTC))
            await task_finished.asend(sender=sender, task_result=result)
        raise failure from problem
    change(
        result,
        status=TaskResultStatus.SUCCESSFUL,
        finished_at=datetime.now(UTC),
        _return_value=value,
    )
    await task_finished.asend(sender=sender, task_result=result)
    return value


async def _call(task: Any, args: list[Any], keywords: dict[str, Any]) -> object:
    if inspect.iscoroutinefunction(task.func):
        return await task.func(*args, **keywords)
    call = functools.partial(with_own_connections(task.func), *args, **keywords)
    return await in_thread(f"ojs-{task.name}", call)


def _running(ctx: JobContext) -> Any:
    """Return the result of the attempt that begins, as the task's context shows it."""
    result = result_of(ctx.job)
    now = datetime.now(UTC)
    workers = [*result.worker_ids[: ctx.attempt - 1]]
    workers += [""] * (ctx.attempt - 1 - len(workers))
    change(
        result,
        status=TaskResultStatus.RUNNING,
        started_at=result.started_at or now,
        last_attempted_at=now,
        worker_ids=[*workers, _worker()],
    )
    return result


def _worker() -> str:
    return f"{platform.node()}:{os.getpid()}"


def _failure(problem: Exception) -> JobError:
    kind = type(problem)
    text = "".join(traceback.format_exception(problem))
    return JobError(
        str(problem) or kind.__name__,
        type=kind.__name__,
        details={
            CLASS: f"{kind.__module__}.{kind.__qualname__}",
            TRACEBACK: text[-MAX_TRACEBACK:],
            WORKER: _worker(),
        },
    )
