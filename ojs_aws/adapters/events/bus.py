"""Publishing lifecycle events to an EventBridge bus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.adapters.errors import translated
from ojs_aws.domain.errors import BackendError
from ojs_aws.ports import Event

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

SOURCE: Final = "ojs.aws"
BATCH: Final = 10
TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class EventBus:
    """Puts events on a bus, at least once. An empty bus name means no bus."""

    client: Callable[[], EventBridgeClient]
    bus: str

    def __call__(self, events: Sequence[Event]) -> None:
        """Publish events, ten to a call; those that were refused are tried again.

        :raises BackendError: some were refused each time.
        """
        if not self.bus:
            return
        for begin in range(0, len(events), BATCH):
            self._put([self._entry(event) for event in events[begin : begin + BATCH]])

    def _put(self, entries: list[Any]) -> None:
        for _ in range(TRIES):
            with translated("PutEvents"):
                results = self.client().put_events(Entries=entries)["Entries"]
            entries = [
                entry
                for entry, result in zip(entries, results, strict=True)
                if result.get("ErrorCode")
            ]
            if not entries:
                return
        raise BackendError(f"The event bus refused {len(entries)} events.")

    def _entry(self, event: Event) -> dict[str, Any]:
        return {
            "EventBusName": self.bus,
            "Source": SOURCE,
            "DetailType": event.type,
            "Time": datetime.fromtimestamp(event.time / 1000, UTC),
            "Resources": [event.subject],
            "Detail": f'{{"id":"{event.id}","type":"{event.type}","data":{event.data}}}',
        }
