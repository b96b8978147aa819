"""Operations for operators, apart from those of producers."""

from __future__ import annotations

from ojs_aws.client.results import DeadLetters
from ojs_aws.client.transport import Transport
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue


class Admin:
    """Dead letters, queues and health."""

    def __init__(self, transport: Transport) -> None:
        """Use the client's transport."""
        self._transport = transport

    async def dead_letters(
        self, queue: str | None = None, *, limit: int = 50, cursor: str = ""
    ) -> DeadLetters:
        """List a page of discarded jobs that their retry policy kept.

        :param cursor: from the page before.
        """
        return await self._transport.dead_letters(queue, limit, cursor)

    async def retry_dead_letter(self, job_id: str) -> Job:
        """Make a discarded job available again: attempt 0, its errors cleared.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not discarded.
        """
        return await self._transport.retry_dead_letter(job_id)

    async def delete_dead_letter(self, job_id: str) -> None:
        """Remove a discarded job for good.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not discarded.
        """
        await self._transport.delete_dead_letter(job_id)

    async def queues(self) -> list[dict[str, JsonValue]]:
        """List the queues with what the backend says of each; ``name`` is always there."""
        return await self._transport.queues()

    async def health(self) -> dict[str, JsonValue]:
        """What the backend says of its health; ``status`` is always there.

        :raises BackendError: it could not be reached.
        """
        return await self._transport.health()
