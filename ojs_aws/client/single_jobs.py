"""Read, cancel and activate single jobs, wait for them, and represent each to its producer.

The client has one attribute for each of its areas. Producers use none of them, so each is imported
when it is first used.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Self

from ojs_aws.client.timer import Timer, wait_s
from ojs_aws.client.transports.requests import Transport
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import ConflictError, JsonValue
from ojs_aws.domain.jobs.attributes import Duration
from ojs_aws.middleware.results import EnqueueResult

if TYPE_CHECKING:
    from ojs_aws.client.areas.cron import CronJobs
    from ojs_aws.client.areas.dead_letters import Admin, DeadLetterJobs
    from ojs_aws.client.areas.events import Events
    from ojs_aws.client.areas.jobs import Jobs
    from ojs_aws.client.areas.limits import RateLimits
    from ojs_aws.client.areas.outcomes import JobCheckpoint, JobOutcome, JobProgress, Outcomes
    from ojs_aws.client.areas.queues import Queues
    from ojs_aws.client.areas.schemas import Schemas
    from ojs_aws.client.areas.sequences import Sequences
    from ojs_aws.client.areas.system import System
    from ojs_aws.client.areas.tenants import Tenants
    from ojs_aws.client.areas.workers import Workers
    from ojs_aws.client.areas.workflows import WorkflowOperations


class Areas:
    """Offers one attribute for each area, over one transport, which it closes."""

    admin: Admin
    """Operations for operators: dead letters, queues, health."""
    workflows: WorkflowOperations
    """Read, list, cancel and wait for workflows."""
    cron: CronJobs
    """Register, read, pause, trigger and remove cron jobs."""
    schemas: Schemas
    """Register, read and remove the schemas of job types."""
    queues: Queues
    """Read, create, configure, pause, drain and purge queues."""
    rate_limits: RateLimits
    """Read, set and remove the limits on how jobs begin."""
    sequences: Sequences
    """Read whose turn it is in sequences, and let stopped ones go on."""
    tenants: Tenants
    """Read what tenants have and did."""
    workers: Workers
    """List workers, and send them directives."""
    dead_letter: DeadLetterJobs
    """Inspect, retry and remove dead letters."""
    jobs: Jobs
    """Find jobs, read their history, and retry, cancel and delete them in bulk."""
    events: Events
    """Read and follow the log of lifecycle events."""
    system: System
    """Read the statistics and settings of the whole deployment."""

    def __init__(self, transport: Transport, timer: Timer) -> None:
        """Keep the transport; each area is made when it is first used."""
        self._transport = transport
        self._timer = timer

    async def __aenter__(self) -> Self:
        """Return the client itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the client."""
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()


def _made_late(kind: str) -> cached_property[object]:
    """Return an attribute that makes an area at its first use.

    :param kind: the name of its class, by which the package exports it.
    """

    def make(areas: Areas) -> object:
        package = importlib.import_module("ojs_aws.client")
        area: object = getattr(package, kind)(areas._transport, areas._timer)  # noqa: SLF001
        return area

    return cached_property(make)


for _name, _kind in Areas.__annotations__.items():
    _area = _made_late(_kind)
    _area.__set_name__(Areas, _name)
    setattr(Areas, _name, _area)


class SingleJobs(Areas):
    """Reads, cancels and activates single jobs, and waits for their outcomes."""

    async def get(self, job_id: str) -> Job:
        """Read a job.

        :raises NotFoundError: there is no such job.
        """
        return await self._transport.get(job_id)

    async def cancel(self, job_id: str) -> Job:
        """Cancel a job that has not ended; one that is cancelled already stays so.

        A worker that executes it learns so with its next heartbeat.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is completed or discarded.
        """
        try:
            return await self._transport.cancel(job_id)
        except ConflictError as conflict:
            from ojs_aws.domain.job import JobState  # many producers do not cancel

            if conflict.details.get("current_state") != JobState.CANCELLED:
                raise
        return await self.get(job_id)

    async def activate(self, job_id: str) -> Job:
        """Make a job available that was enqueued with ``pending=True``.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not pending.
        """
        return await self._transport.activate(job_id)

    @cached_property
    def _outcomes(self) -> Outcomes:
        from ojs_aws.client.areas.outcomes import Outcomes  # many producers do not ask

        return Outcomes(self._transport, self._timer)

    async def result(
        self,
        job_id: str,
        *,
        timeout_s: float | None = 60.0,
        poll_s: float = 0.2,
        timeout: Duration | None = None,
    ) -> JsonValue:
        """Wait until a job has ended, and return its result.

        :param timeout_s: seconds to wait at most; None waits as long as it takes.
        :param poll_s: seconds between the first two requests; the interval grows up to 5 s. A
            server that waits by itself is not asked more often.
        :param timeout: instead of ``timeout_s``, a duration: ``"30s"``, ``"5m"`` or a timedelta.
        :raises JobFailedError: it was discarded; the error says why.
        :raises JobExpiredError: it expired before any worker executed it; a JobFailedError, too.
        :raises JobCancelledError: it was cancelled.
        :raises WaitTimeoutError: it has not ended in time.
        :raises ResultPrunedError: it has ended, and its outcome is not kept any more.
        :raises NotFoundError: there is no such job.
        """
        return await self._outcomes.wait(job_id, wait_s(timeout, timeout_s), poll_s)

    async def wait(
        self,
        job_id: str,
        *,
        timeout_s: float | None = 60.0,
        poll_s: float = 0.2,
        timeout: Duration | None = None,
    ) -> JsonValue:
        """Do the same as :meth:`result`."""
        return await self.result(job_id, timeout_s=timeout_s, poll_s=poll_s, timeout=timeout)

    def job(self, job: Job | EnqueueResult | str) -> JobHandle:
        """Return a handle of a job: ``client.job(await client.enqueue(...)).result()``."""
        return JobHandle(self, job if isinstance(job, str) else job.id)

    async def results(self, job_ids: Iterable[str]) -> dict[str, JobOutcome | None]:
        """Return the outcomes of up to 100 jobs, as of now; None for one that does not exist.

        :raises InvalidRequestError: no ids, or too many.
        :raises PayloadTooLargeError: their results are more than one answer holds.
        """
        return await self._outcomes.many(list(job_ids))

    async def progress(self, job_id: str) -> JobProgress:
        """Return the latest progress that a job reported.

        :raises NotFoundError: there is no such job.
        """
        return await self._outcomes.progress(job_id)

    async def checkpoint(self, job_id: str) -> JobCheckpoint | None:
        """Return the checkpoint that the next attempt of a job starts from; None without one.

        :raises NotFoundError: there is no such job.
        """
        return await self._outcomes.checkpoint(job_id)

    async def clear_checkpoint(self, job_id: str) -> None:
        """Delete the checkpoint of a job: its next attempt starts from the beginning.

        :raises NotFoundError: there is no such job.
        """
        await self._outcomes.clear_checkpoint(job_id)


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
        timeout: Duration | None = None,
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
