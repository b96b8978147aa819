"""Give the client its areas: one attribute for each, those of operators apart.

Producers use none of them. So each is imported when it is first used.
"""

from __future__ import annotations

import importlib
from functools import cached_property
from typing import TYPE_CHECKING, Self

from ojs_aws.client.areas.area import Area
from ojs_aws.client.areas.dead_letters import DeadLetterJobs
from ojs_aws.client.areas.queues import Queues
from ojs_aws.client.results import DeadLetters
from ojs_aws.client.timer import Timer
from ojs_aws.client.transports.requests import RouteRequest, Transport, ask_to_change
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobState

if TYPE_CHECKING:
    from ojs_aws.client.areas.cron import CronJobs
    from ojs_aws.client.areas.events import Events
    from ojs_aws.client.areas.jobs import Jobs
    from ojs_aws.client.areas.limits import RateLimits
    from ojs_aws.client.areas.schemas import Schemas
    from ojs_aws.client.areas.system import System
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


class Admin(Area):
    """Reads and retries dead letters, lists and pauses queues, and reads health."""

    async def dead_letters(
        self, queue: str | None = None, *, limit: int = 50, cursor: str = ""
    ) -> DeadLetters:
        """List a page of discarded jobs that their retry policy kept.

        :param cursor: from the page before.
        """
        letters = DeadLetterJobs(self._transport, self._timer)
        return await letters.list(queue=queue or "", limit=limit, cursor=cursor)

    async def retry_dead_letter(self, job_id: str) -> Job:
        """Make a discarded job available again: attempt 0, its errors cleared.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not discarded.
        """
        request = RouteRequest(
            operation="retry_dead_letter", path={"job_id": job_id}, repeatable=True
        )
        return await ask_to_change(self._transport, request, JobState.DISCARDED)

    async def delete_dead_letter(self, job_id: str) -> None:
        """Remove a discarded job for good.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not discarded.
        """
        await DeadLetterJobs(self._transport, self._timer).delete(job_id)

    async def queues(self) -> list[dict[str, JsonValue]]:
        """List the queues with all that the backend says of each; ``name`` is always there."""
        return [{**each.described} for each in await Queues(self._transport, self._timer).list()]

    async def health(self) -> dict[str, JsonValue]:
        """Return the health of the backend; ``status`` is always there.

        :raises BackendError: it could not be reached.
        """
        # What is asked for is how the server is now: it is not asked again.
        answer = await self._transport.ask(RouteRequest(operation="health", repeatable=False))
        return answer.values if "status" in answer.members else answer.or_raise().values
