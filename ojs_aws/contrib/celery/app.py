"""Send the tasks of some queues as jobs, and read their results through Celery's AsyncResult."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Final

from celery import Celery, states
from celery.backends.base import BaseBackend
from celery.exceptions import TaskRevokedError
from celery.result import AsyncResult

from ojs_aws.client.sync import SyncClient
from ojs_aws.client.timer import UuidV7
from ojs_aws.contrib.celery.calls import NotBridgedError, is_job_id, job_id_of, job_of, restored
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import EnqueueRejectedError, NotFoundError
from ojs_aws.typed_jobs.clients import FROM_ENVIRONMENT, Clients, sending_sync_client

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
_DEFAULTS = ("queue", "priority", "expires", "time_limit")


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


class BridgedCelery(Celery):
    """Makes jobs of the tasks that ``conf.ojs_queues`` and ``conf.ojs_tasks`` name.

    Both are lists of names or patterns (``email``, ``shop.mail.*``). The server is the one that
    ``OJS_URL`` names, or that of the client which ``conf.ojs_client`` makes.
    """

    def send_task(
        self,
        name: str,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Any:
        """Send a task by its name; ``delay`` and ``apply_async``, beat and canvas come here, too.

        :returns: an AsyncResult. Of a task that became a job, its id is the job's, unless the
            caller gave another one.
        :raises NotBridgedError: it belongs here, and cannot become a job.
        :raises OjsError: the server refused the job, or could not be reached.
        """
        task = options.get("task_type") or self.tasks.get(name)
        routed = self._routed(name, args, kwargs, options, task)
        if not self._is_ours(name, routed["queue"]):
            return super().send_task(name, args, kwargs, **options)
        routed["task_id"] = options.get("task_id") or UuidV7().job_id()
        job = job_of(name, args or (), kwargs or {}, routed, task)
        sent = self.ojs_client().enqueue(job)
        if sent.is_dropped:
            raise EnqueueRejectedError(f"The middleware {sent.dropped_by!r} dropped {name}.")
        result = (options.get("result_cls") or self.AsyncResult)(routed["task_id"])
        result.backend = self.job_results
        return result

    def queue_of(self, name: str) -> str:
        """Return the queue that a task goes to, unless a call says otherwise."""
        queue: str = self._routed(name, (), {}, {}, self.tasks.get(name))["queue"]
        return queue

    def is_bridged(self, name: str) -> bool:
        """Return whether a task becomes a job, unless a call names another queue."""
        return self._is_ours(name, self.queue_of(name))

    def ojs_client(self) -> SyncClient:
        """Return the client that sends the jobs.

        :raises ValueError: nothing says where the server is.
        """
        return sending_sync_client(self._ojs_clients)

    @cached_property
    def job_results(self) -> JobResults:
        """Return the result backend of the tasks that became jobs."""
        return JobResults(self, self.ojs_client)

    @cached_property
    def AsyncResult(self) -> Any:  # noqa: N802 - Celery's name
        """Return the class of results: a job's where the id or the task's name says so."""
        return self.subclass_with_self(BridgedResult)

    @cached_property
    def _ojs_clients(self) -> Clients:
        make = self.conf.get("ojs_client")
        return Clients(make) if make else FROM_ENVIRONMENT

    def _is_ours(self, name: str, queue: str) -> bool:
        return any(
            fnmatchcase(value, pattern)
            for key, value in (("ojs_queues", queue), ("ojs_tasks", name))
            for pattern in self._patterns(key)
        )

    def _patterns(self, key: str) -> Sequence[str]:
        found: object = self.conf.get(key, ())
        if isinstance(found, str) or not isinstance(found, Sequence):
            raise NotBridgedError(f"The setting {key} must be a list of names, not {found!r}.")
        return found

    def _routed(
        self, name: str, args: Any, kwargs: Any, options: Mapping[str, Any], task: Any
    ) -> dict[str, Any]:
        """Return the options of a call with those of its task and of its route."""
        given = {key: value for key, value in options.items() if value is not None}
        declared = {key: getattr(task, key, None) for key in _DEFAULTS}
        merged = {key: value for key, value in declared.items() if value is not None} | given
        route_name = options.get("route_name") or name
        routed: dict[str, Any] = self.amqp.router.route(merged, route_name, args, kwargs, task)
        queue = routed["queue"]
        return {**routed, "queue": getattr(queue, "name", queue)}
