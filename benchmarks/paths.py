"""What a million jobs cost in all, by the path that they take.

    python -m benchmarks.paths

From the units that ``benchmarks.costs`` and ``benchmarks.flow_costs`` count, by way of the estimate
of ``ojs-aws cost``, which names what it assumes: gateway, Lambda, SQS, the table, the event log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich.console import Console

from benchmarks.results import tell
from ojs_aws.pricing import ASSUMPTIONS, PRICED_ON, REGION, Workload, estimate

MILLION: Final = 1_000_000
API_GB: Final = 0.5

PATHS: Final[Mapping[str, Workload]] = {
    "Lambda worker, 1 KB": Workload(jobs=MILLION),
    "HTTP worker, 1 KB": Workload(jobs=MILLION, uses_http_workers=True),
    "in batches of 1,000": Workload(jobs=MILLION, batched=1),
    "scheduled": Workload(jobs=MILLION, scheduled=1),
    "retried once": Workload(jobs=MILLION, failure_rate=1),
    "unique": Workload(jobs=MILLION, unique=1),
    "with a limit": Workload(jobs=MILLION, limited=1),
    "workflow step": Workload(jobs=MILLION, steps=1),
    "Lambda worker, 10 KB": Workload(jobs=MILLION, size_bytes=10_000),
    "Lambda worker, 100 KB": Workload(jobs=MILLION, size_bytes=100_000),
}
"""Lambda workers but where it says otherwise; their own time is left out."""

COLUMNS: Final = {
    "write units": "write unit",
    "read units": "read unit",
    "SQS requests": "SQS request",
    "API requests": "HTTP API request",
    "Lambda requests": "Lambda request",
}


def row(name: str, workload: Workload) -> tuple[str, ...]:
    """One path: units and milliseconds of one job, dollars of a million."""
    lines = estimate(workload)
    amounts = {
        title: sum(line.amount for line in lines if line.unit == unit) / workload.jobs
        for title, unit in COLUMNS.items()
    }
    ran = sum(line.amount for line in lines if line.unit == "Lambda GB-second")
    milliseconds = ran / API_GB / workload.jobs * 1000
    dollars = sum(line.dollars for line in lines) / workload.jobs * MILLION
    counted = [f"{amount:.2f}" for amount in amounts.values()]
    return name, *counted, f"{milliseconds:.0f}", f"{dollars:.2f}"


def main() -> None:
    """Print the table and keep it."""
    console = Console()
    title = f"One job, and a million ({REGION}, {PRICED_ON})"
    columns = ("path", *COLUMNS, f"Lambda ms at {API_GB:g} GB", "$ per million")
    tell("paths", title, columns, [row(*path) for path in PATHS.items()], console)
    console.print("Assumed: " + "; ".join(ASSUMPTIONS) + ".")


if __name__ == "__main__":
    main()
