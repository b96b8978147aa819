"""Lifecycle events, as the client reads and follows them (ojs-events, section 6)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypedDict, Unpack

from ojs_aws.client.areas.area import Area, filter_texts, moment_text
from ojs_aws.client.transports.requests import entry_of, objects_in

if TYPE_CHECKING:
    from ojs_aws.client.transports.requests import Texts
    from ojs_aws.domain.errors import JsonValue


class EventFilter(TypedDict, total=False):
    """Which events are meant: those that match all that is said.

    One of the ``types`` that ends in ``*`` stands for all event types that begin so.
    """

    types: Iterable[str]
    queues: Iterable[str]
    job_types: Iterable[str]
    job_ids: Iterable[str]


@dataclass(frozen=True, slots=True)
class EventList:
    """Holds a page of events in the order of the log.

    :ivar cursor: where to go on; always there.
    :ivar has_more: there may be more right now.
    :ivar has_earlier: there may be earlier ones than these newest events; False where others were
        asked for.
    """

    events: Sequence[Mapping[str, JsonValue]]
    cursor: str
    has_more: bool
    has_earlier: bool = False


class Events(Area):
    """Reads the log of lifecycle events: ``client.events``."""

    async def read(
        self,
        *,
        since: datetime | None = None,
        limit: int = 100,
        cursor: str = "",
        **chosen: Unpack[EventFilter],
    ) -> EventList:
        """Read a page. Without ``since`` and cursor it ends with the newest event.

        :param since: an aware datetime.
        :param chosen: ``types``, ``queues``, ``job_types``, ``job_ids``: see :class:`EventFilter`.
        """
        more = {"since": moment_text(since), "cursor": cursor, "limit": str(limit)}
        return await self._page(_query(chosen) | more)

    async def _page(self, query: Texts) -> EventList:
        values = (await self._ask("list_events", query=query)).values
        return entry_of(EventList, values, events=objects_in(values, "events"))

    async def follow(
        self, *, since: datetime | None = None, poll_s: float = 1.0, **chosen: Unpack[EventFilter]
    ) -> AsyncIterator[Mapping[str, JsonValue]]:
        """Yield events as they come, without end; first the latest ones, or those since an instant.

        :param poll_s: seconds between two requests where nothing is left to read.
        :param chosen: as for :meth:`read`.
        """
        wanted = _query(chosen)
        page = await self._page(wanted | {"since": moment_text(since)})
        while True:
            for event in page.events:
                yield event
            if not page.has_more:
                await self._timer.sleep(poll_s)
            page = await self._page(wanted | {"cursor": page.cursor})


def _query(chosen: EventFilter) -> dict[str, str]:
    """Return the filters that are given, as the server names them."""
    texts = filter_texts(EventFilter, chosen)
    return {"job_id" if name == "job_ids" else name: text for name, text in texts.items()}
