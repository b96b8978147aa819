"""The shares of fairness keys, counted: who starts when, with the places that PUSH gives.

    python -m benchmarks.fairness [--starts 10000]

The places are those of the service and of the store's updates, over an AWS in memory; the ready
list is a sorted list of their sort keys, and a start takes its first one.
"""

from __future__ import annotations

import argparse
import heapq
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from rich.console import Console
from rich.table import Table

from ojs_aws.adapters.dynamodb.fairness import FairKeys
from ojs_aws.domain.fairness import NO_RUNS, Runs, added_runs, costs_of
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.job_policies import FairShare
from ojs_aws.domain.jobs.ready_keys import read_line, shard_of, virtual_start
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant
from ojs_aws.local.aws import create_table
from ojs_aws.memory_aws import MemoryAws
from ojs_aws.services.fairness import FairPlaces
from ojs_aws.services.jobs.fetch.wide_queue import FIRST_EVERY, fair_turn
from ojs_aws.testing.deployment import FakeClock

FLOOD: Final = 100_000
BATCH: Final = 5_000
STARTS: Final = 10_000
PER_S: Final = 100
"""Jobs that start in a second of the plot."""

WEIGHTS: Final = {"light": 1.0, "middle": 2.0, "heavy": 4.0}
TABLE: Final = "fairness"

RUN_MS: Final = {"short": 1_000, "long": 4_000}
WAITING: Final = 20
LEARNT_EVERY: Final = 100
FIRST_LESSONS: Final = 500
"""Two keys with jobs of one type each, so many of them waiting, starts between two lessons, and
starts before the shares are counted."""

LINES: Final = 16
PROCESSES: Final = 32
ARRIVALS: Final = 500


@dataclass(frozen=True, slots=True)
class _Keys(FairKeys):
    """The items of keys in a table, beside lists whose heads are always known."""

    lists: list[list[tuple[str, str]]]

    def first(self, line: str, _priority: int) -> str:
        """Return the first sort key of a line."""
        rows = self.lists[read_line(line)[1]]
        return rows[0][0] if rows else ""


@dataclass
class FairQueue:
    """A queue whose jobs have places, and a worker that starts the first one.

    :ivar is_fair: else its jobs start in the order in which they were enqueued.
    """

    is_fair: bool = True
    clock: FakeClock = field(default_factory=FakeClock)
    lines: int = 1

    def __post_init__(self) -> None:
        """Make the table."""
        aws = MemoryAws.at(lambda: self.clock.at)
        create_table(aws.dynamodb, TABLE)
        self.lists: list[list[tuple[str, str]]] = [[] for _ in range(self.lines)]
        self.keys = _Keys(aws.dynamodb, TABLE, self.lists)
        self.places = FairPlaces(lambda: self.keys, self.clock)

    def push(
        self, key: str, count: int = 1, weight: float = 1.0, cost: float | None = None
    ) -> None:
        """Enqueue jobs of a key by requests of a batch each."""
        share = FairShare(key=key, weight=weight, cost=cost)
        while count > 0:
            batch = [self._job(share) for _ in range(min(BATCH, count))]
            count -= len(batch)
            for job in self.places.place_all(batch) if self.is_fair else batch:
                self.enter(job, key)

    def enter(self, job: JobRecord, key: str) -> None:
        """Put a job into its list."""
        heapq.heappush(self.lists[job.shard], (job.ready_key, key))

    def __len__(self) -> int:
        """Return how many jobs wait."""
        return sum(map(len, self.lists))

    def _job(self, share: FairShare) -> JobRecord:
        order = self.clock.order()
        shard = shard_of(f"job-{order}", self.lines)
        job = replace(_JOB, order=order, created_at=self.clock.now(), shard=shard)
        return replace(job, fairness=share) if self.is_fair else job

    def start(self) -> str:
        """Start the first job; return its key."""
        self.clock.advance(ms=1000 // PER_S)
        [line] = self.lists
        return heapq.heappop(line)[1] if line else ""


@dataclass
class WideFairQueue(FairQueue):
    """A wide queue: some processes take messages in any order, and look at the lines in rotation.

    :ivar processes: each has a rotation of its own.
    """

    processes: int = 1

    def __post_init__(self) -> None:
        """Let each process begin at a line of its own."""
        FairQueue.__post_init__(self)
        self.chance = random.Random(7)
        self.messages: list[int] = []
        self.next = [self.chance.randrange(self.lines) for _ in range(self.processes)]

    def enter(self, job: JobRecord, key: str) -> None:
        """Put a job into its line, and send its message."""
        FairQueue.enter(self, job, key)
        self.messages.append(job.shard)

    def start(self) -> str:
        """Start the job that a FETCH of one process takes; return its key."""
        self.clock.advance(ms=1)
        while self.messages:
            at = self.chance.randrange(len(self.messages))
            self.messages[at], self.messages[-1] = self.messages[-1], self.messages[at]
            named = self.messages[-1]
            further = self._further(named)
            found = [shard for shard in (named, further) if self.lists[shard]]
            if not found:
                self.messages.pop()  # its job was started without it
                continue
            preferred = further if self.chance.randrange(FIRST_EVERY) == 0 else named
            best = min(found, key=partial(self._turn, preferred))
            if best == named:
                self.messages.pop()
            return heapq.heappop(self.lists[best])[1]
        return ""

    def _turn(self, preferred: int, shard: int) -> str:
        first = self.lists[shard][0][0]
        return fair_turn(first, virtual_start(first), is_preferred=shard == preferred)

    def _further(self, named: int) -> int:
        """Return the line that a process looks at beside that of its message."""
        process = self.chance.randrange(self.processes)
        shard = self.next[process]
        if shard == named:
            shard = (shard + 1) % self.lines
        self.next[process] = (shard + 1) % self.lines
        return shard


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


def shares(
    weights: Mapping[str, float], starts: int = STARTS, queue: FairQueue | None = None
) -> dict[str, float]:
    """Return each key's share of the starts while all have jobs waiting."""
    queue = queue or FairQueue()
    for key, weight in weights.items():
        queue.push(key, starts, weight)
    counted = Counter(queue.start() for _ in range(starts))
    return {key: counted[key] / starts for key in weights}


def time_shares(starts: int = STARTS, *, learns: bool) -> dict[str, float]:
    """Return each key's share of the run time, where jobs of one run four times as long.

    :param learns: whether a start costs its key what jobs of its type have run lately.
    """
    queue, known = FairQueue(), dict[str, Runs]()
    waiting, spent, fresh = Counter[str](), Counter[str](), dict[str, Runs]()
    for number in range(FIRST_LESSONS + starts):
        for key in RUN_MS:
            if waiting[key] < WAITING:
                costs = costs_of(known)
                queue.push(key, WAITING, cost=costs.get(key, 1.0) if learns else None)
                waiting[key] += WAITING
        key = queue.start()
        waiting[key] -= 1
        spent[key] += RUN_MS[key] * (number >= FIRST_LESSONS)
        fresh[key] = fresh.get(key, NO_RUNS).plus(Runs(1, RUN_MS[key]))
        if number % LEARNT_EVERY == 0:
            known, fresh = added_runs(known, fresh), {}
    return {key: spent[key] / spent.total() for key in RUN_MS}


def behind(flood: int = FLOOD, late: int = 50) -> list[str]:
    """Return who starts when one key has come behind a flood of another."""
    queue = FairQueue()
    queue.push("flood", flood)
    for _ in range(100):
        queue.start()
    queue.push("late", late)
    return [queue.start() for _ in range(2 * late)]


def starts_before(queue: FairQueue, flood: int, arrivals: int = ARRIVALS) -> list[int]:
    """Return how many starts come before the job of a key that has none waiting, for each of many.

    Each comes behind a flood of another key.
    """
    queue.push("flood", flood)
    found = []
    for number in range(arrivals):
        for _ in range(queue.lines):
            queue.start()
        queue.clock.advance(ms=200)
        queue.push(f"late-{number}")
        before = 0
        while queue.start() != f"late-{number}":
            before += 1
        found.append(before)
    return sorted(found)


def waits(*, is_fair: bool, flood: int = FLOOD) -> list[tuple[float, float]]:
    """Return when each job of a light key was enqueued, and how long it waited (seconds).

    It enqueues one in a second; another key has enqueued a flood before.
    """
    queue = FairQueue(is_fair=is_fair)
    queue.push("flood", flood)
    begin, waiting, waited = queue.clock.now(), list[float](), list[tuple[float, float]]()
    while len(queue):
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
    for learns in (False, True):
        share = time_shares(given.starts, learns=learns)["long"]
        label = "time" if learns else "starts"
        table.add_row(f"share of time of jobs four times as long, by {label}", f"{share:.1%}")
    table.add_row("share of a key that is alone", f"{alone:.0%}")
    order = behind(given.flood)
    table.add_row(f"starts before a key behind {given.flood:,} jobs", str(order.index("late")))
    table.add_row("its share from then on", f"{order.count('late') / len(order):.0%}")
    wide = shares(WEIGHTS, given.starts, WideFairQueue(lines=LINES))
    for key, share in wide.items():
        table.add_row(f"the same, in a queue with {LINES} lines: {WEIGHTS[key]:g}", f"{share:.1%}")
    for processes in (1, PROCESSES):
        queue = WideFairQueue(lines=LINES, processes=processes)
        before = starts_before(queue, given.flood)
        whose = f"{processes} processes" if processes > 1 else "one process"
        label = f"starts before a new key, {LINES} lines, {whose}"
        mean, high = sum(before) / len(before), before[len(before) * 99 // 100]
        table.add_row(label, f"mean {mean:.1f}, p99 {high}, most {before[-1]}")
    console.print(table)


if __name__ == "__main__":
    main()
