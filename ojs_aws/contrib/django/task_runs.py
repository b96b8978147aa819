"""Run Django's tasks in a worker."""

from __future__ import annotations

import functools
import inspect
import os
import platform
import traceback
from datetime import UTC, datetime
from typing import Any, Final

from ojs_aws.contrib.django.database import with_own_connections
from ojs_aws.contrib.django.options import make_client
from ojs_aws.contrib.django.task_results import (
    CLASS,
    TRACEBACK,
    TYPE,
    WORKER,
    NoTaskError,
    TaskContext,
    TaskError,
    TaskResultStatus,
    change,
    normalize_json,
    result_of,
    task_finished,
    task_of,
    task_started,
)
from ojs_aws.middleware.chain.threads import in_thread
from ojs_aws.middleware.context import JobContext
from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.worker.failure import JobError, PermanentError

MAX_TRACEBACK: Final = 8000
"""Characters of a traceback that are kept, from its end."""

task_jobs: Final = Jobs()
"""The one job that runs all tasks."""
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
