"""What the sweep costs: per tick, whatever waits; and per job, when it comes within reach.

    python -m benchmarks.sweep_costs [--waiting 10000]

The sweep runs for real on an AWS in memory, once with nothing waiting and once with so many jobs
scheduled for next week. Calls are counted at the client, read units by DynamoDB's own rules from
the rows that came back. What a million jobs cost follows from the counts.
"""

from __future__ import annotations

import argparse
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from rich.console import Console
from rich.table import Table

from benchmarks.laboratory import Laboratory
from benchmarks.reads import Reads
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.domain.timestamps import Instant
from ojs_aws.pricing import PRICED_ON, PRICES
from ojs_aws.services.backend import Backend
from ojs_aws.services.backend.foundation import Stores

WEEK_TICKS: Final = 7 * 24 * 60
TICKS: Final = 20
DUE: Final = 1000
BATCH: Final = 100
MILLION: Final = 1_000_000
SLACK: Final = 4
"""Queries that two runs may differ by: when an idle queue is looked at again is drawn by lot."""


class MovableClock:
    """The machine's order of jobs, at a time that the benchmark moves."""

    def __init__(self, at: int) -> None:
        """Stand at an instant (milliseconds)."""
        self.at, self._order = at, at * 1000

    def now(self) -> Instant:
        """Where it stands."""
        return Instant(self.at)

    def order(self) -> int:
        """Strictly increasing microseconds."""
        self._order = max(self._order + 1, self.at * 1000)
        return self._order


@dataclass(frozen=True, slots=True)
class Bill:
    """Calls and units of some ticks."""

    calls: Counter[str]
    reads: float
    armed: int

    def dollars(self) -> float:
        """Dollars of DynamoDB and SQS."""
        requests = sum(n for call, n in self.calls.items() if call.startswith(("Send", "GetQueue")))
        return (
            self.reads * PRICES["read unit"]
            + self.calls["UpdateItem"] * PRICES["write unit"]
            + requests * PRICES["SQS request"]
        )


class SweepLaboratory:
    """A backend whose clock can be moved, and whose reads are weighed."""

    def __init__(self) -> None:
        """Set up an AWS in memory."""
        self.lab = Laboratory()
        self.clock = MovableClock(self.lab.backend.clock.now())
        given: Stores = self.lab.backend.stores
        stores = {name: getattr(given, name) for name in Stores.__dataclass_fields__}
        stores |= {"clock": self.clock, "parallel": IN_ORDER}
        self.backend = Backend(self.lab.settings, Stores(**stores))
        # Nothing reads the stream here, so a recount of the totals would find a difference at each
        # tick; what one costs is counted in tests/functions/test_sweep_calls.py.
        self.sweep = replace(self.backend.upkeep.sweep, recount=lambda _names, _is_over: None)
        self.reads = Reads(self.lab.aws)

    def push(self, count: int, when: str) -> None:
        """Push jobs that are scheduled."""
        for _ in range(0, count, BATCH):
            self.backend.jobs.push.all([Job("timer", [1], scheduled_at=when) for _ in range(BATCH)])

    def ticks(self, count: int) -> Bill:
        """Tick once a minute."""
        self.lab.take()
        self.reads.units, armed = 0.0, 0
        for _ in range(count):
            armed += self.sweep.tick().armed
            self.clock.at += 60_000
        return Bill(self.lab.take(), self.reads.units, armed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when what waits made a tick dearer."""
    parser = argparse.ArgumentParser(description="Count what the sweep costs.")
    parser.add_argument("--waiting", type=int, default=10_000)
    waiting: int = parser.parse_args(arguments).waiting
    logging.disable(logging.INFO)
    lab = SweepLaboratory()
    nothing = lab.ticks(TICKS)
    lab.push(waiting, "+P7D")
    far = lab.ticks(TICKS)
    lab.push(DUE, "+PT20M")
    due = lab.ticks(TICKS)
    console = Console()
    table = Table(
        f"{TICKS} ticks of one queue", "AWS calls", "read units", title=f"us-east-1, {PRICED_ON}"
    )
    rows = {
        "nothing waits": nothing,
        f"{waiting} wait for next week": far,
        f"{DUE} of them come within reach": due,
    }
    for name, bill in rows.items():
        calls = ", ".join(f"{call} {count}" for call, count in sorted(bill.calls.items()))
        table.add_row(name, calls, f"{bill.reads:g}")
    console.print(table)
    week = far.dollars() / TICKS * WEEK_TICKS
    arming = (due.dollars() - far.dollars()) / DUE * MILLION
    console.print(f"A million jobs that wait for a week: the week's ticks cost ${week:.3f},")
    console.print(f"with or without them; to arm them costs ${arming:.2f}, once.")
    more = far.calls["Query"] - nothing.calls["Query"]
    return 0 if more <= SLACK and far.reads <= nothing.reads + SLACK / 2 else 1


if __name__ == "__main__":
    raise SystemExit(main())
