"""Answers the calls of EventBridge and Lambda that the adapters make, as botocore's clients do.

Lambda queues the event and answers 202. Later it runs the function, and sends a record of the
invocation to a destination: for a failure when no retry is left, or when the event is too old. A
throttled event stays in the queue. The payload of a record that would be too large is left out.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from ojs_aws.memory_aws.calls import (
    ACCOUNT,
    META,
    REGION,
    Answer,
    Calls,
    Client,
    Meta,
    Request,
    refuse,
)

MAX_PAYLOAD: Final = 1024 * 1024
MAX_RECORD: Final = 1024 * 1024
"""Bytes of an event, and of a record, at most."""
EXECUTED: Final = "$LATEST"
MAX_ENTRIES: Final = 10
MAX_BYTES: Final = 256 * 1024


class RuntimeAnswerError(Exception):
    """Is raised by a function that stands for another runtime.

    :ivar said: what that runtime says of the failure.
    """

    def __init__(self, said: Answer) -> None:
        """Keep the answer."""
        super().__init__(str(said))
        self.said = said


@dataclass(slots=True)
class Target:
    """Describes an alias that is invoked asynchronously, with its settings.

    :ivar function: what a Python runtime calls, with the event and a context.
    :ivar deliver: sends a record to the destination.
    :ivar is_throttled: all executions that it may have are busy.
    """

    function: Callable[[Any, Any], Any]
    deliver: Callable[[str], None]
    max_age_s: int = 21_600
    is_throttled: bool = False
    is_denied: bool = False


@dataclass(slots=True)
class _Event:
    request_id: str
    target: str
    payload: str
    accepted_at: int


@dataclass(eq=False, slots=True)
class Invocations:
    """Queues events, and runs them when a test says so.

    :ivar targets: the aliases by their ARNs.
    :ivar waiting: the events in Lambda's queues.
    """

    calls: Calls
    targets: dict[str, Target] = field(default_factory=dict)
    waiting: list[_Event] = field(default_factory=list)
    _accepted: int = 0

    def accept(self, request: Request) -> Answer:
        """Add an event to the queue of its function.

        :raises AwsError: no such function, no right to it, or too large an event.
        """
        target, payload = str(request["FunctionName"]), request["Payload"].decode()
        known = self.targets.get(target)
        if known is None:
            refuse(
                "Invoke", "ResourceNotFoundException", f"Function not found: {target}", status=404
            )
        if known.is_denied:
            refuse("Invoke", "AccessDeniedException", "User is not authorized", status=403)
        if len(payload.encode()) > MAX_PAYLOAD:
            refuse("Invoke", "RequestTooLargeException", f"{MAX_PAYLOAD} bytes", status=413)
        json.loads(payload)
        self._accepted += 1
        event = _Event(f"invocation-{self._accepted}", target, payload, self.calls.now_ms())
        self.waiting.append(event)
        return {"StatusCode": 202}

    def run(self) -> int:
        """Run the events that wait; return how many records were sent to destinations."""
        events, self.waiting = self.waiting, []
        return sum(self._run(event) for event in events)

    def _run(self, event: _Event) -> bool:
        target = self.targets.get(event.target)
        if target is None:
            return False  # deleted meanwhile, with its settings
        if self.calls.now_ms() - event.accepted_at > target.max_age_s * 1000:
            target.deliver(_record(event, self.calls.now_ms(), "EventAgeExceeded", {}, None))
            return True
        if target.is_throttled:
            self.waiting.append(event)
            return False
        context: Answer = {"statusCode": 200, "executedVersion": EXECUTED}
        condition = "Success"
        try:
            payload = json.dumps(target.function(json.loads(event.payload), None))
        except RuntimeAnswerError as problem:
            condition, payload = "RetriesExhausted", json.dumps(problem.said)
            context["functionError"] = "Unhandled"
        except Exception as problem:  # noqa: BLE001 - whatever the function raises
            condition, payload = "RetriesExhausted", json.dumps(_said_by_python(problem))
            context["functionError"] = "Unhandled"
        target.deliver(_record(event, self.calls.now_ms(), condition, context, payload))
        return True


def _record(event: _Event, now: int, condition: str, response: Answer, payload: str | None) -> str:
    """Return the record of an invocation, with both payloads byte for byte.

    :param payload: what the function returned or raised; None where it was not run.
    """
    context = {
        "requestId": event.request_id,
        "functionArn": event.target,
        "condition": condition,
        "approximateInvokeCount": 0 if payload is None else 1,
    }
    record = {
        "version": '"1.0"',
        "timestamp": f'"{now}"',
        "requestContext": json.dumps(context),
        "requestPayload": event.payload,
    }
    if payload is not None:
        record |= {"responseContext": json.dumps(response), "responsePayload": payload}
    for left_out in ("responsePayload", "requestPayload"):
        if len((text := _text(record)).encode()) <= MAX_RECORD:
            return text
        record.pop(left_out, None)
    return _text(record)


def _text(record: dict[str, str]) -> str:
    """Return a record as JSON; its members are."""
    return "{" + ",".join(f'"{name}":{value}' for name, value in record.items()) + "}"


def _said_by_python(problem: Exception) -> Answer:
    """Return what the Python runtime says of an exception."""
    return {
        "errorMessage": str(problem),
        "errorType": type(problem).__name__,
        "requestId": "invocation",
        "stackTrace": traceback.format_tb(problem.__traceback__),
    }


@dataclass(eq=False)
class MemoryEvents(Client):
    """Keeps the entries that were put on event buses.

    :ivar entries: all entries, in their order.
    """

    service: ClassVar = "events"
    operations: ClassVar = {"PutEvents": "_put"}
    calls: Calls
    entries: list[dict[str, Any]] = field(default_factory=list)
    meta: Meta = META

    def create_event_bus(self, **request: Any) -> Answer:
        """Say that there is a bus of this name: each bus takes events."""
        return {"EventBusArn": f"arn:aws:events:{REGION}:{ACCOUNT}:event-bus/{request['Name']}"}

    def _put(self, _: str, request: Request) -> Answer:
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
class MemoryLambda(Client):
    """Keeps event source mappings, and asynchronous invocations.

    :ivar mappings: the mappings by id.
    :ivar invocations: the functions that may be invoked, and the events that wait for them.
    """

    service: ClassVar = "lambda"
    operations: ClassVar = {
        "Invoke": "_invoke",
        "ListEventSourceMappings": "_list",
        "UpdateEventSourceMapping": "_update",
    }
    calls: Calls
    mappings: dict[str, Mapping] = field(default_factory=dict)
    meta: Meta = META
    invocations: Invocations = field(init=False)

    def __post_init__(self) -> None:
        """Begin without functions."""
        self.invocations = Invocations(self.calls)

    def _invoke(self, _: str, request: Request) -> Answer:
        return self.invocations.accept(request)

    def _list(self, _: str, request: Request) -> Answer:
        found = [m for m in self.mappings.values() if m.source_arn == request["EventSourceArn"]]
        return {"EventSourceMappings": [_described(each) for each in found]}

    def _update(self, operation: str, request: Request) -> Answer:
        mapping = self.mappings.get(request["UUID"])
        if mapping is None:
            code, message = "ResourceNotFoundException", "The resource does not exist."
            refuse(operation, code, message, status=404)
        mapping.is_enabled = request["Enabled"]
        return _described(mapping)


def _described(mapping: Mapping) -> Answer:
    state = "Enabled" if mapping.is_enabled else "Disabled"
    return {"UUID": mapping.uuid, "EventSourceArn": mapping.source_arn, "State": state}
