"""What a typed job adds to ``client.enqueue``, in microseconds.

    python -m benchmarks.typed_jobs [--quick]

Both send the same arguments through the same client, whose transport does nothing. The rounds take
turns, and the median of their differences counts: what else the machine does meets both.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, cast

from pydantic import BaseModel
from rich.console import Console
from rich.table import Table

from ojs_aws import Client, Jobs
from ojs_aws.client.results import Stored
from ojs_aws.client.transports.requests import Transport
from ojs_aws.domain.envelope import Job

PLAIN_BUDGET_US: Final = 2.0
MODEL_BUDGET_US: Final = 5.0
PER_ROUND: Final = 500
ATTEMPTS: Final = 5
"""A measurement that is too slow is repeated: other programs can only add time."""

jobs = Jobs()


class Order(BaseModel):
    """A small model."""

    number: int
    name: str
    price: float


@jobs.job("email.send", queue="email")
async def send(to: str, template: str, count: int = 1) -> None:
    """Take plain arguments."""


@jobs.job("order.take", queue="email")
async def take(to: str, order: Order) -> None:
    """Take a model."""


class Nowhere:
    """Stores nothing."""

    async def push(self, job: Job) -> Stored:
        """Say that it is stored."""
        return Stored(job)

    async def close(self) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was measured of one kind of arguments, in microseconds."""

    arguments: str
    untyped_us: float
    added_us: float
    budget_us: float


Send = Callable[[], Awaitable[object]]


async def _round(send_one: Send) -> float:
    """Return the microseconds of one call."""
    began = time.perf_counter()
    for _ in range(PER_ROUND):
        await send_one()
    return (time.perf_counter() - began) / PER_ROUND * 1e6


async def _compare(name: str, untyped: Send, typed: Send, budget_us: float, rounds: int) -> Found:
    best: Found | None = None
    for _ in range(ATTEMPTS):
        pairs = [(await _round(untyped), await _round(typed)) for _ in range(rounds)]
        added = statistics.median(after - before for before, after in pairs)
        if best is None or added < best.added_us:
            base = statistics.median(before for before, _ in pairs)
            best = Found(name, base, added, budget_us)
        if best.added_us <= budget_us:
            break
    assert best is not None  # noqa: S101 - for the type checker
    return best


async def measure(rounds: int) -> list[Found]:
    """Measure plain arguments and a model, by the client in use."""
    client = Client(transport=cast("Transport", Nowhere()), middleware=[])
    jobs.configure(lambda: client)
    order = Order(number=1, name="pen", price=1.5)
    as_json: Any = order.model_dump(mode="json")

    async def untyped() -> object:
        return await client.enqueue("email.send", ["a@b.c", "welcome", 2], queue="email")

    async def untyped_model() -> object:
        return await client.enqueue("order.take", ["a@b.c", as_json], queue="email")

    gc.disable()
    try:
        return [
            await _compare(
                "plain",
                untyped,
                lambda: send.enqueue("a@b.c", "welcome", 2),
                PLAIN_BUDGET_US,
                rounds,
            ),
            await _compare(
                "a small model",
                untyped_model,
                lambda: take.enqueue("a@b.c", order),
                MODEL_BUDGET_US,
                rounds,
            ),
        ]
    finally:
        gc.enable()


def main() -> int:
    """Print the table; return 1 if a budget is exceeded."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    found = asyncio.run(measure(5 if parser.parse_args().quick else 40))
    table = Table("arguments", "client.enqueue, µs", "typed adds, µs", "budget, µs")
    for each in found:
        table.add_row(
            each.arguments,
            f"{each.untyped_us:.1f}",
            f"{each.added_us:+.2f}",
            f"{each.budget_us:.0f}",
        )
    Console(width=int(os.environ.get("COLUMNS", "100"))).print(table)
    return int(any(each.added_us > each.budget_us for each in found))


if __name__ == "__main__":
    sys.exit(main())
