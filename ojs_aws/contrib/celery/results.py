"""Read the results of tasks that became jobs, through Celery's AsyncResult."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from celery import Celery, states
from celery.backends.base import BaseBackend
from celery.exceptions import TaskRevokedError
from celery.result import AsyncResult

from ojs_aws.client.sync import SyncClient
from ojs_aws.contrib.celery.calls import is_job_id, job_id_of, restored
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import NotFoundError

ERROR: Final = "celery"
"""The member of an error's ``details`` that has the exception as Celery's backends keep it."""
TRACEBACK: Final = "traceback"

_STATES: Final = {
    "active": states.STARTED,
    "retryable": states.RETRY,
    "completed": states.SUCCESS,
    "discarded": states.FAILURE,
    "cancelled": states.REVOKED,
}


class JobResults(BaseBackend):
    """Answers from jobs what Celery asks its result backend; a job keeps its result itself."""

    supports_autoexpire = True

    def __init__(self, app: Celery, client: Callable[[], SyncClient]) -> None:
        """Ask the server of a client."""
        super().__init__(app)
        self.client = client

    def _get_task_meta_for(self, task_id: str) -> dict[str, Any]:
        try:
            job = self.client().get(job_id_of(task_id))
        except NotFoundError:
            if is_job_id(task_id):
                return {"status": states.PENDING, "result": None}
            found: dict[str, Any] = self.app.backend.get_task_meta(task_id)
            return found  # it was sent before its queue was moved
        return self._meta_of(task_id, job)

    def _meta_of(self, task_id: str, job: Job) -> dict[str, Any]:
        status = _STATES.get(str(job.state), states.PENDING)
        error = job.error or {}
        details = error.get("details")
        known = details if isinstance(details, dict) else {}
        result = restored(job.result) if status == states.SUCCESS else None
        if status in {states.FAILURE, states.RETRY}:
            named = {
                "exc_type": error.get("type") or "JobFailed",
                "exc_message": error.get("message"),
                "exc_module": "builtins",
            }
            result = self.exception_to_python(known.get(ERROR) or named)
        elif status == states.REVOKED:
            result = TaskRevokedError("the job was cancelled")
        ended = job.get("completed_at") or job.get("discarded_at") or job.get("cancelled_at")
        return {
            "task_id": task_id,
            "status": status,
            "result": result,
            "traceback": known.get(TRACEBACK),
            "children": [],
            "date_done": ended,
            "name": job.type,
            "queue": job.queue,
            "retries": max(job.attempt - 1, 0),
        }


class BridgedResult(AsyncResult):
    """Is Celery's AsyncResult, and that of a job if its id is a UUIDv7 or its task is bridged."""

    def __init__(
        self,
        id: str,  # noqa: A002 - Celery's name
        backend: Any = None,
        task_name: str | None = None,
        app: Any = None,
        parent: Any = None,
    ) -> None:
        """Refer to a task that was sent."""
        owner = app or self.app
        if is_job_id(str(id)) or (task_name and owner.is_bridged(task_name)):
            backend = owner.job_results
        super().__init__(id, backend=backend, task_name=task_name, app=app, parent=parent)

    def revoke(self, *args: Any, **options: Any) -> None:
        """Cancel the job; a task of Celery is revoked as before.

        ``terminate`` is not needed: the worker of a cancelled job learns so with its heartbeat.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it has ended.
        """
        if not isinstance(self.backend, JobResults):
            super().revoke(*args, **options)
            return
        self.backend.client().cancel(job_id_of(self.id))
