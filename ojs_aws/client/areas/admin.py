"""Read and retry dead letters, list queues, and read health: what operators ask first."""

from __future__ import annotations

from ojs_aws.client.areas.area import Area
from ojs_aws.client.areas.dead_letters import DeadLetterJobs
from ojs_aws.client.areas.queues import Queues
from ojs_aws.client.results import DeadLetters
from ojs_aws.client.transports.requests import RouteRequest, ask_to_change
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobState


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
