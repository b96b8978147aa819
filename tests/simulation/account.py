"""The AWS of a run: kept in memory, each of its calls passes the simulation's gate."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from ojs_aws.adapters.aws_errors import AwsError
from ojs_aws.bootstrap import AwsClients
from ojs_aws.config import Settings
from ojs_aws.domain.events import Event
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant
from ojs_aws.local.aws import create_bucket, create_queues, create_table
from ojs_aws.memory_aws import Call, MemoryAws
from ojs_aws.memory_aws.calls import Answer, Calls, Effect, Request
from ojs_aws.memory_aws.dynamodb import MemoryDynamoDB
from ojs_aws.memory_aws.events import MemoryEvents
from ojs_aws.memory_aws.items import Item
from ojs_aws.memory_aws.table import Key, Stream
from tests.memory_hooks import Exceptions
from tests.simulation.channels import SimulatedSqs

BUCKET: Final = "documents"
BUS: Final = "events"

Gate: TypeAlias = Callable[[Call, Callable[[], Answer]], Answer]
"""Makes a call, or what the fault profile makes of it."""

Written: TypeAlias = Callable[[dict[str, Any], Key, Item | None, Item | None], None]
"""Learns of each write of the table: its record, its key, and the item before and after it."""


@dataclass(eq=False)
class GatedCalls(Calls):
    """Calls that may stop at the gate; they do so before they keep others out."""

    gate: Gate = lambda _, effect: effect()

    def run(self, service: str, operation: str, request: Request, effect: Effect) -> Answer:
        """Pass the gate."""
        return self.gate(
            Call(service, operation, request),
            lambda: super(GatedCalls, self).run(service, operation, request, effect),
        )


@dataclass
class Commits(Stream):
    """Hands each record of the table's stream on, and keeps none."""

    written: Written = lambda *_: None

    def add(self, key: Key, before: Item | None, after: Item | None, *, is_expiry: bool) -> None:
        """Report a write."""
        super().add(key, before, after, is_expiry=is_expiry)
        self.written(self.records.pop(), key, before, after)


@dataclass(eq=False)
class SimulatedBus(MemoryEvents):
    """The event bus; it takes an event, or refuses it."""

    refuses: Callable[[], bool] = lambda: False

    def _put(self, _: str, request: Request) -> Answer:
        results = []
        for entry in request["Entries"]:
            if self.refuses():
                results.append({"ErrorCode": "InternalFailure"})
            else:
                self.entries.append(dict(entry))
                results.append({"EventId": f"event-{len(self.entries)}"})
        refused = sum("ErrorCode" in each for each in results)
        return {"FailedEntryCount": refused, "Entries": results}

    def taken(self) -> Iterator[Event]:
        """Return the events that the bus took, in their order."""
        for entry in self.entries:
            detail = json.loads(entry["Detail"])
            yield Event(
                id=detail["id"],
                type=detail["type"],
                time=Instant(0),
                queue="",
                subject=detail["subject"],
                data=RawJson(entry["Detail"]),
                sequence=detail.get("sequence", ""),
            )


@dataclass(eq=False)
class Account:
    """An account with what a deployment has.

    :ivar clients: of the functions.
    :ivar looking: clients of the simulation itself, which pass no gate.
    """

    table_name: str
    sqs: SimulatedSqs
    bus: SimulatedBus
    now_ms: Callable[[], int]
    gate: Gate
    written: Written
    aws: MemoryAws = field(init=False)
    clients: AwsClients = field(init=False)
    looking: AwsClients = field(init=False)

    def __post_init__(self) -> None:
        """Begin with an empty account."""
        self.aws = MemoryAws(GatedCalls(self.now_ms, gate=self.gate))
        self.sqs.calls = self.bus.calls = self.aws.calls
        dynamodb, s3 = self.aws.dynamodb, self.aws.s3
        bus: Any = self.bus
        looking: Any = MemoryDynamoDB(Calls(self.now_ms), self.aws.tables.tables)
        ungated: Any = self.sqs.ungated(Calls(self.now_ms))
        gated: Any = self.sqs
        self.clients = AwsClients(dynamodb, gated, lambda: s3, lambda: bus)
        self.looking = AwsClients(looking, ungated, lambda: s3, lambda: bus)

    def deploy(self, settings: Settings) -> str:
        """Create the table, the bucket and the queues; return what begins the URLs of these."""
        clients: tuple[Any, ...] = (self.looking.dynamodb, self.looking.sqs, self.looking.s3())
        for client in clients:
            client.exceptions = Exceptions()
        create_table(self.looking.dynamodb, self.table_name)
        create_bucket(self.looking.s3(), BUCKET)
        table = self.aws.table(self.table_name)
        table.stream = Commits(self.now_ms, written=self.written)
        return create_queues(self.looking.sqs, settings)


def refused(call: Call, code: str, status: int) -> AwsError:
    """Return the error of a call that AWS did not carry out, or did not answer."""
    response = {
        "Error": {"Code": code, "Message": "injected"},
        "ResponseMetadata": {"HTTPStatusCode": status, "RetryAttempts": 0},
    }
    return AwsError(response, call.operation)


def keys_of(call: Call) -> list[Item]:
    """Return the keys of the items that a call writes."""
    request = call.request
    if call.operation == "TransactWriteItems":
        parts = [part for action in request["TransactItems"] for part in action.values()]
    elif call.operation in {"PutItem", "UpdateItem", "DeleteItem"}:
        parts = [request]
    else:
        return []
    return [part.get("Item") or part["Key"] for part in parts]


def partitions_of(call: Call) -> set[str]:
    """Return the partitions that a call writes to."""
    return {key["pk"]["S"] for key in keys_of(call)}


def label_of(call: Call) -> str:
    """Return a call as people read it."""
    request = call.request
    what = ", ".join(f"{key['pk']['S'][-12:]}/{key['sk']['S'][:12]}" for key in keys_of(call))
    if not what and "QueueUrl" in request:
        what = request["QueueUrl"].rpartition("/")[2]
    if not what and "Key" in request and isinstance(request["Key"], dict):
        what = request["Key"]["pk"]["S"][-12:]
    if not what and call.operation == "Query":
        what = str(list(request.get("ExpressionAttributeValues", {}).values())[:2])
    return f"{call.operation} {what}".strip()
