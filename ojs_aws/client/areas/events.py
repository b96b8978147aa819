"""Lifecycle events, as the client reads and follows them (ojs-events, section 6)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from ojs_aws.client.areas.area import Area
from ojs_aws.client.transports.answers import objects_in, text_in
from ojs_aws.domain.timestamps import format_instant, instant_of

if TYPE_CHECKING:
    from ojs_aws.client.timer import Timer
    from ojs_aws.client.transports.requests import Texts
    from ojs_aws.client.transports.transport import Transport
    from ojs_aws.domain.errors import JsonValue


@dataclass(frozen=True, slots=True)
class EventList:
    """Holds a page of events in the order of the log.

    :ivar cursor: where to go on; always there.
    :ivar has_more: there may be more right now.
    """

    events: Sequence[Mapping[str, JsonValue]]
    cursor: str
    has_more: bool


class Events(Area):
    """Reads the log of lifecycle events: ``client.events``."""

    def __init__(self, transport: Transport, timer: Timer) -> None:
        """Use the client's transport."""
        super().__init__(transport)
        self._timer = timer

    async def read(  # noqa: PLR0913 - each of them is optional and named
        self,
        *,
        types: Iterable[str] = (),
        queues: Iterable[str] = (),
        job_types: Iterable[str] = (),
        job_ids: Iterable[str] = (),
        since: datetime | None = None,
        limit: int = 100,
        cursor: str = "",
    ) -> EventList:
        """Read a page. Without ``since`` and cursor it ends with the newest event.

        :param types: event types; one that ends in ``*`` stands for all that begin so.
        :param since: an aware datetime.
        """
        wanted = _query(types, queues, job_types, job_ids)
        wanted |= {} if since is None else {"since": format_instant(instant_of(since))}
        wanted |= {"cursor": cursor} if cursor else {}
        return await self._page(wanted | {"limit": str(limit)})

    async def _page(self, query: Texts) -> EventList:
        values = (await self._ask("list_events", query=query)).values
        return EventList(
            objects_in(values, "events"), text_in(values, "cursor"), values.get("has_more") is True
        )

    async def follow(
        self,
        *,
        types: Iterable[str] = (),
        queues: Iterable[str] = (),
        job_types: Iterable[str] = (),
        job_ids: Iterable[str] = (),
        since: datetime | None = None,
        poll_s: float = 1.0,
    ) -> AsyncIterator[Mapping[str, JsonValue]]:
        """Yield events as they come, without end; first the latest ones, or those since an instant.

        :param poll_s: seconds between two requests where nothing is left to read.
        """
        wanted = _query(types, queues, job_types, job_ids)
        begin = {} if since is None else {"since": format_instant(instant_of(since))}
        page = await self._page(wanted | begin)
        while True:
            for event in page.events:
                yield event
            if not page.has_more:
                await self._timer.sleep(poll_s)
            page = await self._page(wanted | {"cursor": page.cursor})


def _query(*filters: Iterable[str]) -> dict[str, str]:
    """Return the filters that are given, in the order of the methods' parameters."""
    names = ("types", "queues", "job_types", "job_id")
    texts = (",".join(each) for each in filters)
    return {name: text for name, text in zip(names, texts, strict=True) if text}
