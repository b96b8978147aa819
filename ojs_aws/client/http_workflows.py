"""Workflows over the HTTP binding (section 14)."""

from __future__ import annotations

from collections.abc import Mapping

from ojs_aws.client.connection import HttpConnection, segment
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import RawJson


class HttpWorkflows:
    """The port WorkflowsTransport over HTTP(S)."""

    def __init__(self, connection: HttpConnection) -> None:
        """Use the transport's connection."""
        self._connection = connection

    async def create(self, body: RawJson) -> Mapping[str, JsonValue]:
        """POST /workflows: with an id, sending it again finds what was made."""
        return await self._values("POST", "/workflows", body)

    async def get(self, workflow_id: str) -> Mapping[str, JsonValue]:
        """GET /workflows/:id."""
        return await self._values("GET", _path(workflow_id))

    async def list(self, state: str, limit: int, cursor: str) -> Mapping[str, JsonValue]:
        """GET /workflows."""
        query = {"limit": str(limit), "state": state, "cursor": cursor}
        given = {name: value for name, value in query.items() if value}
        return await self._values("GET", "/workflows", query=given)

    async def cancel(self, workflow_id: str) -> Mapping[str, JsonValue]:
        """DELETE /workflows/:id; a second one is told that it is cancelled."""
        return await self._values("DELETE", _path(workflow_id))

    async def _values(
        self,
        method: str,
        path: str,
        body: RawJson | None = None,
        query: Mapping[str, str] | None = None,
    ) -> dict[str, JsonValue]:
        answer = await self._connection.request(method, path, body, query=query)
        return {name: member.value for name, member in answer.members.items()}


def _path(workflow_id: str) -> str:
    return f"/workflows/{segment(workflow_id)}"
