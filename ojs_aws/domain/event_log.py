"""Describes what is read from the event log, and what is set aside."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from ojs_aws.domain.events import Event
from ojs_aws.domain.timestamps import Instant

HANDLED_MARK: Final = "stream"
"""Name of the mark that says until which tick the stream's consumer has handled changes."""


@dataclass(frozen=True, slots=True)
class EventQuery:
    """Says which events to read. Empty filters match all; all given ones must match.

    :ivar types: event types; one that ends in ``*`` stands for all that begin so.
    :ivar job_ids: jobs that events are about.
    :ivar since: events that happened earlier are left out.
    :ivar cursor: of the page before; outweighs ``since`` as the place to begin.
    :ivar after_id: id of the last event seen, for who kept no cursor.
    :ivar sees: says whether the caller may see an event; None for all events.
    """

    types: frozenset[str] = field(default_factory=frozenset)
    queues: frozenset[str] = field(default_factory=frozenset)
    job_types: frozenset[str] = field(default_factory=frozenset)
    job_ids: frozenset[str] = field(default_factory=frozenset)
    since: Instant | None = None
    limit: int = 100
    cursor: str = ""
    after_id: str = ""
    sees: Callable[[Event], bool] | None = None

    def matches(self, event: Event) -> bool:
        """Return whether an event is wanted."""
        return (
            (self.since is None or event.time >= self.since)
            and (not self.queues or event.queue in self.queues)
            and (not self.job_types or event.job_type in self.job_types)
            and (not self.job_ids or event.subject in self.job_ids)
            and (not self.types or any(is_named(event.type, name) for name in self.types))
            and (self.sees is None or self.sees(event))
        )


def is_named(kind: str, name: str) -> bool:
    """Return whether a filter names an event type: by its name, or by its beginning and ``*``."""
    return kind.startswith(name[:-1]) if name.endswith("*") else kind == name


@dataclass(frozen=True, slots=True)
class EventPage:
    """Holds events in the order of the log, and the cursor to go on from.

    :ivar has_more: there may be more right now; the page may still be empty, when what was
        looked through for it held nothing wanted.
    :ivar has_earlier: of a page of the newest events: there may be wanted ones before it.
    :ivar places: of a page that was read forward: for each event the cursor behind it. They sort
        as texts in the order of the log.
    :ivar end: of such a page: the cursor behind it, in the same form.
    :ivar has_gap: the log holds no events right behind the place where reading began, but later
        ones: those between have expired.
    """

    events: tuple[Event, ...]
    cursor: str = ""
    has_more: bool = False
    has_earlier: bool = False
    places: tuple[str, ...] = ()
    end: str = ""
    has_gap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """Holds a change whose events could not be published, for an operator.

    :ivar number: sequence number of the stream record.
    :ivar reason: what was wrong.
    :ivar record: the record as JSON text.
    """

    number: str
    reason: str
    record: str


Announce = Callable[[Sequence[Event]], Collection[str]]
"""Puts events on the bus; returns the ids of those that it refused."""
