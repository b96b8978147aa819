"""Implements ``ojs-aws cost``: what a workload costs in a month."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from ojs_aws.cli.options import with_groups
from ojs_aws.cli.output import Output

RANDOM_TOKENS = 1.75
"""As in ``ojs_aws.pricing``, which is imported when the command runs."""


@dataclass(frozen=True, slots=True)
class WorkloadOptions:
    """Describes a workload, as :class:`ojs_aws.pricing.Workload` has it."""

    jobs: Annotated[float, typer.Argument(min=0, help="Jobs a month.")] = 1_000_000
    rate: Annotated[
        float | None,
        typer.Option(min=0, help="Jobs per second while jobs arrive; by default evenly all month."),
    ] = None
    size_bytes: Annotated[
        int, typer.Option("--size", min=0, help="Bytes of an envelope's JSON.")
    ] = 512
    compression: Annotated[
        float,
        typer.Option(
            min=1, help="Compression ratio of the envelope: random tokens 1.75, ordinary JSON 5.5."
        ),
    ] = RANDOM_TOKENS
    failure_rate: Annotated[
        float, typer.Option("--failures", min=0, help="Failed attempts for each job.")
    ] = 0.0
    uses_http_workers: Annotated[
        bool,
        typer.Option("--http-workers", help="Workers poll the API; otherwise Lambda runs them."),
    ] = False
    empty_polls: Annotated[
        float, typer.Option(min=0, help="Polls per month by HTTP workers that find nothing.")
    ] = 0.0
    heartbeats: Annotated[float, typer.Option(min=0, help="Heartbeats over HTTP for each job.")] = (
        0.0
    )
    queues: Annotated[int, typer.Option(min=1, help="Number of queues.")] = 1
    job_ms: Annotated[
        float, typer.Option(min=0, help="Duration of a handler in Lambda, in milliseconds.")
    ] = 0.0
    worker_mb: Annotated[int, typer.Option(min=128, help="Memory of the worker function.")] = 512
    retention_days: Annotated[
        float, typer.Option(min=0, help="How long ended jobs are kept, in days.")
    ] = 7.0
    has_bus: Annotated[
        bool, typer.Option("--bus/--no-bus", help="Publish lifecycle events to the event bus.")
    ] = True
    has_dashboard: Annotated[
        bool, typer.Option("--dashboard/--no-dashboard", help="The stack has its dashboard.")
    ] = True
    has_alarms: Annotated[
        bool, typer.Option("--alarms/--no-alarms", help="The stack has its alarms.")
    ] = True
    unique: Annotated[float, typer.Option(min=0, max=1, help="Share of unique jobs, 0 to 1.")] = 0.0
    steps: Annotated[
        float, typer.Option(min=0, max=1, help="Share of jobs that are steps of workflows.")
    ] = 0.0
    limited: Annotated[
        float, typer.Option(min=0, max=1, help="Share of jobs with a rate or concurrency limit.")
    ] = 0.0
    batched: Annotated[
        float, typer.Option(min=0, max=1, help="Share of jobs enqueued in batches.")
    ] = 0.0
    batch_jobs: Annotated[int, typer.Option(min=1, help="Jobs in each batch.")] = 1000
    scheduled: Annotated[float, typer.Option(min=0, max=1, help="Share of scheduled jobs.")] = 0.0


def register(app: typer.Typer) -> None:
    """Add the command to the root."""
    app.command(
        "cost",
        epilog="Example: ojs-aws cost 5000000 --rate 20 --size 2000 --failures 0.02 --job-ms 150",
    )(with_groups(cost))


def cost(
    options: WorkloadOptions,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
) -> None:
    """Estimate what a workload costs in a month, line by line, with the assumptions.

    Standing costs are those of a month without a job. The benchmarks have measured the units of
    each operation; the command needs no AWS account.
    """
    from ojs_aws.pricing import ASSUMPTIONS, Workload, estimate, million, standing

    workload = Workload(**asdict(options))
    lines = estimate(workload)
    total = sum(line.dollars for line in lines)
    data = {
        "dollars_per_month": round(total, 4),
        "standing_dollars_per_month": round(standing(workload), 4),
        "dollars_per_million_jobs": round(million(workload), 4) if options.jobs else None,
        "lines": [
            {"what": line.what, "amount": line.amount, "unit": line.unit, "dollars": line.dollars}
            for line in lines
        ],
        "assumptions": list(ASSUMPTIONS),
    }
    out = Output(as_json=as_json)
    out.table(
        data,
        ("", "Amount", "Unit", "$ a month"),
        [
            *(
                (line.what, _amount(line.amount), line.unit, f"{line.dollars:,.2f}")
                for line in lines
            ),
            ("together", "", "", f"{total:,.2f}"),
        ],
    )
    if options.jobs:
        out.hint(
            f"A million of these jobs cost ${million(workload):,.2f}; a month without any, "
            f"${standing(workload):,.2f}."
        )
    out.hint("Assumed: " + "; ".join(ASSUMPTIONS) + ".")


def _amount(number: float) -> str:
    return f"{number:,.2f}" if number < 10 else f"{number:,.0f}"  # noqa: PLR2004 - readable
