"""Implements ``ojs-aws events``, ``stats`` and ``errors``: what happens, and how jobs fail."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ojs_aws.cli.terminal.options import moment
from ojs_aws.cli.terminal.output import Output
from ojs_aws.cli.terminal.queue_names import say_if_unknown
from ojs_aws.cli.terminal.session import Session, command
from ojs_aws.cli.terminal.tables import age_text, printable, rates_of

if TYPE_CHECKING:
    from ojs_aws.client.areas.events import EventFilter
    from ojs_aws.domain.errors import JsonValue


app = typer.Typer()

PAGE: Final = 1000
"""Events that the backend returns at once."""


@command(
    app,
    "errors",
    epilog="Examples:\n\nojs-aws errors\n\nojs-aws errors --queue billing --since 24h",
)
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
    if not report.groups:
        await say_if_unknown(session, queue)
    session.out.hint(f"Counted since {report.since}, the beginning of an hour.")
    if report.ungrouped:
        session.out.hint(f"At least {report.ungrouped} failures belong to no group.")
    if report.has_more:
        session.out.hint("There are more groups: see --limit, or a later --since.")


@command(
    app,
    "events",
    epilog="Examples:\n\nojs-aws events --follow --type 'job.*'"
    "\n\nojs-aws events --job ID --since 1h --json",
)
async def events(
    session: Session,
    type: Annotated[
        list[str] | None, typer.Option("--type", "-t", help="job.failed, or job.*; repeatable.")
    ] = None,
    queue: Annotated[
        list[str] | None, typer.Option("--queue", "-q", help="Only these queues; repeatable.")
    ] = None,
    job: Annotated[
        list[str] | None, typer.Option("--job", help="Only events of this job; repeatable.")
    ] = None,
    since: Annotated[str, typer.Option(help="RFC 3339, or how long ago (2h).")] = "",
    limit: Annotated[
        int,
        typer.Option(
            "--limit",
            "-n",
            min=1,
            help=f"How many to show; above {PAGE} only with --since. --follow shows all.",
        ),
    ] = 100,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Keep showing new events; end with Ctrl-C.")
    ] = False,
) -> None:
    """Show lifecycle events in the order in which they were published; one line each."""
    wanted: EventFilter = {"types": type or [], "queues": queue or [], "job_ids": job or []}
    log, begin = session.client.events, moment(since)
    if follow:
        async for event in log.follow(since=begin, **wanted):
            show_event(session.out, event)
        return
    if limit > PAGE and not since:
        message = f"The newest events are at most {PAGE}. For more, say from when: --since 2h"
        raise typer.BadParameter(message, param_hint="--limit")
    shown, cursor = 0, ""
    while shown < limit:
        most = min(PAGE, limit - shown)
        start = None if cursor else begin
        page = await log.read(since=start, limit=most, cursor=cursor, **wanted)
        for event in page.events:
            show_event(session.out, event)
        shown += len(page.events)
        if not page.has_more or not since:
            break
        cursor = page.cursor
    if not shown:
        await say_if_unknown(session, *wanted.get("queues", ()))


def show_event(out: Output, event: Mapping[str, JsonValue]) -> None:
    """Print an event of the log as a line."""
    if out.as_json:
        out.json_line({**event})
        return
    data = event.get("data")
    about = data if isinstance(data, dict) else {}
    shown = [about.get(name) for name in ("job_type", "queue", "attempt", "worker_id")]
    error = about.get("error")
    if isinstance(error, dict):
        shown.append(f"{error.get('type')}: {error.get('message')}")
    tail = "  ".join(str(each) for each in shown if each not in {None, ""})
    line = f"{event.get('time')}  {event.get('type'):<20}  {event.get('subject')}  {tail}"
    typer.echo(printable(line))


@command(app, "stats", epilog="Examples:\n\nojs-aws stats\n\nojs-aws stats --watch")
async def stats(
    session: Session,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Show them repeatedly; end with Ctrl-C.")
    ] = False,
    every_s: Annotated[float, typer.Option(min=1, help="Seconds between two refreshes.")] = 5.0,
) -> None:
    """Count the jobs of all queues together, and the throughput of the last five minutes."""
    while True:
        numbers = await session.client.system.stats()
        if session.out.as_json:
            (session.out.json_line if watch else session.out.json)({**numbers})
        else:
            if watch:
                session.out.console().clear()
            _numbers(session, numbers)
        if not watch:
            return
        await asyncio.sleep(every_s)


def _numbers(session: Session, numbers: Mapping[str, JsonValue]) -> None:
    jobs = numbers.get("jobs")
    rows: list[tuple[str, object]] = [*jobs.items()] if isinstance(jobs, dict) else []
    done, failed = rates_of(numbers.get("throughput"))
    rows += [
        ("queues", numbers.get("queues")),
        ("workers", numbers.get("workers")),
        ("completed per minute, last 5 minutes", done),
        ("failed attempts per minute, last 5 minutes", failed),
    ]
    session.out.table({**numbers}, ("", ""), rows, title=f"{numbers.get('computed_at')}")
    if numbers.get("is_exact") is False:
        session.out.hint("Jobs are counted by their changes; the numbers may be off by a few.")
