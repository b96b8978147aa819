"""What grows when there is more: waiting timers, queues, jobs in line. Nothing should.

    python -m benchmarks.growth          # counts everything; QUICK=1: smaller numbers

Calls are counted at the client, read units computed by DynamoDB's rules from what the queries
read; nothing is timed. The table and the plot are kept in build/benchmarks.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rich.console import Console

from benchmarks.plots import logarithmic, look
from benchmarks.progress import progress_of
from benchmarks.results import draw, show_table
from benchmarks.sweep_costs import SweepLaboratory
from benchmarks.wide_table import WideTable
from ojs_aws.adapters.dynamodb.jobs.codec import to_item
from ojs_aws.domain.envelope import Job
from ojs_aws.services.jobs.fetch.request import FetchRequest

TIMERS: Final = (100, 1_000, 10_000, 100_000, 1_000_000)
QUEUES: Final = (1, 10, 100, 1_000)
BACKLOGS: Final = (100, 1_000, 10_000, 100_000)
ASKED: Final = (1, 10, 100)
QUICK: Final = (100, 1_000)
"""Sizes of each when it must be quick, and a million timers, which cost no time."""

TICKS: Final = 20
HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
STARTS_AT: Final = 1_900_000_000_000
"""Always the same instant: by it the sweep draws when it looks at an idle queue again."""


@dataclass(frozen=True, slots=True)
class Point:
    """What one operation costs at one size.

    :ivar curve: what grows, and what is done.
    :ivar calls: AWS calls of it.
    :ivar units: read units of its queries.
    """

    curve: str
    what: str
    size: int
    calls: int
    units: float


class Counter:
    """A backend on an AWS in memory, whose calls and reads are counted."""

    def __init__(self) -> None:
        """Set up."""
        self.sweep = SweepLaboratory()
        self.sweep.clock.at = STARTS_AT
        self.backend = self.sweep.backend
        self.lab = self.sweep.lab
        self.table = WideTable(self.lab.aws.table(self.lab.settings.table))
        self.reads = self.sweep.reads

    def __call__(self, call: Callable[[], object]) -> tuple[int, float]:
        """Calls and read units."""
        self.lab.take()
        self.reads.units = 0.0
        call()
        return self.lab.take().total(), self.reads.units

    def fetch(self, *queues: str) -> tuple[int, float]:
        """One FETCH of one job; the queues' settings are known already."""
        for queue in queues:
            self.backend.queues.push_settings.of(queue)
        return self(lambda: self.backend.jobs.fetch(FetchRequest(queues, worker_id="w")))

    def ticks(self, count: int) -> tuple[int, float]:
        """A tick a minute."""
        bill = self.sweep.ticks(count)
        return bill.calls.total(), bill.reads


def timers(size: int, seed: int = 1) -> Iterator[Point]:
    """Jobs that wait for some time within the next month, none of them within the hour."""
    chance = random.Random(seed)
    count = Counter()
    made = count.backend.jobs.push(Job("timer", [1], scheduled_at="+P7D")).record
    if made is None:  # pragma: no cover - nothing drops it
        raise RuntimeError
    now = count.sweep.clock.now()
    due = (now + HOUR_MS + chance.randrange(30 * DAY_MS) for _ in range(size))
    count.table.hold(made.id, [*due])
    curve = "timers that wait"
    yield Point(curve, f"{TICKS} ticks", size, *count.ticks(TICKS))
    yield Point(curve, "FETCH, nothing there", size, *count.fetch("default"))
    count.backend.jobs.push(Job("now", [1]))
    yield Point(curve, "FETCH of a job", size, *count.fetch("default"))


def queues(size: int) -> Iterator[Point]:
    """Queues that are idle, but for one."""
    curve = "queues"
    count = Counter()
    count.backend.jobs.push(Job("first", [1]))
    names = [f"queue-{number:04d}" for number in range(size)]
    for name in names:
        count.backend.stores.queues.ensure(name, count.sweep.clock.now())
    count.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    yield Point(curve, "the first tick of a process", size, *count.ticks(1))
    yield Point(curve, f"{TICKS} ticks after it", size, *count.ticks(TICKS))
    count.backend.jobs.push(Job("now", [1]))
    yield Point(curve, "FETCH of a job", size, *count.fetch("default"))


def asked(size: int) -> Iterator[Point]:
    """Queues that one FETCH names, all empty: the worst of it."""
    count = Counter()
    names = [f"queue-{number:04d}" for number in range(size)]
    for name in names:
        count.backend.stores.queues.ensure(name, count.sweep.clock.now())
    yield Point("queues in a FETCH", "FETCH, nothing there", size, *count.fetch(*names))


def backlogs(size: int) -> Iterator[Point]:
    """Jobs in line."""
    curve = "jobs in line"
    count = Counter()
    first = count.backend.jobs.push(Job("demo.echo", [1])).record
    if first is None:  # pragma: no cover - nothing drops it
        raise RuntimeError
    for _ in range(size):
        job_id, order = count.backend.ids.job_id(), count.sweep.clock.order()
        count.table.put(to_item(replace(first, id=job_id, order=order), lambda _, __: 0))
    yield Point(curve, "FETCH of a job", size, *count.fetch("default"))
    yield Point(curve, "one tick", size, *count.ticks(1))


CURVES: Final[Sequence[tuple[Callable[[int], Iterator[Point]], Sequence[int]]]] = (
    (timers, TIMERS),
    (queues, QUEUES),
    (asked, ASKED),
    (backlogs, BACKLOGS),
)


Wanted = Sequence[tuple[Callable[[int], Iterator[Point]], int]]
"""Curves, each at a size."""


def wanted_of(largest: int, *, is_quick: bool) -> Wanted:
    """Every curve at every size up to one."""
    if is_quick:
        quick = [(curve, size) for curve in (timers, backlogs) for size in QUICK]
        return [
            *quick,
            (timers, max(TIMERS)),
            *((queues, n) for n in (1, 30)),
            (asked, 1),
            (asked, 10),
        ]
    return [(curve, size) for curve, sizes in CURVES for size in sizes if size <= largest]


def measure(wanted: Wanted, progress: Callable[[int], None] = lambda _: None) -> list[Point]:
    """Every curve at every size that is wanted."""
    points: list[Point] = []
    for done, (curve, size) in enumerate(wanted):
        progress(done)
        points += curve(size)
    return points


def grown(points: Sequence[Point]) -> list[str]:
    """What costs more because there is more of something, although it must not."""
    wrong = []
    for curve, what in dict.fromkeys((point.curve, point.what) for point in points):
        mine = [point for point in points if (point.curve, point.what) == (curve, what)]
        if curve in {"timers that wait", "jobs in line"} or what == "FETCH of a job":
            first, last = mine[0], mine[-1]
            if last.calls > first.calls or last.units > first.units:
                wrong.append(f"{what}: {last.calls} calls with {last.size:,} {curve}")
    return wrong


def plot(points: Sequence[Point], console: Console) -> None:
    """A panel for each thing that grows."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - takes a second to import

    curves = list(dict.fromkeys(point.curve for point in points))
    figure = Figure(figsize=(4 * len(curves), 4), layout="constrained")
    panels = figure.subplots(1, len(curves), sharey=True)
    for axes, curve in zip(panels, curves, strict=True):
        here = [point for point in points if point.curve == curve]
        for index, what in enumerate(dict.fromkeys(point.what for point in here)):
            mine = sorted((p for p in here if p.what == what), key=lambda point: point.size)
            sizes = [point.size for point in mine]
            axes.plot(sizes, [point.calls for point in mine], label=what, **look(index))
        logarithmic(axes, [point.size for point in here])
        axes.set_xlabel(curve)
        axes.legend(fontsize="small", loc="upper left")
    panels[0].set_ylabel("AWS calls")
    panels[0].set_ylim(1, 10 * max(point.calls for point in points))
    draw("growth", figure, console)


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, print and draw; 1 when something grew that must not."""
    parser = argparse.ArgumentParser(description="Count what grows with timers, queues and jobs.")
    parser.add_argument("--largest", type=int, default=max(TIMERS), help="of each number")
    given = parser.parse_args(arguments)
    logging.disable(logging.INFO)
    console = Console()
    wanted = wanted_of(given.largest, is_quick=bool(os.environ.get("QUICK")))
    with progress_of("sizes counted", len(wanted), console) as progress:
        points = measure(wanted, progress)
    rows = [
        (point.curve, f"{point.size:,}", point.what, f"{point.calls:,}", f"{point.units:g}")
        for point in points
    ]
    columns = ("what there is", "how many", "what is done", "AWS calls", "read units of queries")
    show_table("growth", "What grows", columns, rows, console)
    plot(points, console)
    for problem in (wrong := grown(points)):
        console.print(f"It grew: {problem}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
