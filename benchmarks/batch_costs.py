"""What enqueueing a thousand jobs costs, one by one, in small batches and in one.

    python -m benchmarks.batch_costs                # QUICK=1: two hundred jobs

Counted on an embedded AWS, as in ``benchmarks.costs``.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from ojs_aws.adapters.dynamodb.columns import item_bytes, write_units
from ojs_aws.domain.envelope import Job
from ojs_aws.local.aws import REGION, embedded_aws
from ojs_aws.pricing import PRICED_ON, PRICES
from ojs_aws.services.backend import Backend

MANY: Final = 200 if os.environ.get("QUICK") else 1000
ARGS: Final[list[Any]] = [
    {"user": 12_345, "email": "someone@example.com", "template": "welcome", "locale": "en-US"}
]
_READS: Final = {"BatchGetItem": 100, "GetItem": 1, "Query": 1}
"""Read units that a call of each kind may cost at most, for items of up to 4 KB."""


@dataclass
class Units:
    """Calls, and the write units of puts by DynamoDB's rules."""

    table: float = 0
    index: int = 0
    calls: Counter[str] = field(default_factory=Counter)

    def watch(self, *clients: Any) -> None:
        """Weigh each call of some clients from now on."""
        for client in clients:
            events = client.meta.events
            events.register("before-call", self._call)
            events.register("provide-client-params.dynamodb.PutItem", self._put)
            events.register("provide-client-params.dynamodb.TransactWriteItems", self._transaction)

    def _call(self, model: Any, **_: Any) -> None:
        self.calls[model.name] += 1

    def _put(self, params: Any, **_: Any) -> None:
        self._add(params["Item"], 1)

    def _transaction(self, params: Any, **_: Any) -> None:
        for action in params["TransactItems"]:
            if "Put" in action:
                self._add(action["Put"]["Item"], 2)

    def _add(self, item: dict[str, Any], factor: int) -> None:
        self.table += factor * write_units(item_bytes(item))
        self.index += "gpk" in item

    def per_job(self, jobs: int) -> float:
        """Write units of each of so many jobs."""
        return (self.table + self.index) / jobs

    def dollars(self) -> float:
        """All together."""
        reads = sum(_READS.get(name, 0) * count for name, count in self.calls.items())
        messages = sum(count for name, count in self.calls.items() if "Message" in name)
        return (
            (self.table + self.index) * PRICES["write unit"]
            + reads * PRICES["read unit"]
            + messages * PRICES["SQS request"]
        )


def jobs(count: int = MANY, **more: Any) -> list[Job]:
    """Jobs of a few hundred bytes."""
    return [Job("email.send", [*ARGS, at], **more) for at in range(count)]


def one_by_one(backend: Backend) -> None:
    """A push each."""
    for job in jobs():
        backend.jobs.push(job)


def in_hundreds(backend: Backend) -> None:
    """Batches that fit a transaction."""
    wanted = jobs()
    for at in range(0, MANY, 100):
        backend.jobs.push.all(wanted[at : at + 100])


def at_once(backend: Backend) -> None:
    """One batch."""
    backend.jobs.push.all(jobs())


def unique_at_once(backend: Backend) -> None:
    """One batch of unique jobs."""
    backend.jobs.push.all(jobs(unique={"keys": ["type", "args"]}))


WAYS: Final[dict[str, Callable[[Backend], None]]] = {
    "one by one": one_by_one,
    "batches of 100": in_hundreds,
    "one batch": at_once,
    "one batch, unique": unique_at_once,
}


def main() -> None:
    """Measure and print."""
    from benchmarks.laboratory import Laboratory  # noqa: PLC0415 - sets up an embedded AWS
    from ojs_aws.local.patches import fast_queues  # noqa: PLC0415

    os.environ.setdefault("AWS_DEFAULT_REGION", REGION)
    os.environ.pop("AWS_ENDPOINT_URL", None)
    title = f"{MANY:,} jobs (us-east-1, {PRICED_ON})"
    table = Table("", "AWS calls", "Write units per job", "$ per million", title=title)
    for name, way in WAYS.items():
        with embedded_aws(), fast_queues():
            lab, units = Laboratory(), Units()
            lab.backend.jobs.push(Job("warm.up", []))
            units.watch(*lab.clients)
            way(lab.backend)
        calls = ", ".join(f"{call} {count}" for call, count in sorted(units.calls.items()))
        dollars = units.dollars() / MANY * 1e6
        table.add_row(name, calls, f"{units.per_job(MANY):.2f}", f"{dollars:.2f}")
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
