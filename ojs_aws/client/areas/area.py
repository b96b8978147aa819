"""What the areas of the client have in common: they ask for operations of the route table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ojs_aws.client.transports.answers import Answer, next_cursor, objects_in
from ojs_aws.client.transports.requests import NO_TEXTS, RouteRequest, Texts

if TYPE_CHECKING:
    from ojs_aws.client.transports.transport import Transport
    from ojs_aws.domain.errors import JsonValue
    from ojs_aws.domain.json_text import RawJson

PAGE: Texts = {"limit": "200"}
"""The most that a page of a list may hold, where all pages are read."""


class Area:
    """Sends the requests of an area of the client, for its typed methods."""

    def __init__(self, transport: Transport) -> None:
        """Use the client's transport."""
        self._transport = transport

    async def _ask(
        self,
        operation: str,
        /,
        *,
        query: Texts = NO_TEXTS,
        body: RawJson | Mapping[str, JsonValue] | None = None,
        repeatable: bool | None = None,
        **path: str,
    ) -> Answer:
        """Ask for an operation, and raise the error that it answers with.

        :param query: parameters of the query; empty ones are not sent.
        :param repeatable: as :class:`RouteRequest` has it.
        :param path: the parameters of its path.
        :raises OjsError: as answered.
        """
        request = RouteRequest(
            operation=operation, path=path, query=query, body=body, repeatable=repeatable
        )
        return (await self._transport.ask(request)).or_raise()

    async def _ask_all(
        self, operation: str, *names: str, query: Texts = NO_TEXTS
    ) -> list[dict[str, JsonValue]]:
        """Read all pages of a list.

        :param names: of the member that holds the items; backends differ.
        """
        found: list[dict[str, JsonValue]] = []
        cursor = ""
        while True:
            values = (await self._ask(operation, query={**PAGE, **query, "cursor": cursor})).values
            found += next((listed for name in names if (listed := objects_in(values, name))), [])
            cursor = next_cursor(values)
            if not cursor:
                return found
