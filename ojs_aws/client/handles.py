"""Represent one job to the caller who enqueued it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.middleware.results import EnqueueResult

if TYPE_CHECKING:
    from ojs_aws.client.areas.outcomes import JobProgress
    from ojs_aws.client.single_jobs import SingleJobs
    from ojs_aws.domain.jobs.attributes import Duration


class JobHandle:
    """Refers to a job by its id, and keeps nothing else.

    Example::

        handle = client.job(await client.enqueue("report.make", ["daily"]))
        report = await handle.result(timeout="2m")
    """

    def __init__(self, client: SingleJobs, job_id: str) -> None:
        """Refer to a job of a client's backend; :meth:`ojs_aws.client.Client.job` makes these."""
        self.id = job_id
        self._client = client

    async def get(self) -> Job:
        """Read the job; see :meth:`Client.get`."""
        return await self._client.get(self.id)

    async def result(
        self,
        *,
        timeout_s: float | None = 60.0,
        poll_s: float = 0.2,
        timeout: Duration | None = None,  # noqa: ASYNC109 - the error says how the job was
    ) -> JsonValue:
        """Wait for its result; see :meth:`Client.result`."""
        return await self._client.result(
            self.id, timeout_s=timeout_s, poll_s=poll_s, timeout=timeout
        )

    async def progress(self) -> JobProgress:
        """Return its latest progress; see :meth:`Client.progress`."""
        return await self._client.progress(self.id)

    async def cancel(self) -> Job:
        """Cancel it; see :meth:`Client.cancel`."""
        return await self._client.cancel(self.id)

    def __repr__(self) -> str:
        """Show the id."""
        return f"<JobHandle {self.id}>"


def id_of(job: Job | EnqueueResult | str) -> str:
    """Return the id of a job, a result of enqueueing, or an id."""
    return job if isinstance(job, str) else job.id
