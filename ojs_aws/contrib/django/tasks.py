"""Run Django's own tasks as jobs: the backend for the setting ``TASKS``.

Example::

    TASKS = {"default": {"BACKEND": "ojs_aws.contrib.django.tasks.OjsBackend"}}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.utils import timezone

from ojs_aws.contrib.django.options import CLIENTS
from ojs_aws.contrib.django.task_runs import (
    BACKEND,
    TASK,
    TYPE,
    BaseTaskBackend,
    TaskResultDoesNotExist,
    normalize_json,
    result_of,
    task_enqueued,
    task_jobs,
)
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import EnqueueRejectedError, InvalidRequestError, NotFoundError
from ojs_aws.middleware.results import EnqueueResult
from ojs_aws.typed_jobs.clients import sending_client, sending_sync_client

__all__ = ["OjsBackend"]

_RETRY: Final = "retry"
_RUNS: Final = task_jobs  # imported, so that the drain of a test can run what is enqueued here


class OjsBackend(BaseTaskBackend):
    """Enqueues tasks as jobs; ``manage.py ojs_worker`` runs them.

    ``OPTIONS`` may have ``retry``, the retry policy of the jobs: ``{"max_attempts": 1}``.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def enqueue(self, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Send a task, and return its result, which is not there yet.

        :raises OjsError: the server refused it, or could not be reached.
        """
        job = self._job(task, args, kwargs)
        result = self._sent(sending_sync_client(CLIENTS).enqueue(job))
        task_enqueued.send(type(self), task_result=result)
        return result

    async def aenqueue(self, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Send a task from asynchronous code; see :meth:`enqueue`."""
        job = self._job(task, args, kwargs)
        result = self._sent(await sending_client(CLIENTS).enqueue(job))
        await task_enqueued.asend(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> Any:
        """Return the result of a task as it is now.

        :raises TaskResultDoesNotExist: there is no such task, or its job is not kept any more.
        """
        try:
            return result_of(sending_sync_client(CLIENTS).get(result_id))
        except (NotFoundError, InvalidRequestError) as problem:
            raise TaskResultDoesNotExist(result_id) from problem

    async def aget_result(self, result_id: str) -> Any:
        """Return the result of a task as it is now; see :meth:`get_result`."""
        try:
            return result_of(await sending_client(CLIENTS).get(result_id))
        except (NotFoundError, InvalidRequestError) as problem:
            raise TaskResultDoesNotExist(result_id) from problem

    def check(self, **_: Any) -> Iterator[CheckMessage]:
        """Yield what is wrong with the settings."""
        if not apps.is_installed("ojs_aws.contrib.django"):
            hint = "Add 'ojs_aws.contrib.django' to INSTALLED_APPS: its ojs_worker runs the tasks."
            yield Error("The app of the tasks' backend is not installed.", hint=hint, id="ojs.E004")
        if unknown := {*self.options} - {_RETRY}:
            yield Error(
                f"TASKS[{self.alias!r}]['OPTIONS'] has {', '.join(sorted(unknown))}.",
                hint=f"OjsBackend knows the option {_RETRY}.",
                id="ojs.E005",
            )

    def _job(self, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Job:
        self.validate_task(task)
        after = task.run_after
        if after is not None and not settings.USE_TZ and timezone.is_naive(after):
            after = timezone.make_aware(after)
        job = Job(
            TYPE,
            [normalize_json(list(args)), normalize_json(dict(kwargs))],
            queue=task.queue_name,
            priority=task.priority,
            meta={TASK: task.module_path, BACKEND: self.alias},
        )
        if after is not None:
            job.scheduled_at = after
        if _RETRY in self.options:
            job[_RETRY] = self.options[_RETRY]
        return job

    def _sent(self, sent: EnqueueResult) -> Any:
        if sent.is_dropped:
            raise EnqueueRejectedError(f"The middleware {sent.dropped_by!r} dropped the task.")
        return result_of(sent.job)
