"""What sequences cost, by the length of one and by the number of keys. Neither must matter.

    python -m benchmarks.sequences            # QUICK=1: smaller numbers

Calls and units are counted on an AWS in memory, as in ``benchmarks.costs``. Each run works all jobs
off, and checks that they ran in their order, one at a time, and left nothing.
"""

from __future__ import annotations

import argparse
import logging
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console

from benchmarks.laboratory import Bench, Cost
from benchmarks.results import show_table
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.sequences import place_of

LENGTHS: Final = (10, 1_000, 10_000)
KEYS: Final = (10, 1_000, 100_000)
QUICK: Final = (10, 200)
AT_ONCE: Final = 100
"""Jobs of different keys that a FETCH asks for."""


@dataclass(frozen=True, slots=True)
class Point:
    """Says what one operation cost at one size."""

    what: str
    size: int
    operation: str
    cost: Cost

    @property
    def counted(self) -> tuple[int, float, float]:
        """Return calls, write units and read units."""
        return self.cost.calls.total(), self.cost.writes, self.cost.reads


class BrokenSequenceError(Exception):
    """Reports that jobs ran out of their order, or left something."""


def one_key(length: int) -> Iterator[Point]:
    """Count one sequence of so many jobs, and work it off."""
    bench, what = _bench(), "jobs of one key"
    ids = [bench.push("a.b", sequence="k").id for _ in range(length - 1)]
    cost = bench.cost(lambda: ids.append(bench.push("a.b", sequence="k").id))
    yield Point(what, length, "PUSH behind others", cost)
    order: list[str] = []
    for number in range(length):
        [job] = bench.fetch(AT_ONCE)
        order.append(job.id)
        bench.backend.jobs.ack(job.id, "worker-1", None)
        cost = bench.cost(lambda: bench.backend.sequence_advance.advance("", "k"))
        if number == 0:
            yield Point(what, length, "the turn goes to the next job", cost)
    yield Point(what, length, "the last job has ended", cost)
    if order != ids:
        raise BrokenSequenceError("The jobs of one key did not run in their order.")
    _check_forgotten(bench)


def many_keys(count: int) -> Iterator[Point]:
    """Count so many sequences that are in use at once, and work them off."""
    bench, what = _bench(), "keys"
    for number in range(count - 1):
        bench.push("a.b", sequence=f"k{number}")
    key = f"k{count - 1}"
    yield Point(
        what, count, "PUSH, the key is idle", bench.cost(lambda: bench.push("a.b", sequence=key))
    )
    yield Point(
        what, count, "PUSH behind others", bench.cost(lambda: bench.push("a.b", sequence="k0"))
    )
    jobs = bench.fetch(1)  # the settings of the queue are read once in some seconds
    yield Point(what, count, "FETCH of a job", bench.cost(lambda: bench.fetch(1)))
    jobs += [bench.backend.jobs.info(each) for each in bench.held]
    ended = 0
    while jobs:
        for job in jobs:
            _complete(bench, job)
        ended += len(jobs)
        jobs = bench.fetch(AT_ONCE)
    if ended != count + 1:
        raise BrokenSequenceError(f"{ended} of {count + 1} jobs ran.")
    _check_forgotten(bench)


def _bench() -> Bench:
    """Return a backend whose stream nobody reads, so that it need not be kept."""
    bench = Bench()
    bench.lab.aws.table(bench.lab.settings.table).stream.records = deque(maxlen=1)
    return bench


def _complete(bench: Bench, job: JobRecord) -> None:
    bench.backend.jobs.ack(job.id, "worker-1", None)
    bench.backend.sequence_advance.advance("", place_of(job).key)


def _check_forgotten(bench: Bench) -> None:
    """Check that no item of a sequence is left."""
    keys = bench.lab.aws.table(bench.lab.settings.table).items.rows
    if left := sum(partition.startswith("seq#") for partition, _ in keys):
        raise BrokenSequenceError(f"Sequences left {left} items.")


def grown(points: Sequence[Point]) -> list[str]:
    """Return what costs more because there is more of something."""
    wrong = []
    for what, operation in dict.fromkeys((each.what, each.operation) for each in points):
        mine = [each for each in points if (each.what, each.operation) == (what, operation)]
        if mine[0].counted != mine[-1].counted:
            wrong.append(f"{operation} costs {mine[-1].counted} with {mine[-1].size:,} {what}.")
    return wrong


def measure(lengths: Sequence[int], keys: Sequence[int]) -> list[Point]:
    """Count everything at every size."""
    wanted: list[tuple[Callable[[int], Iterator[Point]], int]] = [
        *((one_key, size) for size in lengths),
        *((many_keys, size) for size in keys),
    ]
    return [point for count, size in wanted for point in count(size)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Count and print; 1 when something grew."""
    parser = argparse.ArgumentParser(description="Count what sequences cost.")
    parser.add_argument("--largest", type=int, default=max(KEYS), help="of each number")
    given = parser.parse_args(arguments)
    logging.disable(logging.INFO)
    console = Console()
    is_quick = bool(os.environ.get("QUICK"))
    sizes = [QUICK if is_quick else each for each in (LENGTHS, KEYS)]
    lengths, keys = ([size for size in each if size <= given.largest] for each in sizes)
    points = measure(lengths, keys)
    rows = [
        (f"{each.size:,} {each.what}", each.operation, str(calls), f"{writes:g}", f"{reads:g}")
        for each in points
        for calls, writes, reads in [each.counted]
    ]
    columns = ("there are", "what is done", "AWS calls", "write units", "read units")
    show_table("sequences", "What sequences cost", columns, rows, console)
    for problem in (wrong := grown(points)):
        console.print(f"It grew: {problem}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
