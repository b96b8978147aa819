"""Implements ``ojs-aws cost``: what a workload costs in a month."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final

import typer

from ojs_aws.cli.terminal.options import with_groups
from ojs_aws.cli.terminal.output import Output
from ojs_aws.pricing import (
    ASSUMPTIONS,
    Workload,
    estimate,
    million,
    standing,
)

_LARGE: Final = 10
"""Amounts from this one on are shown without decimals."""
_OPTIONS: Final = {
    "jobs": typer.Argument(min=0, help="Jobs a month."),
    "rate": typer.Option(
        min=0, help="Jobs per second while jobs arrive; by default evenly all month."
    ),
    "size_bytes": typer.Option("--size", min=0, help="Bytes of an envelope's JSON."),
    "compression": typer.Option(
        min=1, help="Compression ratio of the envelope: random tokens 1.9, ordinary JSON 5.5."
    ),
    "failure_rate": typer.Option("--failures", min=0, help="Failed attempts for each job."),
    "uses_http_workers": typer.Option(
        "--http-workers", help="Workers poll the API; otherwise Lambda runs them."
    ),
    "uses_bindings": typer.Option(
        "--bindings", help="Lambda functions of any language run the jobs, bound to their queues."
    ),
    "uses_tasks": typer.Option("--tasks", help="Each job runs in an ECS task on Fargate."),
    "uses_endpoints": typer.Option(
        "--endpoints", help="A function delivers the jobs to endpoints, bound to their queues."
    ),
    "task_vcpu": typer.Option(min=0, help="Processors of such a task."),
    "task_gb": typer.Option(min=0, help="Memory of such a task, in GB."),
    "is_direct": typer.Option(
        "--direct", help="Jobs are enqueued with AWS credentials, without the API."
    ),
    "empty_polls": typer.Option(min=0, help="Polls per month by HTTP workers that find nothing."),
    "heartbeats": typer.Option(min=0, help="Heartbeats over HTTP for each job."),
    "queues": typer.Option(min=1, help="Number of queues."),
    "job_ms": typer.Option(
        min=0, help="Duration of a handler in Lambda, an endpoint or a task, in milliseconds."
    ),
    "worker_mb": typer.Option(min=128, help="Memory of the worker function."),
    "retention_days": typer.Option(min=0, help="How long ended jobs are kept, in days."),
    "has_bus": typer.Option("--bus/--no-bus", help="Publish lifecycle events to the event bus."),
    "uses_gateway": typer.Option(
        "--gateway/--job-endpoint", help="Requests go through API Gateway, or to the job endpoint."
    ),
    "has_access_log": typer.Option(
        "--access-log/--no-access-log", help="The gateway logs each request."
    ),
    "stream_window_s": typer.Option(
        "--stream-window", min=0, max=300, help="Batching window of the table's stream, in seconds."
    ),
    "shards": typer.Option(
        min=1, help="Shards of the table's stream: four of a new table, more after it has grown."
    ),
    "has_dashboard": typer.Option(
        "--dashboard/--no-dashboard", help="The stack has its dashboard."
    ),
    "has_alarms": typer.Option("--alarms/--no-alarms", help="The stack has its alarms."),
    "has_account_key": typer.Option(
        "--account-key/--aws-owned-key",
        help="The table's KMS key is the account's, whose use is billed, or one that AWS owns.",
    ),
    "unique": typer.Option(min=0, max=1, help="Share of unique jobs, 0 to 1."),
    "steps": typer.Option(min=0, max=1, help="Share of jobs that are steps of workflows."),
    "limited": typer.Option(min=0, max=1, help="Share of jobs with a rate or concurrency limit."),
    "batched": typer.Option(min=0, max=1, help="Share of jobs enqueued in batches."),
    "batch_jobs": typer.Option(min=1, help="Jobs in each batch."),
    "scheduled": typer.Option(min=0, max=1, help="Share of scheduled jobs."),
}
"""The options for the fields of ``Workload``, which give them their types and defaults."""


app = typer.Typer()


@app.command(
    epilog="Example: ojs-aws cost 5000000 --rate 20 --size 2000 --failures 0.02 --job-ms 150"
)
@partial(with_groups, options=_OPTIONS)
def cost(
    workload: Workload,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
) -> None:
    """Estimate what a workload costs in a month, line by line, with the assumptions.

    Standing costs are those of a month without a job. The benchmarks have measured the units of
    each operation; the command needs no AWS account.
    """
    lines = estimate(workload)
    total = sum(line.dollars for line in lines)
    data = {
        "dollars_per_month": round(total, 4),
        "standing_dollars_per_month": round(standing(workload), 4),
        "dollars_per_million_jobs": round(million(workload), 4) if workload.jobs else None,
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
    if workload.jobs:
        out.hint(
            f"A million of these jobs cost ${million(workload):,.2f}; a month without any, "
            f"${standing(workload):,.2f}."
        )
    out.hint("Assumed: " + "; ".join(ASSUMPTIONS) + ".")


def _amount(number: float) -> str:
    return f"{number:,.2f}" if number < _LARGE else f"{number:,.0f}"
