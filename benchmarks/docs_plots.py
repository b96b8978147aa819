"""The plots of the docs: latency, backlog, throughput, and waiting times of a fair queue.

    python -m benchmarks.docs_plots [--largest 100000]

Latency and waiting times are simulated, the backlog is counted on an embedded AWS, throughput is
computed from the capacity model. ``benchmarks.compare --docs`` draws the plot of the costs.
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rich.console import Console

from benchmarks.capacity import JOBS, count
from benchmarks.capacity_model import API_S, queue_rate
from benchmarks.fairness import waits
from benchmarks.growth import BACKLOGS, Point, backlogs, measure
from benchmarks.latency import PATHS, SEED, Chance, push, start_by_lambda, start_by_poll
from benchmarks.pages import PLOTS
from benchmarks.plots import logarithmic, look, reproducible
from benchmarks.results import draw
from ojs_aws.local.aws import REGION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN: Final = (
    "Lambda worker",
    "the same, all functions cold",
    "HTTP worker, busy",
    "HTTP worker, idle",
    "ten idle HTTP workers",
)
"""The paths whose latency is drawn."""
SAMPLES: Final = 20_000
PERCENTILES: Final = (50, 75, 90, 95, 99, 99.9)
JOB_S: Final = 0.2
CONCURRENCY: Final = 10
"""What a worker process runs at once, by default."""
REPORTS: Final = 2
"""Requests that a slot waits for beside its job: FETCH and ACK."""
WORKERS: Final = range(1, 41)
QUEUES: Final = (1, 2, 3)


def panel() -> tuple[Figure, Axes]:
    """Return a figure of the docs' size, and its axes."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - takes a second

    reproducible()
    drawn = Figure(figsize=(8, 4.2), layout="constrained")
    return drawn, drawn.subplots()


def starts(name: str, samples: int = SAMPLES) -> list[float]:
    """Return the simulated milliseconds from push to start, for each percentile that is drawn."""
    path, chance = PATHS[name], Chance(SEED)
    begin = start_by_lambda if path.uses_lambda else start_by_poll
    times = [begin(path, chance, push(path, chance)) for _ in range(samples)]
    cuts = statistics.quantiles(times, n=1000)
    return [cuts[round(share * 10) - 1] for share in PERCENTILES]


def latency() -> Figure:
    """Plot milliseconds from push to start by percentile."""
    drawn, axes = panel()
    labels = [f"p{share:g}" for share in PERCENTILES]
    for name in SHOWN:
        label = "Lambda worker, all functions cold" if name.startswith("the same") else name
        axes.plot(labels, starts(name), label=label, marker="o", markersize=4)
    axes.set_yscale("log")
    axes.set_yticks([50, 100, 200, 500, 1000, 2000, 5000])
    axes.get_yaxis().set_major_formatter("{x:,.0f}")
    axes.minorticks_off()
    axes.grid(visible=True, alpha=0.3)
    axes.set_xlabel("percentile")
    axes.set_ylabel("milliseconds from push to start")
    drawn.legend(loc="outside lower center", ncols=3, fontsize="small")
    return drawn


def backlog(points: Sequence[Point]) -> Figure:
    """Plot what a FETCH and a tick cost by the number of jobs that wait."""
    drawn, axes = panel()
    for number, what in enumerate(dict.fromkeys(point.what for point in points)):
        mine = [point for point in points if point.what == what]
        sizes = [point.size for point in mine]
        axes.plot(sizes, [point.calls for point in mine], label=f"{what}: calls", **look(number))
        units = [point.units for point in mine]
        axes.plot(sizes, units, "--", label=f"{what}: read units of queries")
    logarithmic(axes, [point.size for point in points])
    axes.set_ylim(0.5, 50)
    axes.set_xlabel("jobs that wait in the queue")
    axes.set_ylabel("AWS calls, read units")
    drawn.legend(loc="outside lower center", ncols=3, fontsize="small")
    return drawn


def throughput(queue_jobs_s: float) -> Figure:
    """Plot jobs a second by worker processes, over one queue and over several.

    :param queue_jobs_s: jobs a second that one queue can pass.
    """
    drawn, axes = panel()
    each = CONCURRENCY / (JOB_S + REPORTS * API_S)
    for queues in reversed(QUEUES):
        rates = [min(workers * each, queues * queue_jobs_s) for workers in WORKERS]
        label = "one queue" if queues == 1 else f"{queues} queues"
        axes.plot(WORKERS, rates, label=label)
    axes.set_xlim(0, max(WORKERS))
    axes.set_ylim(0, None)
    axes.grid(visible=True, alpha=0.3)
    axes.set_xlabel(
        f"worker processes, each with {CONCURRENCY} jobs of {JOB_S * 1000:g} ms at once"
    )
    axes.set_ylabel("jobs a second")
    drawn.legend(loc="outside lower center", ncols=3, fontsize="small")
    return drawn


def fairness() -> Figure:
    """Plot how long each job of a tenant waits behind the flood of another."""
    drawn, axes = panel()
    for is_fair, label in ((False, "in order"), (True, "with fairness keys")):
        times = waits(is_fair=is_fair)
        axes.plot([at for at, _ in times], [wait for _, wait in times], label=label)
    axes.set_yscale("log")
    axes.get_yaxis().set_major_formatter("{x:,g}")
    axes.grid(visible=True, alpha=0.3)
    axes.set_xlabel("when the job was enqueued: seconds behind the flood")
    axes.set_ylabel("seconds until it started")
    drawn.legend(loc="outside lower center", ncols=2, fontsize="small")
    return drawn


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate, count, compute and draw."""
    parser = argparse.ArgumentParser(description="Draw the plots of the docs.")
    parser.add_argument("--largest", type=int, default=max(BACKLOGS), help="jobs that wait")
    given = parser.parse_args(arguments)
    os.environ.setdefault("AWS_DEFAULT_REGION", REGION)
    os.environ.setdefault("POWERTOOLS_LOG_LEVEL", "ERROR")
    os.environ.pop("AWS_ENDPOINT_URL", None)
    logging.disable(logging.INFO)
    console = Console()
    draw("latency", latency(), console, PLOTS)
    draw("throughput", throughput(queue_rate(count(JOBS).ordinary)), console, PLOTS)
    draw("fairness", fairness(), console, PLOTS)
    sizes = [size for size in BACKLOGS if size <= given.largest]
    points = measure([(backlogs, size) for size in sizes])
    draw("backlog", backlog(points), console, PLOTS)


if __name__ == "__main__":
    main()
