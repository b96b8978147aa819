"""Enqueue jobs after the response, when it is too late to report an error: it is logged."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Annotated, Final, ParamSpec, TypeVar

import anyio
from fastapi import Depends
from starlette.requests import HTTPConnection

from ojs_aws.client import EnqueueResult
from ojs_aws.client.timer import UuidV7
from ojs_aws.contrib.fastapi.application import jobs_of
from ojs_aws.contrib.outbox.staged_jobs import AnyJob
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import OjsError
from ojs_aws.typed_jobs.senders import Sender

EnqueueMany = Callable[[Sequence[Job]], Awaitable[list[EnqueueResult]]]
_logger: Final = logging.getLogger("ojs_aws.contrib.fastapi")


async def enqueue_or_log(jobs: Sequence[Job], enqueue_many: EnqueueMany) -> None:
    """Enqueue jobs in one request; log each that was not enqueued, with its id, and raise nothing.

    If the backend refuses the batch for good, each job is sent alone, so that one does not cost
    the others.
    """
    if not jobs:
        return
    try:
        results = await enqueue_many(jobs)
    except Exception as problem:  # noqa: BLE001 - the response, or the commit, is done
        if len(jobs) > 1 and isinstance(problem, OjsError) and not problem.retryable:
            for job in jobs:
                await enqueue_or_log([job], enqueue_many)
            return
        for job in jobs:
            _log(job, problem)
        return
    for result in results:
        if result.error is not None:
            _log(result.job, result.error)


def _log(job: Job, problem: BaseException) -> None:
    """Log that a job is lost; never its arguments, which may be secret."""
    _logger.error(
        "Job %s (%s) was not enqueued: %s",
        job.id,
        job.type,
        problem,
        extra={"job_id": job.id, "job_type": job.type},
        exc_info=problem,
    )


P = ParamSpec("P")
R = TypeVar("R")


class LaterJobs:
    """Collects the jobs of a request that are enqueued after its response.

    :ivar jobs: in the order in which they were added.
    """

    def __init__(self) -> None:
        """Start without jobs."""
        self.jobs: list[Job] = []

    def add_task(self, job: Sender[P, R], /, *args: P.args, **kwargs: P.kwargs) -> str:
        """Enqueue a job with these arguments, after the response.

        Example::

            later.add_task(send_welcome, "ada@example.com")
            later.add_task(send_welcome.options(delay="10m"), "bob@example.com")

        :returns: the id of the job.
        :raises TypeError: as :meth:`~ojs_aws.typed_jobs.senders.Sender.call`.
        """
        return self.add(job.call(*args, **kwargs))

    def add(self, job: AnyJob) -> str:
        """Enqueue a call of a typed job, or a whole ``Job``, after the response.

        :returns: the id of the job.
        """
        made = Job.from_members(job.members()) if isinstance(job, Job) else job.to_job()
        if not made.id:
            made.id = UuidV7().job_id()
        self.jobs.append(made)
        return made.id


async def later_jobs(connection: HTTPConnection) -> AsyncIterator[LaterJobs]:
    """Collect jobs while an endpoint runs, and enqueue them after its response.

    FastAPI ends a dependency with ``yield`` after the response. If the endpoint raised, or a unit
    of work did not commit, it raises here as well, and nothing is enqueued.
    """
    client = jobs_of(connection).client()
    later = LaterJobs()
    yield later
    with anyio.CancelScope(shield=True):  # the caller may be gone by now
        await enqueue_or_log(later.jobs, client.enqueue_many)


EnqueueLater = Annotated[LaterJobs, Depends(later_jobs)]
"""The parameter of an endpoint that collects its jobs: ``later: EnqueueLater``."""
