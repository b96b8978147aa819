"""Keeps events and marks in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.events import Event
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import EventPage, EventQuery, SetAside


@dataclass
class MemoryMarks:
    """Keeps marks in a dict."""

    marks: dict[str, Instant] = field(default_factory=dict)

    def read(self, name: str) -> Instant | None:
        """Return the mark."""
        return self.marks.get(name)

    def move(self, name: str, until: Instant) -> None:
        """Set a mark, never back."""
        self.marks[name] = max(until, self.marks.get(name, until))


def _place(number: int) -> str:
    """Return the cursor behind so many events, which sorts as text."""
    return f"{number:015d}-000000"


@dataclass
class MemoryEvents:
    """Keeps events in a list, in the order of their appends; what was set aside lies beside it."""

    log: list[Event] = field(default_factory=list)
    kept: dict[str, SetAside] = field(default_factory=dict)

    @property
    def events(self) -> dict[str, Event]:
        """Return the events, each once."""
        found: dict[str, Event] = {}
        for event in self.log:
            found.setdefault(event.id, event)
        return found

    def append(self, events: Sequence[Event], now: Instant) -> None:
        """Append events."""
        self.log += events

    def take_refused(self) -> int:
        """Return that nobody comes first."""
        return 0

    def read(self, query: EventQuery) -> EventPage:
        """Read events behind a cursor, which counts those that were read; else the newest."""
        if not (query.cursor or query.after_id):
            chosen = [event for event in self.log if query.matches(event)]
            newest = tuple(chosen[-query.limit :])
            has_earlier = len(chosen) > query.limit
            return EventPage(newest, str(len(self.log)), has_earlier=has_earlier)
        digits = query.cursor.partition("-")[0]
        seen = int(digits) if digits.isdigit() else 0
        if query.after_id and not query.cursor:
            seen = self._behind(query.after_id)
        found: list[tuple[int, Event]] = []
        for number, event in enumerate(self.log[seen:], seen + 1):
            if len(found) == query.limit:
                break
            seen = number
            if query.matches(event):
                found.append((number, event))
        return EventPage(
            tuple(event for _, event in found),
            str(seen),
            has_more=seen < len(self.log),
            places=tuple(_place(number) for number, _ in found),
            end=_place(seen),
        )

    def end(self) -> str:
        """Return the place behind the newest event."""
        return _place(len(self.log))

    def _behind(self, event_id: str) -> int:
        """Return the place behind an event.

        :raises InvalidRequestError: the log does not hold it.
        """
        for number, event in enumerate(self.log, 1):
            if event.id == event_id:
                return number
        raise field_error("after", f"The log does not hold an event '{event_id[:60]}'.")

    def set_aside(self, change: SetAside, now: Instant) -> None:
        """Keep a change."""
        self.kept[change.number] = change

    def aside(self, limit: int) -> list[SetAside]:
        """Return what was set aside."""
        return list(self.kept.values())[:limit]

    def forget_aside(self, number: str) -> None:
        """Forget a change that was set aside."""
        del self.kept[number]
