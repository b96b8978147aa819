"""Answers the calls of EventBridge and Lambda that the adapters make, as botocore's clients do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from ojs_aws.memory_aws.calls import ACCOUNT, META, REGION, Answer, Calls, Meta, Request, refuse
from ojs_aws.memory_aws.invocations import Invocations

MAX_ENTRIES: Final = 10
MAX_BYTES: Final = 256 * 1024


@dataclass(eq=False)
class MemoryEvents:
    """Keeps the entries that were put on event buses.

    :ivar entries: all entries, in their order.
    """

    calls: Calls
    entries: list[dict[str, Any]] = field(default_factory=list)
    meta: Meta = META

    def put_events(self, **request: Any) -> Answer:
        """Put up to ten events."""
        return self.calls.run("events", "PutEvents", request, self._put)

    def create_event_bus(self, **request: Any) -> Answer:
        """Say that there is a bus of this name: each bus takes events."""
        return {"EventBusArn": f"arn:aws:events:{REGION}:{ACCOUNT}:event-bus/{request['Name']}"}

    def _put(self, request: Request) -> Answer:
        entries = request["Entries"]
        size = sum(len(str(each["Detail"]).encode()) for each in entries)
        if not 1 <= len(entries) <= MAX_ENTRIES or size > MAX_BYTES:
            refuse("PutEvents", "ValidationException", "1 to 10 entries, at most 256 KB together")
        begin = len(self.entries)
        self.entries += [dict(each) for each in entries]
        ids = [{"EventId": f"event-{begin + number}"} for number in range(1, len(entries) + 1)]
        return {"FailedEntryCount": 0, "Entries": ids}


@dataclass(slots=True)
class Mapping:
    """Describes an event source mapping: the queue that invokes a function."""

    uuid: str
    source_arn: str
    is_enabled: bool = True


@dataclass(eq=False)
class MemoryLambda:
    """Keeps event source mappings, and asynchronous invocations.

    :ivar mappings: the mappings by id.
    :ivar invocations: the functions that may be invoked, and the events that wait for them.
    """

    calls: Calls
    mappings: dict[str, Mapping] = field(default_factory=dict)
    meta: Meta = META
    invocations: Invocations = field(init=False)

    def __post_init__(self) -> None:
        """Begin without functions."""
        self.invocations = Invocations(self.calls)

    def invoke(self, **request: Any) -> Answer:
        """Hand an event to the queue of a function."""
        return self._run("Invoke", request, self.invocations.accept)

    def list_event_source_mappings(self, **request: Any) -> Answer:
        """List the mappings of a queue."""
        return self._run("ListEventSourceMappings", request, self._list)

    def update_event_source_mapping(self, **request: Any) -> Answer:
        """Switch a mapping on or off."""
        return self._run("UpdateEventSourceMapping", request, self._update)

    def _run(self, operation: str, request: Request, effect: Callable[[Request], Answer]) -> Answer:
        return self.calls.run("lambda", operation, request, effect)

    def _list(self, request: Request) -> Answer:
        found = [m for m in self.mappings.values() if m.source_arn == request["EventSourceArn"]]
        return {"EventSourceMappings": [_described(each) for each in found]}

    def _update(self, request: Request) -> Answer:
        mapping = self.mappings.get(request["UUID"])
        if mapping is None:
            code, message = "ResourceNotFoundException", "The resource does not exist."
            refuse("UpdateEventSourceMapping", code, message, status=404)
        mapping.is_enabled = request["Enabled"]
        return _described(mapping)


def _described(mapping: Mapping) -> Answer:
    state = "Enabled" if mapping.is_enabled else "Disabled"
    return {"UUID": mapping.uuid, "EventSourceArn": mapping.source_arn, "State": state}
