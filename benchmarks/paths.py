"""What a million jobs cost in all, by the path that they take.

    python -m benchmarks.paths

From the units that ``benchmarks.costs`` and ``benchmarks.flow_costs`` count, by way of the estimate
of ``ojs-aws cost``, which names what it assumes: everything that the default stack is billed for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from rich.console import Console

from benchmarks.results import show_table
from ojs_aws.pricing import (
    ASSUMPTIONS,
    BUSY_RATE,
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
    "HTTP worker, through API Gateway": Workload(
        jobs=MILLION, uses_http_workers=True, uses_gateway=True
    ),
    "Lambda worker, through API Gateway": Workload(jobs=MILLION, uses_gateway=True),
    "the same, without the gateway's access log": Workload(
        jobs=MILLION, uses_gateway=True, has_access_log=False
    ),
    "pushed directly, without the API": Workload(jobs=MILLION, is_direct=True),
    "without the event bus": Workload(jobs=MILLION, has_bus=False),
    "without a batching window": Workload(jobs=MILLION, stream_window_s=0),
    "with a window of 5 s": Workload(jobs=MILLION, stream_window_s=5),
    "the cheapest: direct, without bus, window of 5 s": Workload(
        jobs=MILLION, is_direct=True, has_bus=False, stream_window_s=5
    ),
    "HTTP worker, direct, without bus": Workload(
        jobs=MILLION, uses_http_workers=True, is_direct=True, has_bus=False
    ),
}
"""Random tokens of 0.5 KB and Lambda workers where it does not say otherwise; their own time is
left out."""

RATES: Final = {"busy": BUSY_RATE, "at one job a second": 1.0}

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


def main() -> None:
    """Print both tables and keep them."""
    console = Console()
    title = f"One job when busy, and dollars of a million ({REGION}, {PRICED_ON})"
    columns = ("path", *COLUMNS, *(f"$, {name}" for name in RATES))
    show_table("paths", title, columns, [row(*path) for path in PATHS.items()], console)
    idle = Workload(jobs=0, uses_http_workers=True)
    rows = [(line.what, f"{line.dollars:.2f}") for line in estimate(idle)]
    rows.append(("together", f"{standing(idle):.2f}"))
    show_table("paths-idle", "A month without a job, one queue", ("", "$"), rows, console)
    console.print("Assumed: " + "; ".join(ASSUMPTIONS) + ".")


if __name__ == "__main__":
    main()
