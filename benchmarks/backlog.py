"""What FETCH and INFO of a queue's head cost with a long backlog behind them.

    python -m benchmarks.backlog

The jobs are put into the embedded table itself, past the API: what is measured is one FETCH of one
job, its AWS calls, and the read units of its queries by what they read.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from ojs_aws.adapters.dynamodb.codec import to_item
from ojs_aws.adapters.dynamodb.values import item_bytes
from ojs_aws.bootstrap import AwsClients, build_backend
from ojs_aws.config import Settings
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobRecord
from ojs_aws.local.aws import REGION, create_bucket, create_queues, create_table, embedded_aws
from ojs_aws.services.backend import Backend
from ojs_aws.services.fetch import FetchRequest, in_turn
from ojs_aws.topology import TABLE

BACKLOGS: Final = (100, 1_000, 10_000, 100_000)
BLOCK: Final = 4096
KEYS: Final = (TABLE.partition_key, TABLE.sort_key, TABLE.index.partition_key, TABLE.index.sort_key)
REQUEST: Final = FetchRequest(("default",), worker_id="w")


class Reads:
    """Counts calls, and the eventually consistent read units of queries of the index."""

    def __init__(self, client: Any) -> None:
        """Watch a client from now on."""
        self.calls: Counter[str] = Counter()
        self.units = 0.0
        client.meta.events.register("before-call", self._call)
        client.meta.events.register("after-call.dynamodb.Query", self._read)

    def _call(self, model: Any, **_: Any) -> None:
        self.calls[model.name] += 1

    def _read(self, parsed: dict[str, Any], **_: Any) -> None:
        shown = {*KEYS, *TABLE.index.projected}
        rows = ({n: v for n, v in item.items() if n in shown} for item in parsed.get("Items", ()))
        self.units += 0.5 * max(1, -(-sum(map(item_bytes, rows)) // BLOCK))


def fill(backend: Backend, table: str, template: JobRecord, size: int) -> None:
    """Put so many available jobs into the embedded table, without a call for each."""
    from dataclasses import replace  # noqa: PLC0415 - only here

    from moto.dynamodb.models import dynamodb_backends  # noqa: PLC0415 - an extra

    held = dynamodb_backends["123456789012"][REGION].get_table(table)
    for _ in range(size):
        job = replace(template, id=backend.ids.job_id(), order=backend.clock.order())
        held.put_item(to_item(job, lambda _, __: 0))


def measure(backlog: int) -> tuple[Counter[str], float]:
    """One FETCH with so many jobs in line: its calls and read units."""
    import boto3  # noqa: PLC0415 - inside the embedded AWS

    with embedded_aws():
        dynamodb, sqs, s3 = (boto3.client("dynamodb"), boto3.client("sqs"), boto3.client("s3"))
        settings = Settings()
        create_table(dynamodb, settings.table)
        create_queues(sqs, settings)
        create_bucket(s3, "documents")
        clients = AwsClients(dynamodb, sqs, lambda: s3, lambda: boto3.client("events"))
        backend = build_backend(settings, clients, both=in_turn)
        first = backend.push(Job("demo.echo", [1])).record
        if first is None:  # pragma: no cover - nothing drops it
            raise RuntimeError
        fill(backend, settings.table, first, backlog)
        backend.queue_terms.of("default")
        reads = Reads(dynamodb)
        if len(backend.fetch(REQUEST)) != 1:
            raise RuntimeError
        return reads.calls, reads.units


def main() -> None:
    """Measure and print."""
    os.environ.setdefault("AWS_DEFAULT_REGION", REGION)
    os.environ.pop("AWS_ENDPOINT_URL", None)
    table = Table("jobs in line", "DynamoDB calls of a FETCH", "read units of its queries")
    for backlog in BACKLOGS:
        calls, units = measure(backlog)
        told = ", ".join(f"{name} {count}" for name, count in sorted(calls.items()))
        table.add_row(f"{backlog:,}", told, f"{units:g}")
    Console().print(table)


if __name__ == "__main__":
    main()
