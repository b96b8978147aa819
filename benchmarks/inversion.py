"""How long less urgent jobs start before an urgent one in a wide queue, simulated.

    python -m benchmarks.inversion [--rate 10000] [--arrivals 2000]

FETCH looks at the lines of its messages, which come in any order, and at one line in rotation. So
an urgent job waits until somebody looks at its line; then it is the first. The queue has a backlog
of less urgent jobs in all lines, and many workers. Lambda workers have no line in rotation.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from rich.console import Console

from benchmarks.results import show_table
from ojs_aws.domain.jobs.ready_keys import shard_of

RATE: Final = 10_000
ARRIVALS: Final = 2_000
PROCESSES: Final = 64
LINES: Final = (4, 16, 64)
COUNTS: Final = (1, 10)
"""Jobs of a FETCH, or messages of an invocation."""


@dataclass(slots=True)
class Workers:
    """Fetch from a queue with lines, whose messages are of any of them.

    :ivar rotates: whether they look at a line in rotation, too.
    """

    lines: int
    count: int
    rotates: bool = True
    chance: random.Random = field(default_factory=lambda: random.Random(7))
    _next: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Let each process begin its rotation at a line of its own."""
        self._next = [self.chance.randrange(self.lines) for _ in range(PROCESSES)]

    def fetch(self) -> set[int]:
        """Return the lines that one FETCH looks at."""
        looked = {self.chance.randrange(self.lines) for _ in range(self.count)}
        if self.rotates and len(looked) < self.lines:
            process = self.chance.randrange(PROCESSES)
            shard = self._next[process]
            while shard in looked:
                shard = (shard + 1) % self.lines
            self._next[process] = (shard + 1) % self.lines
            looked.add(shard)
        return looked


def starts_before(workers: Workers, arrivals: int) -> list[int]:
    """Return how many less urgent jobs start before each of some urgent ones, in order."""
    found = []
    for number in range(arrivals):
        shard, fetches = shard_of(f"job-{number}", workers.lines), 0
        while shard not in workers.fetch():
            fetches += 1
        found.append(fetches * workers.count)
    return sorted(found)


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate, and print."""
    parser = argparse.ArgumentParser(description="Simulate urgent jobs in a wide queue.")
    parser.add_argument("--rate", type=int, default=RATE, help="jobs that start in a second")
    parser.add_argument("--arrivals", type=int, default=ARRIVALS, help="urgent jobs")
    given = parser.parse_args(arguments)
    rows = []
    for lines in LINES:
        for count in COUNTS:
            for rotates in (True, False):
                before = starts_before(Workers(lines, count, rotates), given.arrivals)
                high = before[len(before) * 99 // 100]
                kind = "FETCH" if rotates else "Lambda"
                mean = sum(before) / len(before)
                row = (lines, f"{kind} of {count}", f"{mean:.1f}", high)
                rows.append([*map(str, row), f"{1000 * high / given.rate:.1f} ms"])
    head = ["lines", "workers", "less urgent starts before, mean", "p99", f"at {given.rate:,}/s"]
    show_table("inversion", "Priority inversion in a wide queue", head, rows, Console())


if __name__ == "__main__":
    main()
