"""Sends requests for operations of the route table: what all areas of the client share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, cast

from ojs_aws.client.transports.requests import (
    NO_TEXTS,
    Answer,
    RouteRequest,
    Texts,
    next_cursor,
    objects_in,
    text_in,
)
from ojs_aws.domain.timestamps import format_instant, instant_of

if TYPE_CHECKING:
    from ojs_aws.client.timer import Timer
    from ojs_aws.client.transports.requests import Transport
    from ojs_aws.domain.errors import JsonValue
    from ojs_aws.domain.json_text import RawJson

PAGE: Texts = {"limit": "200"}
"""The largest page of a list, for reading all pages."""


class Area:
    """Is the base of the areas, whose typed methods send their requests through it."""

    def __init__(self, transport: Transport, timer: Timer) -> None:
        """Use the client's transport, and wait by its timer."""
        self._transport = transport
        self._timer = timer

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
        """Send a request for an operation; raise the error if the answer is one.

        :param query: parameters of the query; empty ones are not sent.
        :param repeatable: as :class:`RouteRequest` has it.
        :param path: the parameters of its path.
        :raises OjsError: the answer is this error.
        """
        request = RouteRequest(
            operation=operation, path=path, query=query, body=body, repeatable=repeatable
        )
        return (await self._transport.ask(request)).or_raise()

    async def _ask_all(
        self, operation: str, *names: str, query: Texts = NO_TEXTS
    ) -> list[dict[str, JsonValue]]:
        """Read all pages of a list.

        :param names: possible names of the member that holds the items.
        """
        found: list[dict[str, JsonValue]] = []
        cursor = ""
        while True:
            values = (await self._ask(operation, query={**PAGE, **query, "cursor": cursor})).values
            found += next((listed for name in names if (listed := objects_in(values, name))), [])
            cursor = next_cursor(values)
            if not cursor:
                return found

    async def _parts(
        self, operation: str, body: Mapping[str, JsonValue]
    ) -> AsyncIterator[Mapping[str, JsonValue]]:
        """Request a change part by part, until an answer has no cursor; yield each answer."""
        cursor = ""
        while True:
            values = (await self._ask(operation, body={**body, **given(cursor=cursor)})).values
            yield values
            cursor = text_in(values, "next_cursor")
            if not cursor:
                return


def given(**values: JsonValue) -> dict[str, JsonValue]:
    """Return the values that are not empty."""
    return {name: value for name, value in values.items() if value}


def moment_text(moment: datetime | None) -> str:
    """Return an aware datetime as RFC 3339; empty for None."""
    return "" if moment is None else format_instant(instant_of(moment))


def filter_texts(kind: type, chosen: Mapping[str, object]) -> dict[str, str]:
    """Return a filter as texts: instants as RFC 3339, several texts joined by commas.

    :param kind: the TypedDict that declares the filter.
    :raises TypeError: ``kind`` does not declare a member of the filter.
    """
    if unknown := sorted(chosen.keys() - kind.__annotations__.keys()):
        raise TypeError(f"there is no filter {unknown[0]!r}")
    texts = {}
    for name, value in chosen.items():
        if value is None or isinstance(value, datetime):
            texts[name] = moment_text(value)
        else:
            texts[name] = (
                value if isinstance(value, str) else ",".join(cast("Iterable[str]", value))
            )
    return {name: text for name, text in texts.items() if text}
