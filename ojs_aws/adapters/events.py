"""Publishes lifecycle events to an EventBridge bus."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.adapters.errors import translated
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.events import Event, bounded, render_event
from ojs_aws.domain.runtime import in_groups
from ojs_aws.domain.timestamps import datetime_of

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

SOURCE: Final = "ojs.aws"
BATCH: Final = 10
TRIES: Final = 3
MAX_REQUEST_BYTES: Final = 256 * 1024
"""All entries of one call together, as EventBridge counts them."""
TIME_BYTES: Final = 14
MARGIN: Final = 2048
"""Left of an entry for the envelope around the data."""


@dataclass(frozen=True, slots=True)
class EventBus:
    """Puts events on a bus, at least once. An empty bus name means no bus.

    :ivar types: patterns (``job.*``) of the types that go there; one that begins with ``!`` keeps
        types away. None of them: all go.
    :ivar type_prefix: what types begin with there (ojs-cloudevents-interop, section 5.2).
    """

    client: Callable[[], EventBridgeClient]
    bus: str
    types: tuple[str, ...] = ()
    type_prefix: str = ""

    def __call__(self, events: Sequence[Event]) -> Collection[str]:
        """Put events on the bus in order, in batches; refused ones are sent again.

        :returns: ids of events that the bus did not take.
        """
        if not self.bus:
            return ()
        entries = [(event.id, self._entry(event)) for event in events if self._goes(event.type)]
        refused: list[str] = []
        is_reachable = True
        groups = in_groups(
            entries, lambda each: entry_bytes(each[1]), MAX_REQUEST_BYTES, max_count=BATCH
        )
        for group in groups:
            left = group
            if is_reachable:
                try:
                    left = self._put(group)
                except BackendError:
                    is_reachable = False  # each further call would cost its time in vain
            refused += [event_id for event_id, _ in left]
        return refused

    def _goes(self, kind: str) -> bool:
        wanted = [pattern for pattern in self.types if not pattern.startswith("!")]
        barred = [pattern[1:] for pattern in self.types if pattern.startswith("!")]
        is_wanted = not wanted or any(fnmatchcase(kind, pattern) for pattern in wanted)
        return is_wanted and not any(fnmatchcase(kind, pattern) for pattern in barred)

    def _put(self, group: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        """Put entries; return the refused ones of each try."""
        for _ in range(TRIES):
            with translated("PutEvents"):
                entries = [entry for _, entry in group]
                results = self.client().put_events(Entries=entries)["Entries"]
            group = [
                each for each, result in zip(group, results, strict=True) if result.get("ErrorCode")
            ]
            if not group:
                break
        return group

    def _entry(self, event: Event) -> dict[str, Any]:
        short = bounded(event, MAX_REQUEST_BYTES - MARGIN)
        if self.type_prefix:
            short = replace(short, type=f"{self.type_prefix}{event.type}")
        return {
            "EventBusName": self.bus,
            "Source": SOURCE,
            "DetailType": short.type,
            "Time": datetime_of(event.time),
            "Resources": [event.subject],
            "Detail": str(render_event(short)),
        }


def entry_bytes(entry: dict[str, Any]) -> int:
    """Return the size of an entry by EventBridge's rules: time, source, type, detail, resources."""
    texts = (entry["Source"], entry["DetailType"], entry["Detail"], *entry["Resources"])
    return TIME_BYTES + sum(len(text.encode()) for text in texts)
