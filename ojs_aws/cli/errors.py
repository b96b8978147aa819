"""Implements ``ojs-aws errors``: how jobs fail, grouped by error."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ojs_aws.cli.options import age_text, moment
from ojs_aws.cli.session import Session, command


def register(app: typer.Typer) -> None:
    """Add the command to the root."""
    command(
        app,
        "errors",
        epilog="Examples:\n\nojs-aws errors\n\nojs-aws errors --queue billing --since 24h",
    )(errors)


async def errors(
    session: Session,
    queue: Annotated[str, typer.Option("--queue", "-q", help="Only this queue.")] = "",
    since: Annotated[
        str, typer.Option(help="RFC 3339, or how long ago: 2h, P1D. At most a week.")
    ] = "1h",
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many groups.")] = 20,
) -> None:
    """Show how jobs failed, by error: how often at least, since when, and one of the jobs.

    Errors are a group if their messages differ only in numbers, ids and quoted texts; the message
    shown is that of the last one. Failures are counted by the hour, so --since is rounded down.
    """
    report = await session.client.system.errors(queue=queue, since=moment(since), limit=limit)
    session.out.items(
        asdict(report),
        {
            "Job": lambda each: each.job_ids[-1],
            "At least": "count",
            "Last": lambda each: f"{age_text(each.last_seen)} ago",
            "Queues": lambda each: ", ".join(each.queues),
            "Error": lambda each: f"{each.type}: {each.example or each.message}",
        },
        report.groups,
        nothing="No failures.",
    )
    session.out.hint(f"Counted since {report.since}, the beginning of an hour.")
    if report.ungrouped:
        session.out.hint(f"At least {report.ungrouped} failures belong to no group.")
    if report.has_more:
        session.out.hint("There are more groups: see --limit, or a later --since.")
