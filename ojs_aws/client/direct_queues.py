"""Queues straight on DynamoDB, for operators inside AWS; the services are called in threads."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from ojs_aws.client.connection import segment
from ojs_aws.client.direct_admin import DirectOperators
from ojs_aws.domain.errors import JsonValue
from ojs_aws.ports import QueueInfo
from ojs_aws.services.backend import Backend
from ojs_aws.transport.http.dialects.queues import changed_queue, queue_members, stats_answer


class DirectQueues:
    """The port QueuesTransport over the services."""

    def __init__(self, backend: Backend) -> None:
        """Use the services of a deployment."""
        self._backend = backend

    async def list(self) -> list[Mapping[str, JsonValue]]:
        """List the queues."""
        return [queue_members(each) for each in await asyncio.to_thread(self._backend.queues.list)]

    async def stats(self, name: str) -> Mapping[str, JsonValue]:
        """Count the jobs of a queue."""
        info = await asyncio.to_thread(self._backend.queues.get, name)
        return stats_answer(info, await asyncio.to_thread(self._backend.queue_statistics, name))

    async def pause(self, name: str) -> Mapping[str, JsonValue]:
        """Pause a queue."""
        return changed_queue(await asyncio.to_thread(self._backend.queues.pause, name))

    async def ask(
        self, method: str, path: str, body: Mapping[str, JsonValue] | None = None
    ) -> Mapping[str, JsonValue]:
        """Any other operation, as the HTTP API does it."""
        return await DirectOperators(self._backend).ask(method, path, body or {})

    async def purge(self, name: str, body: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        """Purge a part of a queue, as the HTTP API does it."""
        path = f"/queues/{segment(name)}/jobs"
        return await DirectOperators(self._backend).ask("DELETE", path, body)

    async def resume(self, name: str) -> Mapping[str, JsonValue]:
        """Resume a queue."""
        at = await asyncio.to_thread(self._backend.queues.resume, name)
        await asyncio.to_thread(self._backend.queue_config.undrain, name)
        return changed_queue(QueueInfo(name=name), resumed_at=at)
