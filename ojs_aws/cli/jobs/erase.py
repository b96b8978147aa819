"""Implements ``ojs-aws jobs erase``: deletes all jobs of a tag, whatever state they are in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from ojs_aws.cli.jobs.chosen import Consent
from ojs_aws.cli.jobs.reports import left_text, outcome_members
from ojs_aws.cli.terminal.session import ExitCode, Session, command
from ojs_aws.cli.terminal.tables import counted

if TYPE_CHECKING:
    from ojs_aws.client.areas.entries import JobFilter
    from ojs_aws.client.areas.jobs import BulkAction

STILL_HELD: Final = (
    "Not erased: backups of the table and versions of documents, for 35 days; exported files; what "
    "your handlers logged; and the event log, which has ids and error messages, for 7 days."
)


app = typer.Typer()


@command(app, "erase", epilog="Example: ojs-aws jobs erase --tag customer-42 --dry-run")
async def erase_jobs(
    session: Session,
    consent: Consent,
    tag: Annotated[str, typer.Option(help="The tag that all these jobs have.")],
) -> None:
    """Erase what is stored of all jobs with a tag: those that wait or run are cancelled first.

    Arguments, results, errors and documents go with the jobs, dead letters too. Run it again for
    jobs that were enqueued meanwhile.
    """
    running = await _each(session, "cancel", tag, dry_run=True)
    ended = await _each(session, "delete", tag, dry_run=True)
    total = running[0] + ended[0]
    if not consent.agrees(session, "erase", total, "job"):
        return
    cancelled = await _each(session, "cancel", tag)
    deleted = await _each(session, "delete", tag)
    failed = [*cancelled[1], *deleted[1]]
    session.out.said(
        f"Erased {counted(deleted[0], 'job')}." + left_text(failed, "job", 0),
        outcome_members("erase", deleted[0], failed),
    )
    session.out.hint(STILL_HELD)
    if failed:
        raise typer.Exit(ExitCode.FAILED)


async def _each(
    session: Session, action: BulkAction, tag: str, *, dry_run: bool = False
) -> tuple[int, list[tuple[str, str]]]:
    """Change all jobs of a tag that an action is for; return how many, and which were not."""
    chosen: JobFilter = {"tag": tag}
    done, failed = 0, list[tuple[str, str]]()
    async for part in session.client.jobs.change_all(action, dry_run=dry_run, **chosen):
        done += part.matched if dry_run else len(part.succeeded)
        failed += [(each.job_id, each.reason or each.status) for each in part.failed]
    return done, failed
