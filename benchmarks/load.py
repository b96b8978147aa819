"""Throughput and latency of the API, with 1 to 64 clients at once.

    python -m benchmarks.load [--on local|emulator|URL] [--jobs 400] [--clients 1,4,16,64]
                              [--quick]

The table and the plot are kept in build/benchmarks. The local server and the emulator run in Python
on this machine and share its processors with the clients: their figures compare operations, numbers
of clients and versions with each other, and say nothing about AWS. For that, give the URL of a
deployment. Lambda workers are those of the queue ``demo``, which both of them have.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx
from rich.console import Console
from rich.progress import Progress

from benchmarks.deployed import deployed
from benchmarks.load_operations import (
    BATCH,
    Load,
    Timing,
    end_to_end,
    end_to_end_lambda,
    timed,
)
from benchmarks.local_server import end_by_sigterm, local_server
from benchmarks.plots import logarithmic
from benchmarks.results import draw, show_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLIENTS: Final = (1, 4, 16, 64)
QUICK_CLIENTS: Final = (1, 4)
QUICK_JOBS: Final = 20
OPERATIONS: Final = ("push", "fetch", "ack", "push x 10", "fetch x 10", "ack again")
WHOLE: Final = "end to end"
"""What the names of those begin with that time a job from push to start."""

END_TO_END: Final = 4
"""Ways from push to start: HTTP and Lambda workers, jobs one by one and together."""
SHARES: Final[Mapping[str, float]] = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
COLUMNS: Final = ("operation", "at once", "jobs", "jobs/s", *SHARES, "failed")


async def measure(url: str, clients: Sequence[int], jobs: int, progress: Progress) -> list[Timing]:
    """Time every operation with each number of clients.

    :param url: of the API, up to ``/ojs/v1/``.
    """
    found: list[Timing] = []
    task = progress.add_task("Loading", total=len(clients) * (len(OPERATIONS) + END_TO_END))
    limits = httpx.Limits(max_connections=128, max_keepalive_connections=128)
    async with httpx.AsyncClient(
        base_url=url,
        headers={"Content-Type": "application/openjobspec+json", **_credentials()},
        timeout=60,
        trust_env=False,
        limits=limits,
    ) as http:
        for number in clients:
            load = Load(http, f"load-{secrets.token_hex(4)}")
            steps = (load.push, load.fetch, load.ack, load.push_batch, load.fetch_batch, load.ack)
            for name, step in zip(OPERATIONS, steps, strict=False):
                progress.update(task, description=f"{name}, {number} at once")
                found.append(await timed(name, number, jobs, step))
                progress.advance(task)
            for together in (1, BATCH):
                progress.update(task, description=f"end to end, {number} at once")
                queue = f"{load.queue}-e{together}"
                many = max(jobs, number * together) if together > 1 else jobs
                found.append(await end_to_end(http, queue, number, many, together))
                progress.advance(task)
                found.append(await end_to_end_lambda(http, number, many, together))
                progress.advance(task)
    return [timing for timing in found if timing.operation != "ack again"]


def _credentials() -> dict[str, str]:
    key = os.environ.get("OJS_API_KEY", "")
    return {"Authorization": f"Bearer {key}"} if key else {}


def show(found: Sequence[Timing], where: str, console: Console) -> None:
    """Print the table and keep it."""
    order = list(dict.fromkeys(timing.operation for timing in found))
    rows = []
    for timing in sorted(found, key=lambda each: order.index(each.operation)):
        waits = [f"{timing.percentile(share):.0f}" for share in SHARES.values()]
        count = (str(timing.jobs), f"{timing.per_second:.0f}")
        rows.append((timing.operation, str(timing.clients), *count, *waits, str(timing.failed)))
    title = f"Jobs a second, and milliseconds, on {where}"
    show_table(f"load-{where}", title, COLUMNS, rows, console)


def plot(found: Sequence[Timing]) -> Figure:
    """Throughput and median latency by the number of clients."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - takes a second to import

    figure = Figure(figsize=(12, 8), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey="row")
    clients = [timing.clients for timing in found]
    for column, is_whole in enumerate((False, True)):
        rates, waits = panels[0][column], panels[1][column]
        shown = [each for each in found if each.operation.startswith(WHOLE) is is_whole]
        for name in dict.fromkeys(timing.operation for timing in shown):
            mine = [timing for timing in shown if timing.operation == name]
            at, label = [timing.clients for timing in mine], name.removeprefix(f"{WHOLE}, ")
            rates.plot(at, [timing.per_second for timing in mine], marker="o", label=label)
            waits.plot(at, [timing.percentile(0.5) for timing in mine], marker="o", label=label)
        for axes in (rates, waits):
            logarithmic(axes, clients)
        rates.set_title("from push to start" if is_whole else "one operation")
        waits.set_xlabel("clients at once")
        rates.legend(fontsize="small")
    panels[0][0].set_ylabel("jobs per second")
    panels[1][0].set_ylabel("median, milliseconds")
    return figure


@contextmanager
def target(name: str) -> Iterator[str]:
    """The URL of the API: of a server of its own, of the stack on the emulator, or the given."""
    if name == "local":
        with local_server() as url:
            yield url
    elif name == "emulator":
        with deployed(os.environ, print) as found:
            yield found.url
    else:
        yield f"{name.rstrip('/').removesuffix('/ojs/v1')}/ojs/v1/"


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(","))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and draw."""
    end_by_sigterm()
    parser = argparse.ArgumentParser(description="Measure throughput and latency of the API.")
    parser.add_argument("--on", default="local", help="local, emulator, or the URL of a deployment")
    parser.add_argument("--jobs", type=int, default=400, help="per operation")
    parser.add_argument("--plot", type=Path, help="another file to draw to (.svg or .png)")
    parser.add_argument("--clients", type=_numbers, help="at once, as 1,4,16,64")
    parser.add_argument("--quick", action="store_true", help="few jobs, two numbers of clients")
    given: Any = parser.parse_args(arguments)
    clients = given.clients or (QUICK_CLIENTS if given.quick else CLIENTS)
    jobs = min(given.jobs, QUICK_JOBS) if given.quick else given.jobs
    console = Console()
    with target(given.on) as url, Progress(console=console) as progress:
        found = asyncio.run(measure(url, clients, jobs, progress))
    where = given.on if given.on in {"local", "emulator"} else "deployment"
    show(found, where, console)
    figure = plot(found)
    draw(f"load-{where}", figure, console)
    if given.plot:
        figure.savefig(given.plot)
        console.print(f"drawn to {given.plot}")
    failed = sum(timing.failed for timing in found)
    if failed:
        console.print(f"{failed} requests got no good answer in time")
    wanted = jobs if not failed else 1
    return 0 if all(timing.jobs >= wanted for timing in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
