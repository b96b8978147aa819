"""What a job costs: AWS calls and write units per operation, counted, and dollars per million jobs.

    python -m benchmarks.costs

The operations run for real on an embedded AWS; their calls are counted at the client, and the
units are computed from the items by DynamoDB's own rules. Prices are those of us-east-1 on the date
below; Lambda and API Gateway are not included.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from ojs_aws.adapters.dynamodb.values import item_bytes
from ojs_aws.bootstrap import AwsClients, build_backend
from ojs_aws.config import Settings
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.json_text import parse_object
from ojs_aws.local.aws import REGION, create_bucket, create_queues, create_table, embedded_aws
from ojs_aws.ports import Clock
from ojs_aws.pricing import PRICED_ON, PRICES
from ojs_aws.services.backend import Backend
from ojs_aws.services.fetch import FetchRequest, in_turn

KILOBYTE: Final = 1024
READ_BLOCK: Final = 4096
SIZES: Final = {"1 KB": 600, "10 KB": 10_000, "100 KB": 100_000}
ERROR: Final = parse_object('{"type": "Broken", "message": "it broke"}')


@dataclass
class Meter:
    """Counts calls, and the units of the writes and reads among them."""

    calls: Counter[str] = field(default_factory=Counter)
    units: Counter[str] = field(default_factory=Counter)

    def watch(self, client: Any) -> None:
        """Count the calls of a client from now on."""

        def note(model: Any, **_: Any) -> None:
            self.calls[model.name] += 1
            if model.service_model.service_name == "sqs":
                self.units["SQS request"] += 1

        client.meta.events.register("before-call", note)

    def take(self) -> tuple[Counter[str], Counter[str]]:
        """What was counted since the last time."""
        taken = self.calls, self.units
        self.calls, self.units = Counter(), Counter()
        return taken


@dataclass(frozen=True)
class Row:
    """One operation of one path."""

    operation: str
    calls: Counter[str]
    writes: float
    reads: float
    requests: int

    def dollars(self) -> float:
        """Dollars per million."""
        each = (
            self.writes * PRICES["write unit"]
            + self.reads * PRICES["read unit"]
            + self.requests * PRICES["SQS request"]
        )
        return each * 1e6


class Laboratory:
    """A backend whose items can be weighed."""

    def __init__(self, clock: Clock | None = None) -> None:
        """Set up an embedded AWS; it must be running.

        :param clock: None for the time as it is.
        """
        import boto3  # noqa: PLC0415 - inside the embedded AWS

        self.dynamodb, sqs, s3 = (
            boto3.client("dynamodb"),
            boto3.client("sqs"),
            boto3.client("s3"),
        )
        base = Settings()
        create_table(self.dynamodb, base.table)
        create_bucket(s3, "documents")
        settings = replace(base, queue_url_prefix=create_queues(sqs, base), bucket="documents")
        self.settings = settings
        events: Any = boto3.client("events")
        clients = AwsClients(self.dynamodb, sqs, lambda: s3, lambda: events)
        self.backend: Backend = build_backend(settings, clients, clock=clock, both=in_turn)
        self.clients = (self.dynamodb, sqs)
        self.meter = Meter()
        for client in (self.dynamodb, sqs):
            self.meter.watch(client)
        self.meter.take()

    def kilobytes(self, job_id: str) -> dict[str, int]:
        """Begun kilobytes of each item that a job has."""
        answer = self.dynamodb.query(
            TableName=self.settings.table,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": f"job#{job_id}"}},
        )
        return {
            item["sk"]["S"].partition("#")[0]: -(-item_bytes(dict(item)) // KILOBYTE)
            for item in answer["Items"]
        }


def document(size: int) -> list[Any]:
    """Arguments of about so many bytes that compress like ordinary JSON, not like one letter."""
    chosen = random.Random(size)
    words = ["order", "customer", "invoice", "payment", "shipped", "total", "currency", "status"]
    entries: list[Any] = []
    while len(str(entries)) < size:
        entries.append(
            {chosen.choice(words): chosen.randrange(10**6), "note": chosen.choice(words)}
        )
    return entries


def measure(lab: Laboratory, size: int) -> list[Row]:
    """The operations of a job's life for one size of document."""
    backend, rows = lab.backend, []
    request = FetchRequest(("default",), worker_id="worker-1")

    def step(
        name: str,
        call: Callable[[], Any],
        job_id: str,
        index: float,
        reads: float = 0,
        places: int = 0,
    ) -> None:
        before = lab.kilobytes(job_id) if job_id else {}
        lab.meter.take()
        made = call()
        calls, units = lab.meter.take()
        found = job_id or made.record.id
        after = lab.kilobytes(found)
        hot = max(before.get("job", 0), after.get("job", 0))
        is_read = not {"PutItem", "UpdateItem", "TransactWriteItems"} & set(calls)
        writes = 0.0 if is_read else float(hot + index)
        if "TransactWriteItems" in calls:
            writes = 2.0 * sum(after.values()) + index
        if places:  # the job and its buckets; and the update in vain by which ACK learns of them
            writes = 2.0 * (hot + places) + index + hot * calls["UpdateItem"]
        rows.append(Row(name, calls, writes, reads, units["SQS request"]))

    holder: list[str] = []

    def push() -> Any:
        made = backend.push(Job("demo.echo", document(size)))
        holder.append(made.record.id if made.record else "")
        return made

    step("PUSH", push, "", 1)
    blocks = sum(lab.kilobytes(holder[0]).values()) * KILOBYTE / READ_BLOCK
    unique: Any = {"keys": ["type", "args"], "period": "PT1H"}
    lock = 2.0  # its write units, in a transaction
    alone = Job("demo.unique", document(size), unique=unique)
    step("PUSH unique", lambda: backend.push(alone), "", 1 + lock)
    again = Job("demo.unique", document(size), unique=unique | {"on_conflict": "ignore"})
    step("PUSH duplicate", lambda: backend.push(again), "", lock, reads=1)
    step("FETCH", lambda: backend.fetch(request), holder[0], 2, reads=1)
    step("FAIL", lambda: backend.fail(holder[0], "worker-1", ERROR), holder[0], 2, reads=1)
    step("INFO", lambda: backend.info(holder[0]), holder[0], 0, reads=max(1.0, blocks))
    backend.push(Job("demo.echo", document(size)))
    (second,) = backend.fetch(request)
    step("ACK", lambda: backend.ack(second.id, "worker-1", None), second.id, 2)
    backend.fetch(replace(request, count=10))  # the others are not to be in the way
    limit: Any = {"key": "api", "concurrency": 1}
    held = [backend.push(Job("demo.echo", document(size), rate_limit=limit)) for _ in range(2)]
    (first, waiting) = (each.record.id for each in held if each.record is not None)
    step("FETCH limited", lambda: backend.fetch(request), first, 2, reads=3, places=1)
    backend.fetch(request)  # tells that the limit is exceeded
    step("FETCH refused", lambda: backend.fetch(request), waiting, 0, reads=5)
    step("ACK limited", lambda: backend.ack(first, "worker-1", None), first, 2, places=1)
    return rows


def main() -> None:
    """Measure and print."""
    os.environ.setdefault("AWS_DEFAULT_REGION", REGION)
    os.environ.pop("AWS_ENDPOINT_URL", None)
    console = Console()
    for name, size in SIZES.items():
        with embedded_aws():
            rows = measure(Laboratory(), size)
        table = Table(
            "Operation",
            "AWS calls",
            "Write units",
            "$ per million",
            title=f"A job of {name} (us-east-1, {PRICED_ON})",
        )
        for row in rows:
            calls = ", ".join(f"{call} {count}" for call, count in sorted(row.calls.items()))
            table.add_row(row.operation, calls, f"{row.writes:g}", f"{row.dollars():.2f}")
        life = [row for row in rows if row.operation in {"PUSH", "FETCH", "ACK"}]
        writes, dollars = sum(row.writes for row in life), sum(row.dollars() for row in life)
        table.add_row("PUSH to ACK", "", f"{writes:g}", f"{dollars:.2f}", style="bold")
        console.print(table)


if __name__ == "__main__":
    main()
