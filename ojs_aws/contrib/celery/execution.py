"""Run Celery's tasks in a worker of jobs."""

from __future__ import annotations

import platform
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from celery import signature, states
from celery.app.trace import build_tracer

from ojs_aws.contrib.celery.app import ERROR, TRACEBACK, BridgedCelery
from ojs_aws.contrib.celery.calls import TaskCall, call_of, job_type_of, native, queue_name
from ojs_aws.middleware.synchronous import SyncJobContext
from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.worker.failure import DiscardError, JobError, PermanentError, RetryError

MAX_TRACEBACK: Final = 8000
"""Characters of a traceback that are kept, from its end."""


def celery_jobs(app: BridgedCelery) -> Jobs:
    """Return jobs that run the tasks of a Celery app: ``Worker(celery_jobs(app))``.

    A worker serves the queues of those that are bridged. It also knows the other tasks, which a
    call may send to one of these queues. The app becomes Celery's default one in this process.

    :raises RegistrationError: two tasks have names that are the same job type.
    """
    app.set_default()  # for shared tasks, and for what tasks send: threads know no other app
    app.loader.import_default_modules()
    app.finalize(auto=True)
    names = [name for name in app.tasks if not name.startswith("celery.")]
    queues = {name: queue_name(app.queue_of(name)) for name in names if app.is_bridged(name)}
    jobs = Jobs()
    if make := app.conf.get("ojs_client"):
        jobs.configure(make)
    for name in sorted(names):
        queue = queues.get(name) or min(queues.values(), default="default")
        jobs.job(job_type_of(name), queue=queue, context=True)(_runner(app, app.tasks[name]))
    return jobs


def _runner(app: BridgedCelery, task: Any) -> Callable[..., Any]:
    trace = build_tracer(task.name, task, app=app, eager=True)

    def run(ctx: SyncJobContext, *args: Any) -> Any:
        del args  # read again, with what Celery wrote beside them
        call = call_of(ctx.job)
        traced = trace(call.task_id, call.args, call.kwargs, _request(app, task, call, ctx))
        state = states.SUCCESS if traced.info is None else traced.info.state
        if state == states.SUCCESS:
            return None if task.ignore_result else native(traced.retval)
        if state == states.IGNORED:
            return None
        raise _problem(state, traced.info.retval, call, app) from None

    run.__qualname__ = run.__name__ = task.name
    return run


def _request(app: BridgedCelery, task: Any, call: TaskCall, ctx: SyncJobContext) -> dict[str, Any]:
    """Return what a task sees as its request.

    It is eager, as that of ``apply``: a retry then raises, and does not send the task again.
    """
    follow = list(call.more.get("link") or ())
    if chain := call.more.get("chain"):
        last = signature(chain[-1], app=app).clone()
        follow.append(last.set(chain=chain[:-1]))
    return {
        "id": call.task_id,
        "task": task.name,
        "root_id": call.task_id,
        "retries": ctx.attempt - 1,
        "is_eager": True,
        "hostname": platform.node(),
        "callbacks": follow or None,
        "errbacks": call.more.get("link_error"),
        "headers": call.more.get("headers"),
        "expires": ctx.job.get("expires_at"),
        "eta": ctx.job.get("scheduled_at"),
        "ignore_result": task.ignore_result,
        "delivery_info": {
            "is_eager": True,
            "routing_key": ctx.queue,
            "priority": ctx.job.priority,
            "redelivered": ctx.attempt > 1,
        },
    }


def _problem(state: str, raised: Any, call: TaskCall, app: BridgedCelery) -> JobError:
    """Return what becomes of the job of a task that did not succeed; Celery has decided it."""
    if state == states.RETRY:
        asked = raised.sig
        if (list(asked.args), dict(asked.kwargs)) != (list(call.args), dict(call.kwargs)):
            return PermanentError(
                f"{asked.task} asked to be retried with other arguments, which a job keeps. Send "
                "it again by apply_async, and raise Ignore."
            )
        return RetryError(
            str(raised), delay=_delay_s(raised.when), details=_details(app, raised.exc)
        )
    if state == states.REJECTED:
        text = str(raised.reason or "The task was rejected.")
        return RetryError(text) if raised.requeue else DiscardError(text)
    if isinstance(raised, JobError):
        return raised
    kind = type(raised).__name__
    return JobError(str(raised) or kind, type=kind, details=_details(app, raised), retryable=False)


def _details(app: BridgedCelery, raised: BaseException | None) -> dict[str, Any]:
    """Return an exception as results need it, with the end of its traceback."""
    if raised is None:
        return {}
    text = "".join(traceback.format_exception(raised))
    kept = native(app.job_results.prepare_exception(raised, "json"))
    return {ERROR: kept, TRACEBACK: text[-MAX_TRACEBACK:]}


def _delay_s(when: object) -> float | None:
    """Return the seconds until a retry; None where Celery says nothing."""
    if isinstance(when, datetime):
        aware = when if when.tzinfo else when.replace(tzinfo=UTC)
        return max((aware - datetime.now(UTC)).total_seconds(), 0.0)
    return max(float(when), 0.0) if isinstance(when, (int, float)) else None
