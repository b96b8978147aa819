"""The context that a handler gets, connected to the worker that runs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.context import JobContext


def context_of(job: Job, extend: Callable[[str], Awaitable[bool]]) -> JobContext:
    """A context for one execution of a job.

    :param extend: extends the reservation; False when the job is no longer to be executed.
    """

    async def heartbeat() -> None:
        if not await extend(job.id):
            ctx.cancel("cancelled, or the reservation was lost")

    ctx = JobContext(job, heartbeat=heartbeat)
    return ctx
