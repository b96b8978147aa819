"""Implements ``ojs-aws jobs``: find, show, retry, cancel and delete jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from ojs_aws.cli.session import ExitCode, Session, command, moment

if TYPE_CHECKING:
    from ojs_aws.client.areas.jobs import BulkAction, JobBulkResult
    from ojs_aws.domain.errors import JsonValue

app = typer.Typer(
    name="jobs",
    no_args_is_help=True,
    help="Find jobs, read their history, and retry, cancel or delete them, one or many.",
)

MAX_PAGES: Final = 1000
MAX_NAMED: Final = 20

Queue = Annotated[str, typer.Option("--queue", "-q", help="Only jobs of this queue.")]
State = Annotated[
    list[str] | None, typer.Option("--state", "-s", help="Only jobs in this state; repeatable.")
]
Type = Annotated[
    str, typer.Option("--type", "-t", help="Only this job type, or all that begin so: 'mail.*'.")
]
Since = Annotated[
    str, typer.Option(help="Created since: an RFC 3339 time, or how long ago (2h, 30m, P1D).")
]
Until = Annotated[str, typer.Option(help="Created until; the same forms.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be changed.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Ids = Annotated[list[str] | None, typer.Argument(help="Ids of jobs; leave out to use a filter.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Selects the jobs that a command is for."""

    queue: str
    states: list[str]
    type: str
    since: datetime | None
    until: datetime | None

    @classmethod
    def of(
        cls,
        queue: str,
        state: list[str] | None,
        type: str,
        since: str,
        until: str,
    ) -> Filter:
        """Return the filter that the options describe."""
        return cls(
            queue=queue, states=state or [], type=type, since=moment(since), until=moment(until)
        )

    @property
    def is_empty(self) -> bool:
        """Return whether no option was given."""
        return not (self.queue or self.states or self.type or self.since or self.until)


@command(
    app,
    "list",
    epilog="Example: ojs-aws jobs list --queue billing --state discarded --since 2h",
)
async def list_jobs(
    session: Session,
    queue: Queue = "",
    state: State = None,
    type: Type = "",
    since: Since = "",
    until: Until = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many jobs to show.")] = 20,
    oldest_first: Annotated[
        bool, typer.Option("--oldest-first", help="Reverse the order within each list.")
    ] = False,
) -> None:
    """List or search jobs, queue by queue and state by state, newest first in each.

    A queue and a state are found at once. A type or a time is compared job by job, so looking for
    something rare among very many takes a while.
    """
    wanted = Filter.of(queue, state, type, since, until)
    jobs: list[Mapping[str, JsonValue]] = []
    cursor, total, is_exact = "", 0, True
    for _ in range(MAX_PAGES):
        page = await session.client.jobs.list(
            queue=wanted.queue,
            states=wanted.states,
            type=wanted.type,
            since=wanted.since,
            until=wanted.until,
            oldest_first=oldest_first,
            limit=min(200, limit - len(jobs)),
            cursor=cursor,
        )
        if not cursor:
            total, is_exact = page.total, page.is_exact
        jobs += [entry.described for entry in page.jobs]
        cursor = page.cursor
        if not cursor or len(jobs) >= limit:
            break
    session.out.table(
        {"jobs": [{**job} for job in jobs], "total": total, "total_is_exact": is_exact},
        ("Id", "Type", "Queue", "State", "Attempt", "Created", "Error"),
        [
            (
                job.get("id"),
                job.get("type"),
                job.get("queue"),
                job.get("state"),
                f"{job.get('attempt')}/{job.get('max_attempts')}",
                job.get("created_at"),
                error_text(job),
            )
            for job in jobs
        ],
        nothing="No such jobs.",
    )
    if cursor:
        about = f"of {total}" if is_exact else "and there are more"
        session.out.hint(f"{len(jobs)} jobs {about}; show more with --limit.")


def error_text(job: Mapping[str, JsonValue]) -> str:
    """Return the latest failure of a job as one line."""
    error = job.get("error")
    if not isinstance(error, dict):
        return ""
    text = f"{error.get('type')}: {error.get('message')}"
    return text if len(text) <= 60 else text[:59] + "…"  # noqa: PLR2004 - fits a terminal


@command(app, "show", epilog="Example: ojs-aws jobs show 019539a4-b68c-7def-8000-1a2b3c4d5e6f")
async def show_job(
    session: Session,
    job_id: Annotated[str, typer.Argument(help="Id of the job.")],
    events: Annotated[
        bool, typer.Option("--events", help="Show the job's events from the log, too.")
    ] = False,
) -> None:
    """Show a whole job, and what happened to it."""
    detail = await session.client.jobs.detail(job_id, events=events)
    if session.out.as_json:
        session.out.json({**detail})
        return
    hidden = {"history", "events", "errors", "specversion"}
    session.out.fields(
        detail, [(name, value) for name, value in detail.items() if name not in hidden]
    )
    history = detail.get("history")
    session.out.table(
        history,
        ("When", "What", "Attempt", "Error"),
        [
            (each.get("at"), each.get("what"), each.get("attempt"), error_text(each))
            for each in (history if isinstance(history, list) else [])
            if isinstance(each, dict)
        ],
        title="\nHistory",
    )
    told = detail.get("events")
    items = told.get("items") if isinstance(told, dict) else None
    if isinstance(items, list):
        rows = [(e.get("time"), e.get("type")) for e in items if isinstance(e, dict)]
        session.out.table(items, ("When", "Event"), rows, title="\nEvents", nothing="No events.")


# ------------------------------------------------------------------------------------- changing
@command(
    app,
    "retry",
    epilog="Examples:\n\nojs-aws jobs retry ID\n\nojs-aws jobs retry -q billing -t 'invoice.*' "
    "--since 2h --dry-run",
)
async def retry_jobs(
    session: Session,
    ids: Ids = None,
    queue: Queue = "",
    state: State = None,
    type: Type = "",
    since: Since = "",
    until: Until = "",
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Make discarded jobs available again: attempt 0, the old errors kept apart."""
    wanted = Filter.of(queue, state, type, since, until)
    await _change(session, "retry", ids, wanted, is_dry=dry_run, is_sure=yes)


@command(
    app,
    "cancel",
    epilog="Examples:\n\nojs-aws jobs cancel ID"
    "\n\nojs-aws jobs cancel --queue email --state available",
)
async def cancel_jobs(
    session: Session,
    ids: Ids = None,
    queue: Queue = "",
    state: State = None,
    type: Type = "",
    since: Since = "",
    until: Until = "",
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Cancel jobs that have not ended; a worker learns it with its next heartbeat."""
    wanted = Filter.of(queue, state, type, since, until)
    await _change(session, "cancel", ids, wanted, is_dry=dry_run, is_sure=yes)


@command(
    app,
    "delete",
    epilog="Example: ojs-aws jobs delete --queue email --state completed --until P7D --dry-run",
)
async def delete_jobs(
    session: Session,
    queue: Queue = "",
    state: State = None,
    type: Type = "",
    since: Since = "",
    until: Until = "",
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Delete jobs that have ended, for good."""
    wanted = Filter.of(queue, state, type, since, until)
    await _change(session, "delete", None, wanted, is_dry=dry_run, is_sure=yes)


async def _change(
    session: Session,
    action: BulkAction,
    ids: list[str] | None,
    wanted: Filter,
    *,
    is_dry: bool,
    is_sure: bool,
) -> None:
    """Change the named jobs, or those of a filter after asking.

    :raises typer.Exit: FAILED where some could not be changed, USAGE where none are meant.
    """
    if ids:
        await _change_named(session, "cancel" if action == "cancel" else "retry", ids)
        return
    if wanted.is_empty:
        session.out.problem(
            "Which jobs?", "Name ids, or a filter: --queue, --state, --type, --since, --until."
        )
        raise typer.Exit(ExitCode.USAGE)
    total = await _count(session, action, wanted)
    if is_dry or not total:
        would = {"action": action, "dry_run": is_dry, "matched": total}
        session.out.said(f"{total} jobs match; nothing was changed.", would)
        return
    session.confirm(f"{action.capitalize()} {total} jobs?", is_sure=is_sure)
    done, failed = await _change_all(session, action, wanted, total)
    names: list[JsonValue] = [{"job_id": each, "error": why} for each, why in failed[:MAX_NAMED]]
    session.out.said(
        f"{_PAST[action]} {done} jobs."
        + "".join(f"\n  {each}: {why}" for each, why in failed[:MAX_NAMED]),
        {"action": action, "succeeded": done, "failed": len(failed), "errors": names},
    )
    if failed:
        raise typer.Exit(ExitCode.FAILED)


_PAST: Final[dict[str, str]] = {"retry": "Retried", "cancel": "Cancelled", "delete": "Deleted"}


async def _count(session: Session, action: BulkAction, wanted: Filter) -> int:
    parts = session.client.jobs.change_all(
        action,
        queue=wanted.queue,
        states=wanted.states,
        type=wanted.type,
        since=wanted.since,
        until=wanted.until,
        dry_run=True,
    )
    return sum([part.matched async for part in parts])


async def _change_all(
    session: Session, action: BulkAction, wanted: Filter, total: int
) -> tuple[int, list[tuple[str, str]]]:
    """Change all jobs of a filter, and show the progress."""
    done, failed = 0, list[tuple[str, str]]()
    with session.out.progress(f"{action} ...", total) as step:
        parts = session.client.jobs.change_all(
            action,
            queue=wanted.queue,
            states=wanted.states,
            type=wanted.type,
            since=wanted.since,
            until=wanted.until,
        )
        async for part in parts:
            done += len(part.succeeded)
            failed += _failures(part)
            step(part.matched)
    return done, failed


def _failures(part: JobBulkResult) -> list[tuple[str, str]]:
    return [(each.job_id, each.reason or each.status) for each in part.failed]


async def _change_named(
    session: Session, action: Literal["retry", "cancel"], ids: list[str]
) -> None:
    """Change each of the named jobs; stop at the first error."""
    jobs = session.client.jobs
    for job_id in ids:
        entry = await (jobs.cancel(job_id) if action == "cancel" else jobs.retry(job_id))
        session.out.said(f"{entry.id} is {entry.state}.", {"id": entry.id, "state": entry.state})
