"""What enqueueing a thousand jobs costs, one by one, in small batches and in one.

    python -m benchmarks.batch_costs                # QUICK=1: two hundred jobs

Counted on an AWS in memory, as in ``benchmarks.costs``.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks.laboratory import Laboratory
from ojs_aws.adapters.dynamodb.columns import item_bytes, write_units
from ojs_aws.domain.envelope import Job
from ojs_aws.memory_aws import Call, MemoryAws
from ojs_aws.memory_aws.calls import Answer, Effect
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

    def watch(self, aws: MemoryAws) -> None:
        """Weigh each call of an AWS from now on."""
        inject = aws.calls.inject

        def weigh(call: Call, effect: Effect) -> Answer:
            self._note(call)
            return inject(call, effect)

        aws.calls.inject = weigh

    def _note(self, call: Call) -> None:
        self.calls[call.operation] += 1
        if call.operation == "PutItem":
            self._add(call.request["Item"], 1)
        for action in call.request.get("TransactItems", ()):
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
    title = f"{MANY:,} jobs (us-east-1, {PRICED_ON})"
    table = Table("", "AWS calls", "Write units per job", "$ per million", title=title)
    for name, way in WAYS.items():
        lab, units = Laboratory(), Units()
        lab.backend.jobs.push(Job("warm.up", []))
        units.watch(lab.aws)
        way(lab.backend)
        calls = ", ".join(f"{call} {count}" for call, count in sorted(units.calls.items()))
        dollars = units.dollars() / MANY * 1e6
        table.add_row(name, calls, f"{units.per_job(MANY):.2f}", f"{dollars:.2f}")
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
