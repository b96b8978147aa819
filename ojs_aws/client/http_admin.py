"""The operators' API over HTTP(S)."""

from __future__ import annotations

from collections.abc import Mapping

from ojs_aws.client.connection import HttpConnection
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import encode


class HttpOperators:
    """The port OperatorTransport over HTTP(S)."""

    def __init__(self, connection: HttpConnection) -> None:
        """Use the transport's connection."""
        self._connection = connection

    async def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, JsonValue] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        repeatable: bool = True,
    ) -> Mapping[str, JsonValue]:
        """Send a request."""
        text = None if body is None else encode({**body})
        answer = await self._connection.request(
            method, path, text, query=query, repeatable=repeatable
        )
        return {name: member.value for name, member in answer.members.items()}
