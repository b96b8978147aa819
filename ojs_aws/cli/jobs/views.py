"""Implements ``ojs-aws jobs list``, ``jobs show`` and ``why``: which jobs there are, and why."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ojs_aws.cli.jobs import changes as group
from ojs_aws.cli.jobs.chosen import ChosenJobs
from ojs_aws.cli.jobs.reports import dead_workers, more_text, show_failures, timeline, total_members
from ojs_aws.cli.terminal.options import JobId
from ojs_aws.cli.terminal.queue_names import say_if_unknown
from ojs_aws.cli.terminal.session import Session, command, listed, misuse
from ojs_aws.cli.terminal.tables import age_text, counted, with_ages

if TYPE_CHECKING:
    from ojs_aws.client.areas.entries import JobPage
    from ojs_aws.domain.errors import JsonValue

MAX_NAMED: Final = 20
GROUPED: Final = 1_000
"""Jobs that are grouped unless --limit says otherwise."""
ERROR_WIDTH: Final = 60
"""Characters of a failure, so that a line fits a terminal."""

_VARIABLE: Final = re.compile(
    r"0x[0-9a-fA-F]+|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|\d+|'[^']*'|\"[^\"]*\""
)
"""What differs between messages of one error: numbers, ids and quoted values."""


_SHOWN_APART: Final = {"history", "events", "error", "errors", "metadata", "retry", "specversion"}
"""Members of a job that have a part of their own, or that others repeat."""


class GroupBy(StrEnum):
    """Names what jobs can be grouped by."""

    ERROR = "error"
    TYPE = "type"
    QUEUE = "queue"


app = typer.Typer()


@command(
    group.app,
    "list",
    epilog="Examples:\n\nojs-aws jobs list --queue billing --state discarded --since 2h"
    "\n\nojs-aws jobs list --state discarded --group-by error",
)
async def list_jobs(
    session: Session,
    wanted: ChosenJobs,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, help="How many jobs to show; of groups, read.")
    ] = 0,
    oldest_first: Annotated[
        bool, typer.Option("--oldest-first", help="Reverse the order within each list.")
    ] = False,
    group_by: Annotated[
        GroupBy | None, typer.Option(help="Count the jobs by their latest error, type or queue.")
    ] = None,
) -> None:
    """List or search jobs, queue by queue and state by state, newest first in each.

    A search by queue and state is fast. A type, a time, a tag or an error is compared job by job,
    so a search for a few among very many jobs takes a while.
    """
    chosen = wanted.chosen
    with session.out.progress("Looking at jobs ...", None) as step:

        async def ask(most: int, cursor: str) -> JobPage:
            page = await session.client.jobs.list(
                oldest_first=oldest_first, limit=most, cursor=cursor, **chosen
            )
            step(page.examined)
            return page

        most = limit or (GROUPED if group_by else 20)
        entries, read = await listed(most, ask, lambda page: page.jobs)
    jobs = [each.described for each in entries]
    if group_by is not None:
        _show_groups(session, group_by, jobs)
    else:
        _show_jobs(session, jobs, read)
    if not jobs:
        await say_if_unknown(session, wanted.queue)
    if (examined := sum(page.examined for page in read)) > len(jobs):
        session.out.hint(f"Looked at {counted(examined, 'job')}.")
    if text := more_text("job", len(jobs), read):
        session.out.hint(text)


def _show_jobs(
    session: Session, jobs: Sequence[Mapping[str, JsonValue]], read: Sequence[JobPage]
) -> None:
    """Show a job in each line; JSON also says how many match, and how many were looked at."""
    session.out.items(
        {
            "jobs": [{**job} for job in jobs],
            **total_members(len(jobs), read),
            "examined": sum(page.examined for page in read),
        },
        {
            "Id": "id",
            "Type": "type",
            "Queue": "queue",
            "State": "state",
            "Try": lambda job: f"{job.get('attempt')}/{job.get('max_attempts')}",
            "Age": lambda job: age_text(job.get("created_at")),
            "Now": doing_text,
        },
        jobs,
        nothing="No such jobs.",
        least=("Try", "Age", "Queue"),
    )


def doing_text(job: Mapping[str, JsonValue]) -> str:
    """Return what a job does now, or how it ended, as one line."""
    error = error_text(job)
    match job.get("state"):
        case "available":
            return f"waits for {age_text(job.get('enqueued_at') or job.get('created_at'))}"
        case "scheduled":
            return f"due in {age_text(job.get('scheduled_at'))}"
        case "retryable":
            return f"next in {age_text(job.get('next_attempt_at'))}: {error}"
        case "active":
            where = f" on {job.get('worker_id')}" if job.get("worker_id") else ""
            return f"runs for {age_text(job.get('started_at'))}{where}"
        case "pending":
            return "waits until it is activated"
    return error


def error_text(job: Mapping[str, JsonValue]) -> str:
    """Return the latest failure of a job as one line."""
    error = job.get("error")
    if not isinstance(error, dict):
        return ""
    text = f"{error.get('type')}: {error.get('message')}"
    return text if len(text) <= ERROR_WIDTH else text[: ERROR_WIDTH - 1] + "…"


def _show_groups(
    session: Session, group_by: GroupBy, jobs: Sequence[Mapping[str, JsonValue]]
) -> None:
    """Show how many jobs have the same error, type or queue, the largest group first."""
    groups: dict[str, list[Mapping[str, JsonValue]]] = defaultdict(list)
    for job in jobs:
        if group_by is GroupBy.ERROR:
            groups[_VARIABLE.sub("…", error_text(job)) or "no error"].append(job)
        else:
            groups[str(job.get(group_by))].append(job)
    found: list[dict[str, object]] = [
        {
            str(group_by): name,
            "count": len(members),
            "types": sorted({str(job.get("type")) for job in members}),
            "oldest": min(str(job.get("created_at")) for job in members),
            "newest": max(str(job.get("created_at")) for job in members),
            "job_id": members[0].get("id"),
        }
        for name, members in sorted(groups.items(), key=lambda item: -len(item[1]))
    ]
    session.out.items(
        {"groups": found, "examined": len(jobs)},
        {
            "One of them": "job_id",
            "Jobs": "count",
            "Newest": lambda each: f"{age_text(each['newest'])} ago",
            "Oldest": lambda each: f"{age_text(each['oldest'])} ago",
            str(group_by).capitalize(): str(group_by),
        },
        found,
        nothing="No such jobs.",
    )


@command(
    group.app, "show", epilog="Example: ojs-aws jobs show 019539a4-b68c-7def-8000-1a2b3c4d5e6f"
)
async def show_job(
    session: Session,
    job_id: JobId,
    events: Annotated[
        bool, typer.Option("--events", help="Show the job's events from the log, too.")
    ] = False,
) -> None:
    """Show a whole job, what happened to it, and its failed attempts, the last with a traceback."""
    if session.out.as_json:
        session.out.json({**await session.client.jobs.detail(job_id, events=events)})
        return
    detail = await session.client.jobs.detail(job_id, events=True)
    log = detail.get("events")
    items = log.get("items") if isinstance(log, dict) else None
    happened = [each for each in items if isinstance(each, dict)] if isinstance(items, list) else []
    policy = {"retry_policy": detail.get("retry_policy")}
    shown_last = {**{name: detail[name] for name in detail if name not in policy}, **policy}
    session.out.fields(shown_last, with_ages(shown_last), hidden=_SHOWN_APART)
    kept = detail.get("history")
    history = [each for each in kept if isinstance(each, dict)] if isinstance(kept, list) else []
    seen = await _last_seen(session, dead_workers(history, happened))
    session.out.items(
        kept,
        {"When": "at", "What": "what", "Attempt": "attempt", "Error": error_text},
        timeline(history, happened, seen),
        title="\nHistory",
    )
    show_failures(session.out, detail)
    if events:
        columns = {"When": "time", "Event": "type"}
        session.out.items(items, columns, happened, title="\nEvents", nothing="No events.")


async def _last_seen(session: Session, workers: Iterable[str]) -> dict[str, str]:
    """Return when workers were last heard of; without those that are forgotten or not ours."""
    from ojs_aws.domain.errors import OjsError

    found: dict[str, str] = {}
    for worker_id in sorted(workers):
        with suppress(OjsError):
            found[worker_id] = (await session.client.workers.get(worker_id)).last_heartbeat_at
    return found


@command(
    app,
    "why",
    epilog="Examples:\n\nojs-aws why 019539a4-b68c-7def-8000-1a2b3c4d5e6f"
    "\n\nojs-aws why --queue email",
)
async def why(
    session: Session,
    job_id: Annotated[str, typer.Argument(help="Id of the job.")] = "",
    queue: Annotated[
        str, typer.Option("--queue", "-q", help="The next job of this queue instead.")
    ] = "",
) -> None:
    """Say why a job does not run: what holds it back, and when that ends."""
    if bool(job_id) == bool(queue):
        raise misuse(session.out, "Which job?", "Name its id, or a --queue for its next job.")
    subject = "The job"
    if queue:
        jobs = session.client.jobs
        page = await jobs.list(queue=queue, states=["available"], oldest_first=True, limit=1)
        if not page.jobs:
            session.out.said(f"No job of queue '{queue}' waits.", {"queue": queue, "reasons": []})
            await say_if_unknown(session, queue)
            return
        job_id = page.jobs[0].id
        subject = f"The next job of '{queue}', {job_id},"
    found = await session.client.jobs.why(job_id)
    lines = [f"{subject} is {found.state}."]
    for each in found.reasons:
        lines.append(f"- {each.message} ({each.code})")
        if each.hint:
            lines.append(f"  {each.hint}")
        data = each.described.get("data")
        held_by = data.get("held_by") if isinstance(data, dict) else None
        if isinstance(held_by, list) and held_by:
            lines.append(f"  These jobs hold it: {', '.join(map(str, held_by[:MAX_NAMED]))}")
    reasons: list[JsonValue] = [{**each.described} for each in found.reasons]
    checked: list[JsonValue] = [*found.checked]
    session.out.said(
        "\n".join(lines), {"state": found.state, "reasons": reasons, "checked": checked}
    )
    session.out.hint(f"Checked: {', '.join(found.checked)}.")
