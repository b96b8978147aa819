"""Implements the part of ``ojs-aws jobs`` that changes jobs, one or many of a filter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ojs_aws.cli.jobs.chosen import ChosenJobs, Consent, Ids
from ojs_aws.cli.jobs.reports import MAX_NAMED, left_text, message_of_job, outcome_members
from ojs_aws.cli.terminal.options import JobId
from ojs_aws.cli.terminal.queue_names import say_if_unknown
from ojs_aws.cli.terminal.session import Done, ExitCode, Session, command, each_named, misuse
from ojs_aws.cli.terminal.tables import counted

if TYPE_CHECKING:
    from ojs_aws.client.areas.entries import JobBulkResult, JobEntry, JobFilter
    from ojs_aws.client.areas.jobs import BulkAction
    from ojs_aws.domain.errors import JsonValue

app = typer.Typer(
    name="jobs",
    no_args_is_help=True,
    help="Find jobs, read their history, and retry, cancel or delete them, one or many.",
)

MAX_BY_ID: Final = 1000
"""Counted jobs that are cancelled by their ids, and not by the filter again."""

ID_STEP: Final = 100


@command(
    app,
    "retry",
    epilog="Examples:\n\nojs-aws jobs retry ID\n\nojs-aws jobs retry -q billing -t 'invoice.*' "
    "--since 2h --dry-run",
)
async def retry_jobs(
    session: Session, wanted: ChosenJobs, consent: Consent, ids: Ids = None
) -> None:
    """Make discarded jobs available again, with attempt 0; their old errors stay readable.

    A retryable job whose id is named is available at once: it keeps its attempt.
    """
    await _change(session, "retry", ids, wanted.chosen, consent)


@command(
    app,
    "cancel",
    epilog="Examples:\n\nojs-aws jobs cancel ID"
    "\n\nojs-aws jobs cancel --queue email --state available",
)
async def cancel_jobs(
    session: Session, wanted: ChosenJobs, consent: Consent, ids: Ids = None
) -> None:
    """Cancel jobs that have not ended, for good: a cancelled job cannot be retried.

    Workers of active jobs are informed at their next heartbeat.
    """
    await _change(session, "cancel", ids, wanted.chosen, consent)


@command(
    app,
    "priority",
    epilog="Example: ojs-aws jobs priority 019539a4-b68c-7def-8000-1a2b3c4d5e6f 50",
)
async def change_priority(
    session: Session,
    job_id: JobId,
    priority: Annotated[int, typer.Argument(help="-100 to 100; the higher runs first.")],
) -> None:
    """Change the priority of a job that waits to begin."""
    entry = await session.client.jobs.reprioritise(job_id, priority)
    members: dict[str, JsonValue] = {"id": entry.id, "state": entry.state, "priority": priority}
    session.out.said(f"{entry.id} has priority {priority}.", members)


@command(
    app,
    "reprioritise",
    epilog="Example: ojs-aws jobs reprioritise 50 --queue billing --type 'invoice.*' --dry-run",
)
async def reprioritise_jobs(
    session: Session,
    wanted: ChosenJobs,
    consent: Consent,
    priority: Annotated[int, typer.Argument(help="-100 to 100; the higher runs first.")],
) -> None:
    """Give many jobs that wait to begin a priority; those that have it already are left out."""
    change = partial(session.client.jobs.reprioritise_all, priority)
    await _change_chosen(session, "reprioritise", change, wanted.chosen, consent)


@command(
    app,
    "delete",
    epilog="Example: ojs-aws jobs delete --queue email --state completed --until P7D --dry-run",
)
async def delete_jobs(session: Session, wanted: ChosenJobs, consent: Consent) -> None:
    """Delete jobs that have ended, for good."""
    await _change(session, "delete", None, wanted.chosen, consent)


async def _change(
    session: Session,
    action: BulkAction,
    ids: list[str] | None,
    chosen: JobFilter,
    consent: Consent,
) -> None:
    """Change the named jobs, or those of a filter after asking.

    :raises typer.Exit: FAILED where some could not be changed, USAGE where none are meant.
    """
    jobs = session.client.jobs
    consent.check_named(session, ids)
    if ids:
        await _change_named(session, jobs.cancel if action == "cancel" else jobs.retry, ids)
        return
    await _change_chosen(session, action, partial(jobs.change_all, action), chosen, consent)


async def _change_chosen(
    session: Session,
    action: str,
    change: Callable[..., AsyncIterator[JobBulkResult]],
    chosen: JobFilter,
    consent: Consent,
) -> None:
    """Change the jobs of a filter after asking: those that a dry run counts, and no others.

    :raises typer.Exit: FAILED where some could not be changed, USAGE where none are meant.
    """
    if not chosen:
        hint = "Name ids, or a filter: --queue, --state, --type, --since, --until, --tag, --error."
        raise misuse(session.out, "Which jobs?", hint)
    counts = list["JobBulkResult"]()
    with session.out.progress("Looking at jobs ...", None) as step:
        async for part in change(dry_run=True, **chosen):
            counts.append(part)
            step(part.examined)
    total = sum(part.matched for part in counts)
    if not consent.agrees(session, action, total, "job"):
        if not total:
            await say_if_unknown(session, chosen.get("queue", ""))
        elif not session.out.as_json:
            await _show_some(session, chosen, total)
        return
    ids = [each for part in counts for each in part.succeeded]
    if action == "cancel" and total <= MAX_BY_ID:
        parts = _cancel_counted(session, ids)
    else:
        parts = change(as_of=counts[0].as_of, **chosen)
    done, failed = 0, list[tuple[str, str]]()
    with session.out.progress(f"{action} ...", total) as step:
        async for part in parts:
            done += len(part.succeeded)
            failed += [(each.job_id, each.reason or each.status) for each in part.failed]
            step(part.matched)
    session.out.said(
        f"{_PAST[action]} {f'{done} of ' * (done < total)}{counted(total, 'job')}."
        + left_text(failed, "job", total - done - len(failed)),
        outcome_members(action, done, failed),
    )
    if failed:
        raise typer.Exit(ExitCode.FAILED)


async def _show_some(session: Session, chosen: JobFilter, total: int) -> None:
    """Show the first jobs of a filter, so that people see whom a change would meet."""
    page = await session.client.jobs.list(limit=MAX_NAMED, **chosen)
    columns: dict[str, str | Callable[[JobEntry], object]] = {
        "Id": "id",
        "Type": "type",
        "Queue": "queue",
        "State": "state",
        "Error": message_of_job,
    }
    more = f" (the first {MAX_NAMED})" if total > MAX_NAMED else ""
    session.out.items({}, columns, page.jobs, title=f"\nThey are{more}", nothing="")


async def _cancel_counted(session: Session, ids: list[str]) -> AsyncIterator[JobBulkResult]:
    """Cancel counted jobs by their ids: they may have begun another attempt since the count."""
    for first in range(0, len(ids), ID_STEP):
        yield await session.client.jobs.change_named("cancel", ids[first : first + ID_STEP])


_PAST: Final[dict[str, str]] = {
    "retry": "Retried",
    "cancel": "Cancelled",
    "delete": "Deleted",
    "reprioritise": "Reprioritised",
}


async def _change_named(
    session: Session, change: Callable[[str], Awaitable[JobEntry]], ids: list[str]
) -> None:
    """Change each of the named jobs, as :func:`each_named` does, and say what became of it."""

    async def change_one(job_id: str) -> Done:
        entry = await change(job_id)
        return f"{entry.id} is {entry.state}.", {"id": entry.id, "state": entry.state}

    await each_named(session.out, ids, change_one)
