"""Says what a start of each job type costs in a fair queue, by how long its jobs ran.

The cost is the mean run time of the type, divided by that of all jobs of the queue. So it has no
unit: what matters is how types compare. The mean cost of the jobs that start is 1, as it is where
every start costs the same; so virtual time is as fast as there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

BY_RUN_TIME: Final = "run_time"
"""The ``cost`` of a queue whose keys share time instead of starts."""

LEAST_COST: Final = 1 / 8
MOST_COST: Final = 8.0
"""No type costs less or more.

What was learnt may be wrong: a type behaves otherwise today, or one job took a day. A key then gets
eight times as many starts as it should, or an eighth, and no more.
"""

UNKNOWN_COST: Final = 1.0

DOUBTS: Final = 5
"""As many runs of the mean length are counted with those that a type had.

So the first run of a type moves its cost by a sixth of what it says.
"""

MOST_RUNS: Final = 5_000
"""Runs of a queue that are remembered, of all types together; older ones fade."""

MOST_TYPES: Final = 50
"""Types of a queue whose run times are remembered: those that ran most."""

LEAST_RUNS: Final = 0.05
"""A type that has faded to fewer runs is forgotten."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Holds how long jobs of a type ran.

    :ivar count: how many; older ones count in part.
    :ivar total_ms: the sum of their run times.
    """

    count: float
    total_ms: float

    def plus(self, other: Runs) -> Runs:
        """Return the runs of both."""
        return Runs(self.count + other.count, self.total_ms + other.total_ms)

    def faded(self, share: float) -> Runs:
        """Return a share of the runs, of the same mean length."""
        return Runs(self.count * share, self.total_ms * share)


NO_RUNS: Final = Runs(0, 0)

RunTimes = Mapping[str, Runs]
"""The runs of a queue's jobs, by their type."""


def added(known: RunTimes, more: RunTimes) -> dict[str, Runs]:
    """Return run times with new ones, at most :data:`MOST_RUNS` of :data:`MOST_TYPES` types.

    What is too much fades in all types alike, so that they keep their shares of the queue.
    """
    found = {**known}
    for name, each in more.items():
        found[name] = found.get(name, NO_RUNS).plus(each)
    runs = sum(each.count for each in found.values())
    share = min(1.0, MOST_RUNS / runs) if runs else 1.0
    order = sorted(found, key=lambda name: (-found[name].count, name))[:MOST_TYPES]
    faded = {name: found[name].faded(share) for name in order}
    return {name: each for name, each in faded.items() if each.count >= LEAST_RUNS}


def costs_of(known: RunTimes) -> dict[str, float]:
    """Return what a start of each type costs; no type that is not here has another cost than 1."""
    runs = sum(each.count for each in known.values())
    total_ms = sum(each.total_ms for each in known.values())
    if runs <= 0 or total_ms < 1:
        return {}
    mean_ms = total_ms / runs
    return {name: _cost(each, mean_ms) for name, each in known.items()}


def _cost(of: Runs, mean_ms: float) -> float:
    cost = (of.total_ms / mean_ms + DOUBTS) / (of.count + DOUBTS)
    return round(min(MOST_COST, max(LEAST_COST, cost)), 3)


def read_run_times(text: str) -> dict[str, Runs]:
    """Read stored run times."""
    return {name: Runs(*row) for name, row in json.loads(text or "{}").items()}


def run_times_text(known: RunTimes) -> str:
    """Write run times as JSON: they are part of an item that is read by the kilobyte."""
    rows = {name: [round(each.count, 2), round(each.total_ms)] for name, each in known.items()}
    return json.dumps(rows, separators=(",", ":"), ensure_ascii=False)
