"""Implements ``ojs-aws dead-letter``: jobs that failed for good and were kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ojs_aws.cli.jobs import DryRun, Queue, Since, Type, Until, Yes, error_text
from ojs_aws.cli.output import flat
from ojs_aws.cli.session import ExitCode, Session, command, json_of, moment

if TYPE_CHECKING:
    from datetime import datetime

    from ojs_aws.domain.envelope import Job
    from ojs_aws.domain.errors import JsonValue

app = typer.Typer(
    name="dead-letter", no_args_is_help=True, help="Show dead letters; retry or delete them."
)

ErrorType = Annotated[str, typer.Option(help="Only jobs whose latest error was of this type.")]
Ids = Annotated[list[str] | None, typer.Argument(help="Ids; leave out to use a filter.")]
All = Annotated[bool, typer.Option("--all", help="All dead letters.")]


@command(app, "list", epilog="Example: ojs-aws dead-letter list --error-type ConnectionError")
async def list_dead_letters(
    session: Session,
    queue: Queue = "",
    type: Type = "",
    error_type: ErrorType = "",
    since: Since = "",
    until: Until = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many jobs to show.")] = 20,
) -> None:
    """List the dead letters, newest first within a queue. Times are when they ended."""
    jobs: list[Job] = []
    cursor, total = "", 0
    while True:
        page = await session.client.dead_letter.list(
            queue=queue,
            type=type,
            error_type=error_type,
            since=moment(since),
            until=moment(until),
            limit=min(200, limit - len(jobs)),
            cursor=cursor,
        )
        total = total or page.total
        jobs += page.jobs
        cursor = page.cursor
        if not cursor or len(jobs) >= limit:
            break
    shown: list[dict[str, JsonValue]] = [{name: job[name] for name in job} for job in jobs]
    session.out.table(
        {"jobs": shown, "total": total},
        ("Id", "Type", "Queue", "Attempts", "Discarded", "Error"),
        [
            (
                job.get("id"),
                job.get("type"),
                job.get("queue"),
                job.get("attempt"),
                job.get("discarded_at"),
                error_text(job),
            )
            for job in shown
        ],
        nothing="No dead letters.",
    )


@command(app, "show", epilog="Example: ojs-aws dead-letter show ID")
async def show_dead_letter(
    session: Session, job_id: Annotated[str, typer.Argument(help="Id of the job.")]
) -> None:
    """Show a dead letter with all its errors."""
    job = await session.client.dead_letter.get(job_id)
    members = {name: job[name] for name in job}
    session.out.fields(members, members.items())


@command(app, "stats", epilog="Example: ojs-aws dead-letter stats")
async def dead_letter_stats(session: Session) -> None:
    """Count the dead letters by queue and by error."""
    stats = await session.client.dead_letter.stats()
    session.out.fields({**stats}, flat(stats))


@command(
    app,
    "retry",
    epilog='Examples:\n\nojs-aws dead-letter retry ID --override \'{"queue": "slow"}\''
    "\n\nojs-aws dead-letter retry --error-type ConnectionError",
)
async def retry_dead_letters(
    session: Session,
    ids: Ids = None,
    queue: Queue = "",
    type: Type = "",
    error_type: ErrorType = "",
    since: Since = "",
    until: Until = "",
    every: All = False,
    override: Annotated[
        str, typer.Option(help="For ids: changes of the envelope, a JSON object.")
    ] = "",
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Enqueue dead letters again: attempt 0, the old errors kept apart."""
    changes = json_of(override, "--override") if override else {}
    if ids:
        for job_id in ids:
            job = await session.client.dead_letter.retry(
                job_id, changes if isinstance(changes, dict) else None
            )
            session.out.said(f"{job.id} is {job.state}.", {"id": job.id, "state": str(job.state)})
        return
    wanted = _Chosen(queue, type, error_type, moment(since), moment(until))
    await _many(session, "retry", wanted, every=every, is_dry=dry_run, is_sure=yes)


@command(app, "delete", epilog="Example: ojs-aws dead-letter delete --until P30D --yes")
async def delete_dead_letters(
    session: Session,
    ids: Ids = None,
    queue: Queue = "",
    type: Type = "",
    error_type: ErrorType = "",
    since: Since = "",
    until: Until = "",
    every: All = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Remove dead letters for good."""
    if ids:
        session.confirm(f"Delete {len(ids)} jobs for good?", is_sure=yes)
        for job_id in ids:
            await session.client.dead_letter.delete(job_id)
            session.out.said(f"{job_id} is deleted.", {"id": job_id, "deleted": True})
        return
    wanted = _Chosen(queue, type, error_type, moment(since), moment(until))
    await _many(session, "delete", wanted, every=every, is_dry=dry_run, is_sure=yes)


class _Chosen:
    """Selects dead letters, as the client's methods take them."""

    def __init__(
        self,
        queue: str,
        type_: str,
        error_type: str,
        since: datetime | None,
        until: datetime | None,
    ) -> None:
        self.queue, self.type, self.error_type = queue, type_, error_type
        self.since, self.until = since, until

    @property
    def is_empty(self) -> bool:
        return not any((self.queue, self.type, self.error_type, self.since, self.until))


async def _many(
    session: Session,
    action: Literal["retry", "delete"],
    wanted: _Chosen,
    *,
    every: bool,
    is_dry: bool,
    is_sure: bool,
) -> None:
    """Change all that match, a hundred at a time, after asking.

    :raises typer.Exit: USAGE where none are meant, FAILED where some could not be changed.
    """
    if wanted.is_empty and not every:
        session.out.problem("Which dead letters?", "Name ids, a filter, or --all.")
        raise typer.Exit(ExitCode.USAGE)
    total = await _count(session, wanted)
    if is_dry or not total:
        session.out.said(
            f"{total} dead letters match; nothing was changed.",
            {"action": action, "dry_run": is_dry, "matched": total},
        )
        return
    session.confirm(f"{action.capitalize()} {total} dead letters?", is_sure=is_sure)
    letters = session.client.dead_letter
    change = letters.retry_many if action == "retry" else letters.delete_many
    done, failed, cursor = 0, 0, ""
    with session.out.progress(f"{action} ...", total) as step:
        while True:
            part = await change(
                queue=wanted.queue,
                type=wanted.type,
                error_type=wanted.error_type,
                since=wanted.since,
                until=wanted.until,
                cursor=cursor,
            )
            done, failed = done + part.done, failed + len(part.outcomes) - part.done
            step(len(part.outcomes))
            cursor = part.cursor
            if not cursor:
                break
    session.out.said(
        f"{action}: {done} done, {failed} not.",
        {"action": action, "succeeded": done, "failed": failed},
    )
    if failed:
        raise typer.Exit(ExitCode.FAILED)


async def _count(session: Session, wanted: _Chosen) -> int:
    found, cursor = 0, ""
    while True:
        page = await session.client.dead_letter.list(
            queue=wanted.queue,
            type=wanted.type,
            error_type=wanted.error_type,
            since=wanted.since,
            until=wanted.until,
            limit=200,
            cursor=cursor,
        )
        found += len(page.jobs)
        cursor = page.cursor
        if not cursor:
            return found
