"""``ojs-aws cost``: what a workload costs in a month."""

from __future__ import annotations

from typing import Annotated

import typer

from ojs_aws.cli.output import Output


def register(app: typer.Typer) -> None:
    """Add the command to the root."""
    app.command(
        "cost",
        epilog="Example: ojs-aws cost 5000000 --size 2000 --failures 0.02 --job-ms 150",
    )(cost)


def cost(
    jobs: Annotated[float, typer.Argument(min=0, help="Jobs a month.")] = 1_000_000,
    size: Annotated[int, typer.Option(min=0, help="Bytes of an envelope's JSON.")] = 600,
    failures: Annotated[float, typer.Option(min=0, help="Failed attempts for each job.")] = 0.0,
    http_workers: Annotated[
        bool, typer.Option("--http-workers", help="Workers poll the API; else Lambda runs them.")
    ] = False,
    queues: Annotated[int, typer.Option(min=1, help="How many queues.")] = 1,
    job_ms: Annotated[
        float, typer.Option(min=0, help="What a handler takes, in milliseconds of Lambda.")
    ] = 0.0,
    worker_mb: Annotated[int, typer.Option(min=128, help="Memory of the worker function.")] = 512,
    retention_days: Annotated[
        float, typer.Option(min=0, help="How long ended jobs are kept, in days.")
    ] = 7.0,
    unique: Annotated[
        float, typer.Option(min=0, max=1, help="Share of unique jobs, 0 to 1.")
    ] = 0.0,
    steps: Annotated[
        float, typer.Option(min=0, max=1, help="Share of jobs that are steps of workflows.")
    ] = 0.0,
    limited: Annotated[
        float, typer.Option(min=0, max=1, help="Share of jobs with a limit on how they begin.")
    ] = 0.0,
    batched: Annotated[
        float, typer.Option(min=0, max=1, help="Share of jobs enqueued in batches of 1,000.")
    ] = 0.0,
    scheduled: Annotated[
        float, typer.Option(min=0, max=1, help="Share of jobs that begin later.")
    ] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
) -> None:
    """Estimate what a workload costs in a month, line by line, with what is assumed.

    The units of each operation are counted by the benchmarks; no AWS account is asked.
    """
    from ojs_aws.pricing import ASSUMPTIONS, Workload, estimate  # noqa: PLC0415

    workload = Workload(
        jobs=jobs,
        size_bytes=size,
        failure_rate=failures,
        uses_http_workers=http_workers,
        queues=queues,
        job_ms=job_ms,
        worker_mb=worker_mb,
        retention_days=retention_days,
        unique=unique,
        steps=steps,
        limited=limited,
        batched=batched,
        scheduled=scheduled,
    )
    lines = estimate(workload)
    total = sum(line.dollars for line in lines)
    data = {
        "dollars_per_month": round(total, 4),
        "dollars_per_million_jobs": round(total / jobs * 1e6, 4) if jobs else None,
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
    out.hint("Assumed: " + "; ".join(ASSUMPTIONS) + ".")


def _amount(number: float) -> str:
    return f"{number:,.2f}" if number < 10 else f"{number:,.0f}"  # noqa: PLR2004 - readable
