"""Keeps events and marks in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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

    def read(self, query: EventQuery) -> EventPage:
        """Read events behind a cursor, which counts those that were read; else the newest."""
        seen = int(query.cursor) if query.cursor.isdigit() else 0
        chosen = [event for event in self.log[seen:] if query.matches(event)]
        return EventPage(tuple(chosen[-query.limit :]), str(len(self.log)))

    def set_aside(self, change: SetAside, now: Instant) -> None:
        """Keep a change."""
        self.kept[change.number] = change

    def aside(self, limit: int) -> list[SetAside]:
        """Return what was set aside."""
        return list(self.kept.values())[:limit]

    def forget_aside(self, number: str) -> None:
        """Forget a change that was set aside."""
        del self.kept[number]
