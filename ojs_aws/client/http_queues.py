"""Queues over the HTTP binding (section 11)."""

from __future__ import annotations

from collections.abc import Mapping

from ojs_aws.client.connection import HttpConnection, segment
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import encode


class HttpQueues:
    """The port QueuesTransport over HTTP(S)."""

    def __init__(self, connection: HttpConnection) -> None:
        """Use the transport's connection."""
        self._connection = connection

    async def list(self) -> list[Mapping[str, JsonValue]]:
        """GET /queues, page by page."""
        query = {"limit": "200"}
        queues: list[Mapping[str, JsonValue]] = []
        while True:
            answer = await self._values("GET", "/queues", query)
            items, page = answer.get("queues"), answer.get("pagination")
            queues += (
                [each for each in items if isinstance(each, dict)]
                if isinstance(items, list)
                else []
            )
            following = page.get("next_cursor") if isinstance(page, dict) else None
            if not isinstance(following, str) or not following:
                return queues
            query["cursor"] = following

    async def stats(self, name: str) -> Mapping[str, JsonValue]:
        """GET /queues/:name/stats."""
        values = await self._values("GET", f"/queues/{segment(name)}/stats")
        stats = values.get("stats")
        return {**values, **stats} if isinstance(stats, dict) else values

    async def pause(self, name: str) -> Mapping[str, JsonValue]:
        """POST /queues/:name/pause; twice is the same as once."""
        return await self._values("POST", f"/queues/{segment(name)}/pause")

    async def resume(self, name: str) -> Mapping[str, JsonValue]:
        """POST /queues/:name/resume; twice is the same as once."""
        return await self._values("POST", f"/queues/{segment(name)}/resume")

    async def ask(
        self, method: str, path: str, body: Mapping[str, JsonValue] | None = None
    ) -> Mapping[str, JsonValue]:
        """What has no method of its own; all but a creation may be repeated."""
        text = None if body is None else encode({**body})
        # A creation that is repeated would meet its own queue.
        is_creation = (method, path) == ("POST", "/queues")
        answer = await self._connection.request(method, path, text, repeatable=not is_creation)
        return {name: member.value for name, member in answer.members.items()}

    async def purge(self, name: str, body: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        """DELETE /queues/:name/jobs; a part that is purged twice is purged."""
        path = f"/queues/{segment(name)}/jobs"
        answer = await self._connection.request("DELETE", path, encode({**body}))
        return {key: member.value for key, member in answer.members.items()}

    async def _values(
        self, method: str, path: str, query: Mapping[str, str] | None = None
    ) -> dict[str, JsonValue]:
        body = encode({}) if method == "POST" else None
        answer = await self._connection.request(method, path, body, query=query)
        return {name: member.value for name, member in answer.members.items()}
