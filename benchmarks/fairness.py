"""The shares of fairness keys, counted: who starts when, with the places that PUSH gives.

    python -m benchmarks.fairness [--starts 10000]

The places are those of the service and of the store's updates, over an AWS in memory; the ready
list is a sorted list of their sort keys, and a start takes its first one.
"""

from __future__ import annotations

import argparse
import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from rich.console import Console
from rich.table import Table

from ojs_aws.adapters.dynamodb.fairness import FairKeys
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.job_policies import FairShare
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant
from ojs_aws.local.aws import create_table
from ojs_aws.memory_aws import MemoryAws
from ojs_aws.services.fairness import FairPlaces
from ojs_aws.testing.deployment import FakeClock

FLOOD: Final = 100_000
BATCH: Final = 5_000
STARTS: Final = 10_000
PER_S: Final = 100
"""Jobs that start in a second of the plot."""

WEIGHTS: Final = {"light": 1.0, "middle": 2.0, "heavy": 4.0}
TABLE: Final = "fairness"


@dataclass(frozen=True, slots=True)
class _Keys(FairKeys):
    """The items of keys in a table, beside a list whose head is always known."""

    line: list[tuple[str, str]]

    def first(self, _line: str, _priority: int) -> str:
        """Return the first sort key."""
        return self.line[0][0] if self.line else ""


@dataclass
class FairQueue:
    """A queue whose jobs have places, and a worker that starts the first one.

    :ivar is_fair: else its jobs start in the order in which they were enqueued.
    """

    is_fair: bool = True
    clock: FakeClock = field(default_factory=FakeClock)
    line: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the table."""
        aws = MemoryAws.at(lambda: self.clock.at)
        create_table(aws.dynamodb, TABLE)
        self.keys = _Keys(aws.dynamodb, TABLE, self.line)
        self.places = FairPlaces(lambda: self.keys, self.clock)

    def push(self, key: str, count: int = 1, weight: float = 1.0) -> None:
        """Enqueue jobs of a key by requests of a batch each."""
        share = FairShare(key=key, weight=weight)
        while count > 0:
            batch = [self._job(share) for _ in range(min(BATCH, count))]
            count -= len(batch)
            for job in self.places.place_all(batch) if self.is_fair else batch:
                heapq.heappush(self.line, (job.ready_key, key))

    def _job(self, share: FairShare) -> JobRecord:
        job = replace(_JOB, order=self.clock.order(), created_at=self.clock.now())
        return replace(job, fairness=share) if self.is_fair else job

    def start(self) -> str:
        """Start the first job; return its key."""
        self.clock.advance(ms=1000 // PER_S)
        return heapq.heappop(self.line)[1] if self.line else ""


_JOB: Final = JobRecord(
    id="j",
    type="t",
    queue="q",
    priority=0,
    state=JobState.AVAILABLE,
    attempt=0,
    version=1,
    order=0,
    document=RawJson("{}"),
    timeout_ms=1,
    created_at=Instant(0),
)


def shares(weights: Mapping[str, float], starts: int = STARTS) -> dict[str, float]:
    """Return each key's share of the starts while all have jobs waiting."""
    queue = FairQueue()
    for key, weight in weights.items():
        queue.push(key, starts, weight)
    counted = Counter(queue.start() for _ in range(starts))
    return {key: counted[key] / starts for key in weights}


def behind(flood: int = FLOOD, late: int = 50) -> list[str]:
    """Return who starts when one key has come behind a flood of another."""
    queue = FairQueue()
    queue.push("flood", flood)
    for _ in range(100):
        queue.start()
    queue.push("late", late)
    return [queue.start() for _ in range(2 * late)]


def waits(*, is_fair: bool, flood: int = FLOOD) -> list[tuple[float, float]]:
    """Return when each job of a light key was enqueued, and how long it waited (seconds).

    It enqueues one in a second; another key has enqueued a flood before.
    """
    queue = FairQueue(is_fair=is_fair)
    queue.push("flood", flood)
    begin, waiting, waited = queue.clock.now(), list[float](), list[tuple[float, float]]()
    while queue.line:
        at = (queue.clock.now() - begin) / 1000
        if at >= len(waiting) + len(waited) and at < flood / PER_S:
            queue.push("light")
            waiting.append(at)
        if queue.start() == "light":
            pushed = waiting.pop(0)
            waited.append((pushed, (queue.clock.now() - begin) / 1000 - pushed))
    return waited


def main(arguments: Sequence[str] | None = None) -> None:
    """Count, and print."""
    parser = argparse.ArgumentParser(description="Count the shares of fairness keys.")
    parser.add_argument("--starts", type=int, default=STARTS, help="starts that are counted")
    parser.add_argument("--flood", type=int, default=FLOOD, help="jobs of the flood")
    given = parser.parse_args(arguments)
    console, table = Console(), Table("what", "counted")
    alone = shares({"alone": 1.0}, given.starts)["alone"]
    for key, share in shares(WEIGHTS, given.starts).items():
        table.add_row(f"share of weight {WEIGHTS[key]:g} of 1:2:4", f"{share:.1%}")
    table.add_row("share of a key that is alone", f"{alone:.0%}")
    order = behind(given.flood)
    table.add_row(f"starts before a key behind {given.flood:,} jobs", str(order.index("late")))
    table.add_row("its share from then on", f"{order.count('late') / len(order):.0%}")
    console.print(table)


if __name__ == "__main__":
    main()
