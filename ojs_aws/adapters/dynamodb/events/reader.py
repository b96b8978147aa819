"""Reads the event log: forward from a position, or the newest; always a bounded part."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from ojs_aws.adapters.dynamodb.columns import Item, decode_cursor, encode_cursor, string
from ojs_aws.adapters.dynamodb.events.chunks import (
    AT,
    PARTITION,
    chunk_events,
    chunk_key,
    chunk_time,
    position_of,
)
from ojs_aws.adapters.dynamodb.table import InTable
from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.events import Event, EventPage, EventQuery

CHUNKS: Final = 100
MAX_QUERIES: Final = 5
"""Queries of one read, each of at most CHUNKS chunks and a megabyte."""
MAX_PAGE_BYTES: Final = 1_000_000
MAX_PROBES: Final = 50
SKEW_MS: Final = 60_000
"""How far apart the clocks may be of who decides on a job and of who appends its event."""

_NUMBER: Final = re.compile(r"\d{1,15}", re.ASCII)
_SORTED: Final = re.compile(r"(\d{15})-(\d{6})", re.ASCII)
_EVENT_ID: Final = re.compile(r"evt_([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-.{17}", re.ASCII)


class _Cursor(NamedTuple):
    """Says where reading continues: a chunk, and how many of its events were seen."""

    position: int
    seen: int = 0

    @property
    def cursor(self) -> str:
        return encode_cursor(str(self.position), str(self.seen))

    @property
    def sorted_cursor(self) -> str:
        """Return a cursor that sorts as text in the order of the log."""
        return f"{chunk_key(self.position)}-{self.seen:06d}"


@dataclass(slots=True)
class _Found:
    """Collects the events of a page."""

    query: EventQuery
    events: list[Event] = field(default_factory=list)
    cursors: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    size: int = 0

    @property
    def is_full(self) -> bool:
        return len(self.events) >= self.query.limit or self.size >= MAX_PAGE_BYTES

    def add(self, event: Event, behind: _Cursor) -> None:
        """Add a wanted event, and the position behind it; a repeated one is left out."""
        if self.lacks(event):
            self.ids.add(event.id)
            self.events.append(event)
            self.cursors.append(behind.sorted_cursor)
            self.size += len(event.data)

    def lacks(self, event: Event) -> bool:
        """Return whether an event is wanted and not among these."""
        return self.query.matches(event) and event.id not in self.ids

    def page(self, end: _Cursor, *, has_more: bool, has_gap: bool) -> EventPage:
        """Return the page that was read forward to a position."""
        return EventPage(
            tuple(self.events),
            end.cursor,
            has_more=has_more,
            cursors=tuple(self.cursors),
            end=end.sorted_cursor,
            has_gap=has_gap,
        )


@dataclass(frozen=True, slots=True)
class EventReader(InTable):
    """Reads pages of the log."""

    def read(self, query: EventQuery) -> EventPage:
        """Return a page; see :class:`~ojs_aws.stores.EventLog`.

        :raises InvalidRequestError: a cursor that is not ours, or an ``after_id`` that the log
            does not hold.
        """
        if query.cursor:
            return self._forward(query, _parsed(query.cursor))
        if query.after_id:
            return self._forward(query, self._behind(query.after_id))
        if query.since is not None:
            return self._forward(query, self._at(query.since))
        return self._latest(query)

    def _forward(self, query: EventQuery, at: _Cursor) -> EventPage:
        found, begin = _Found(query), at
        has_gap = False
        for chunk in self._chunks_from(at):
            if chunk is None:
                return found.page(at, has_more=True, has_gap=has_gap)
            position, events = chunk
            has_gap = has_gap or (at is begin and 0 < begin.position < position)
            seen = at.seen if position == at.position else 0
            for number, event in enumerate(events[seen:], seen):
                if found.is_full:
                    return found.page(_Cursor(position, number), has_more=True, has_gap=has_gap)
                found.add(event, _Cursor(position, number + 1))
            at = _Cursor(position + 1)
        return found.page(at, has_more=False, has_gap=has_gap)

    def _chunks_from(self, at: _Cursor) -> Iterator[tuple[int, list[Event]] | None]:
        """Yield the chunks from a position to the end, or to the maximum that a page may read.

        A query is no snapshot: it may show a chunk and not the one before, which was written while
        it ran. A position that is empty is asked for again; what is empty then has expired.
        """
        expected, is_sure = at.position, False
        for _ in range(MAX_QUERIES):
            items, is_more = self._query(f">= {chunk_key(expected)}")
            for item in items:
                position = position_of(item)
                if position != expected and not is_sure:
                    is_more = True
                    break
                yield position, chunk_events(item)
                expected, is_sure = position + 1, False
            else:
                is_sure = False
                if not is_more:
                    return
                continue
            is_sure = True
        yield None

    def _latest(self, query: EventQuery) -> EventPage:
        """Return the newest matching events, oldest first, up to the end of the log."""
        found = _Found(query)
        end = _Cursor(0)
        has_earlier = False
        for position, events, is_oldest in self._newest():
            end = max(end, _Cursor(position + 1))
            has_earlier = not is_oldest
            for event in reversed(events):
                if found.is_full:
                    has_earlier = has_earlier or found.lacks(event)
                else:
                    found.add(event, _Cursor(position))
            if found.is_full:
                break
        return EventPage(tuple(reversed(found.events)), end.cursor, has_earlier=has_earlier)

    def end(self) -> str:
        """Return the cursor behind the newest event: one query of one row."""
        last, _ = self._query("", limit=1, forward=False, project=True)
        return _Cursor(position_of(last[0]) + 1 if last else 0).sorted_cursor

    def _newest(self) -> Iterator[tuple[int, list[Event], bool]]:
        """Yield chunks from the end backwards, as many as a page may read.

        Each with whether it is known to be the oldest one.
        """
        before = ""
        for _ in range(MAX_QUERIES):
            items, is_more = self._query(f"< {before}" if before else "", forward=False)
            for number, item in enumerate(items, 1):
                before = chunk_key(position_of(item))
                is_oldest = number == len(items) and not is_more
                yield position_of(item), chunk_events(item), is_oldest
            if not is_more:
                return

    def _at(self, instant: int) -> _Cursor:
        """Return the first chunk appended at an instant or later; some twenty small queries."""
        items, _ = self._query("", limit=1, project=True)
        last, _ = self._query("", limit=1, forward=False, project=True)
        if not items or not last:
            return _Cursor(0)
        low, high = position_of(items[0]), position_of(last[0]) + 1
        for _ in range(MAX_PROBES):
            if low >= high:
                break
            middle = (low + high) // 2
            probed, _ = self._query(f">= {chunk_key(middle)}", limit=1, project=True)
            if probed and chunk_time(probed[0]) < instant - SKEW_MS:
                low = position_of(probed[0]) + 1
            else:
                high = middle
        return _Cursor(low)

    def _behind(self, event_id: str) -> _Cursor:
        """Return the position right behind an event: near the end, else by the time in its id."""
        match = _EVENT_ID.fullmatch(event_id)
        if match:
            for chunk in self._candidates(int(match[1] + match[2], 16)):
                position, events = chunk
                for number, event in enumerate(events, 1):
                    if event.id == event_id:
                        return _Cursor(position, number)
        message = f"The log does not hold an event '{event_id[:60]}', or holds it too far back."
        hint = "Pass the 'cursor' of the previous page, or 'since' with a timestamp."
        raise field_error("after", message, hint)

    def _candidates(self, time: int) -> Iterator[tuple[int, list[Event]]]:
        yield from ((position, events) for position, events, _ in self._newest())
        yield from filter(None, self._chunks_from(self._at(time)))

    def _query(
        self, condition: str, *, forward: bool = True, limit: int = 0, project: bool = False
    ) -> tuple[list[Item], bool]:
        """Return chunks in order of their numbers, and whether there are more."""
        values = {"pk": string(PARTITION)}
        more: dict[str, Any] = {}
        key = "#pk = :pk"
        if condition:
            operator, value = condition.split()
            key += f" AND #sk {operator} :at"
            values["at"] = string(value)
        if project:
            more["ProjectionExpression"] = f"#sk, #{AT}"
        answer = self.query(
            key,
            values,
            ScanIndexForward=forward,
            Limit=limit or CHUNKS,
            ConsistentRead=True,
            **more,
        )
        return answer["Items"], "LastEvaluatedKey" in answer


def _parsed(cursor: str) -> _Cursor:
    if match := _SORTED.fullmatch(cursor):
        return _Cursor(int(match[1]), int(match[2]))
    parts = decode_cursor(cursor, 2)
    if not all(_NUMBER.fullmatch(part) for part in parts):
        message = "The 'cursor' parameter is not one that this server gave out."
        hint = "Pass the cursor of the previous page as it is, or start without a cursor."
        raise field_error("cursor", message, hint)
    return _Cursor(int(parts[0]), int(parts[1]))
