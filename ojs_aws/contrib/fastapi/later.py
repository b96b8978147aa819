"""Enqueue jobs after the response, in the place of FastAPI's ``BackgroundTasks``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, ParamSpec, TypeVar

import anyio
from fastapi import Depends
from starlette.requests import HTTPConnection

from ojs_aws.client.timer import UuidV7
from ojs_aws.contrib.fastapi.application import jobs_of
from ojs_aws.contrib.fastapi.sending import enqueue_or_log
from ojs_aws.contrib.outbox.staging import AnyJob
from ojs_aws.domain.envelope import Job
from ojs_aws.typed_jobs.senders import Sender

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
