"""What a million jobs cost in all, by the path that they take.

    python -m benchmarks.paths [--docs]

From the units that ``benchmarks.costs`` and ``benchmarks.flow_costs`` count, by way of the estimate
of ``ojs-aws cost``, which names what it assumes: everything that the default stack is billed for.
With ``--docs`` the tables of the page about costs are written again.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from rich.console import Console

from benchmarks.pages import PageTable
from benchmarks.results import show_table
from ojs_aws.pricing import (
    ASSUMPTIONS,
    BUSY_RATE,
    NEW_TABLE_PARTITIONS,
    ORDINARY_JSON,
    PRICED_ON,
    REGION,
    Workload,
    estimate,
    million,
    standing,
)

MILLION: Final = 1_000_000

KILOBYTE: Final = 1024

PATHS: Final[Mapping[str, Workload]] = {
    "HTTP worker, 0.5 KB": Workload(jobs=MILLION, uses_http_workers=True),
    "Lambda worker, 0.5 KB": Workload(jobs=MILLION),
    "Lambda binding, 0.5 KB": Workload(jobs=MILLION, uses_bindings=True),
    "HTTPS binding, 0.5 KB": Workload(jobs=MILLION, uses_endpoints=True),
    "ECS binding, 0.5 KB": Workload(jobs=MILLION, uses_tasks=True),
    "Lambda worker, 1 KB": Workload(jobs=MILLION, size_bytes=KILOBYTE),
    "Lambda worker, 8 KB": Workload(jobs=MILLION, size_bytes=8 * KILOBYTE),
    "Lambda worker, 100 KB": Workload(jobs=MILLION, size_bytes=100 * KILOBYTE),
    "the same, ordinary JSON": Workload(
        jobs=MILLION, size_bytes=100 * KILOBYTE, compression=ORDINARY_JSON
    ),
    "in batches of 100": Workload(jobs=MILLION, batched=1, batch_jobs=100),
    "in batches of 1,000": Workload(jobs=MILLION, batched=1),
    "scheduled": Workload(jobs=MILLION, scheduled=1),
    "retried once": Workload(jobs=MILLION, failure_rate=1),
    "unique": Workload(jobs=MILLION, unique=1),
    "with a limit": Workload(jobs=MILLION, limited=1),
    "workflow step": Workload(jobs=MILLION, steps=1),
    "HTTP worker, with one heartbeat": Workload(jobs=MILLION, uses_http_workers=True, heartbeats=1),
    "HTTP worker, job endpoint": Workload(jobs=MILLION, uses_http_workers=True, uses_gateway=False),
    "Lambda worker, job endpoint": Workload(jobs=MILLION, uses_gateway=False),
    "HTTP worker, without the gateway's access log": Workload(
        jobs=MILLION, uses_http_workers=True, has_access_log=False
    ),
    "pushed directly, without the API": Workload(jobs=MILLION, is_direct=True),
    "without the event bus": Workload(jobs=MILLION, has_bus=False),
    "without a batching window": Workload(jobs=MILLION, stream_window_s=0),
    "with a window of 5 s": Workload(jobs=MILLION, stream_window_s=5),
    "the cheapest: direct, without bus, window of 5 s": Workload(
        jobs=MILLION, is_direct=True, has_bus=False, stream_window_s=5
    ),
    "HTTP worker, job endpoint, direct, without bus": Workload(
        jobs=MILLION, uses_http_workers=True, uses_gateway=False, is_direct=True, has_bus=False
    ),
}
"""Random tokens of 0.5 KB, Lambda workers and API Gateway where it does not say otherwise; the time
of handlers is left out."""

RATES: Final = {"busy": BUSY_RATE, "at one job a second": 1.0}

GROWN: Final = (1.0, 5.0, 20.0, 50.0, BUSY_RATE)
SHARDS: Final = (1, NEW_TABLE_PARTITIONS, 4 * NEW_TABLE_PARTITIONS, 16 * NEW_TABLE_PARTITIONS)
"""Rates, and sizes of a table that has grown: to a job a second, its stream has more shards."""

COLUMNS: Final = {
    "write units": "write unit",
    "read units": "read unit",
    "SQS requests": "SQS request",
    "gateway requests": "HTTP API request",
    "Lambda requests": "Lambda request",
    "bus events": "bus event",
}


def row(name: str, workload: Workload) -> tuple[str, ...]:
    """Return one path: units of one job when busy, dollars of a million at each rate."""
    busy = replace(workload, rate=BUSY_RATE)
    idle = {line.what: line.amount for line in estimate(replace(busy, jobs=0))}
    lines = [(line.unit, line.amount - idle.get(line.what, 0)) for line in estimate(busy)]
    amounts = {
        title: sum(amount for each, amount in lines if each == unit) / busy.jobs
        for title, unit in COLUMNS.items()
    }
    dollars = [million(replace(workload, rate=rate)) for rate in RATES.values()]
    return name, *(f"{each:.2f}" for each in (*amounts.values(), *dollars))


def tables() -> Sequence[PageTable]:
    """Return the tables of the page: the paths, the shards of the stream, a month without a job."""
    columns = ("path", *COLUMNS, *(f"$, {name}" for name in RATES))
    http = Workload(jobs=MILLION, uses_http_workers=True)
    by_shards = [
        (
            f"{shards}",
            *(f"{million(replace(http, shards=shards, rate=rate)):.2f}" for rate in GROWN),
        )
        for shards in SHARDS
    ]
    idle = replace(http, jobs=0)
    standing_lines = [(line.what, f"{line.dollars:.2f}") for line in estimate(idle)]
    return (
        PageTable("paths", columns, [row(*path) for path in PATHS.items()]),
        PageTable("shards", ("shards", *(f"$, {rate:g} jobs/s" for rate in GROWN)), by_shards),
        PageTable("idle", ("", "$"), [*standing_lines, ("together", f"{standing(idle):.2f}")]),
    )


TITLES: Final = {
    "paths": f"One job when busy, and dollars of a million ({REGION}, {PRICED_ON})",
    "shards": "Dollars of a million jobs with HTTP workers, by the shards of the stream",
    "idle": "A month without a job, one queue",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables and keep them, in the page if asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", action="store_true", help="write the tables of docs/costs*.md")
    is_for_docs = parser.parse_args(arguments).docs
    console = Console()
    for table in tables():
        title = TITLES[table.name]
        show_table(f"paths-{table.name}", title, table.columns, table.rows, console)
        if is_for_docs:
            table.write()
    console.print("Assumed: " + "; ".join(ASSUMPTIONS) + ".")


if __name__ == "__main__":
    main()
