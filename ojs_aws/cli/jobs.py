"""Implements ``ojs-aws jobs``: find, show, retry, cancel and delete jobs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ojs_aws.cli.options import DryRun, JobId, Yes, moment
from ojs_aws.cli.session import ExitCode, Session, command, listed, misuse

if TYPE_CHECKING:
    from ojs_aws.client.areas.jobs import BulkAction, JobEntry, JobFilter
    from ojs_aws.domain.errors import JsonValue

app = typer.Typer(
    name="jobs",
    no_args_is_help=True,
    help="Find jobs, read their history, and retry, cancel or delete them, one or many.",
)

MAX_NAMED: Final = 20

Queue = Annotated[str, typer.Option("--queue", "-q", help="Only jobs of this queue.")]
Type = Annotated[
    str, typer.Option("--type", "-t", help="Only this job type, or all with a prefix: 'mail.*'.")
]
Since = Annotated[
    str, typer.Option(help="Created since an RFC 3339 time, or in the last 2h, 30m, P1D.")
]
Until = Annotated[str, typer.Option(help="Created before this time; the same forms.")]
Ids = Annotated[list[str] | None, typer.Argument(help="Ids of jobs; leave out to use a filter.")]


@dataclass(frozen=True, slots=True)
class ChosenJobs:
    """Selects the jobs that a command is for."""

    queue: Queue = ""
    state: Annotated[
        list[str] | None, typer.Option("--state", "-s", help="Only jobs in this state; repeatable.")
    ] = None
    type: Type = ""
    since: Since = ""
    until: Until = ""

    @property
    def chosen(self) -> JobFilter:
        """Return the filter as the client's methods take it; empty if no option was given."""
        named: JobFilter = {"queue": self.queue, "states": self.state or [], "type": self.type}
        named |= {"since": moment(self.since), "until": moment(self.until)}
        return named if any(named.values()) else {}


@dataclass(frozen=True, slots=True)
class Consent:
    """Says whether many jobs may be changed."""

    dry_run: DryRun = False
    yes: Yes = False

    def agrees(self, session: Session, action: str, total: int, what: str) -> bool:
        """Return whether so many are to be changed, after asking; say so if nothing is changed.

        :raises typer.Exit: nobody can be asked, or the answer is no.
        """
        if self.dry_run or not total:
            would: dict[str, JsonValue] = {"dry_run": self.dry_run, "matched": total}
            text = f"{total} {what} match; nothing was changed."
            session.out.said(text, {"action": action, **would})
            return False
        session.confirm(f"{action.capitalize()} {total} {what}?", is_sure=self.yes)
        return True


@command(
    app,
    "list",
    epilog="Example: ojs-aws jobs list --queue billing --state discarded --since 2h",
)
async def list_jobs(
    session: Session,
    wanted: ChosenJobs,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many jobs to show.")] = 20,
    oldest_first: Annotated[
        bool, typer.Option("--oldest-first", help="Reverse the order within each list.")
    ] = False,
) -> None:
    """List or search jobs, queue by queue and state by state, newest first in each.

    A search by queue and state is fast. A type or a time is compared job by job, so a search for a
    few among very many jobs takes a while.
    """
    chosen = wanted.chosen
    entries, read = await listed(
        limit,
        lambda most, cursor: session.client.jobs.list(
            oldest_first=oldest_first, limit=most, cursor=cursor, **chosen
        ),
        lambda page: page.jobs,
    )
    jobs, total, is_exact = [each.described for each in entries], read[0].total, read[0].is_exact
    session.out.items(
        {"jobs": [{**job} for job in jobs], "total": total, "total_is_exact": is_exact},
        {
            "Id": "id",
            "Type": "type",
            "Queue": "queue",
            "State": "state",
            "Attempt": lambda job: f"{job.get('attempt')}/{job.get('max_attempts')}",
            "Created": "created_at",
            "Error": error_text,
        },
        jobs,
        nothing="No such jobs.",
    )
    if read[-1].cursor:
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
    job_id: JobId,
    events: Annotated[
        bool, typer.Option("--events", help="Show the job's events from the log, too.")
    ] = False,
) -> None:
    """Show a whole job, and what happened to it."""
    detail = await session.client.jobs.detail(job_id, events=events)
    if session.out.as_json:
        session.out.json({**detail})
        return
    session.out.fields(detail, hidden={"history", "events", "errors", "specversion"})
    history = detail.get("history")
    session.out.items(
        history,
        {"When": "at", "What": "what", "Attempt": "attempt", "Error": error_text},
        [each for each in history if isinstance(each, dict)] if isinstance(history, list) else [],
        title="\nHistory",
    )
    told = detail.get("events")
    items = told.get("items") if isinstance(told, dict) else None
    if isinstance(items, list):
        shown = [each for each in items if isinstance(each, dict)]
        columns = {"When": "time", "Event": "type"}
        session.out.items(items, columns, shown, title="\nEvents", nothing="No events.")


def register(app: typer.Typer) -> None:
    """Add the command that stands for itself."""
    command(app, "why", epilog="Example: ojs-aws why 019539a4-b68c-7def-8000-1a2b3c4d5e6f")(why)


async def why(session: Session, job_id: JobId) -> None:
    """Say why a job does not run: what holds it back, and when that ends."""
    found = await session.client.jobs.why(job_id)
    lines = [f"The job is {found.state}."]
    for each in found.reasons:
        lines.append(f"- {each.message} ({each.code})")
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


# ------------------------------------------------------------------------------------- changing
@command(
    app,
    "retry",
    epilog="Examples:\n\nojs-aws jobs retry ID\n\nojs-aws jobs retry -q billing -t 'invoice.*' "
    "--since 2h --dry-run",
)
async def retry_jobs(
    session: Session, wanted: ChosenJobs, consent: Consent, ids: Ids = None
) -> None:
    """Make discarded jobs available again, with attempt 0; their old errors stay readable."""
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
    """Cancel jobs that have not ended. Workers of active jobs learn it at their next heartbeat."""
    await _change(session, "cancel", ids, wanted.chosen, consent)


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
    if ids:
        await _change_named(session, jobs.cancel if action == "cancel" else jobs.retry, ids)
        return
    if not chosen:
        hint = "Name ids, or a filter: --queue, --state, --type, --since, --until."
        raise misuse(session.out, "Which jobs?", hint)
    counts = jobs.change_all(action, dry_run=True, **chosen)
    total = sum([part.matched async for part in counts])
    if not consent.agrees(session, action, total, "jobs"):
        return
    done, failed = 0, list[tuple[str, str]]()
    with session.out.progress(f"{action} ...", total) as step:
        async for part in jobs.change_all(action, **chosen):
            done += len(part.succeeded)
            failed += [(each.job_id, each.reason or each.status) for each in part.failed]
            step(part.matched)
    names: list[JsonValue] = [{"job_id": each, "error": why} for each, why in failed[:MAX_NAMED]]
    session.out.said(
        f"{_PAST[action]} {done} jobs."
        + "".join(f"\n  {each}: {why}" for each, why in failed[:MAX_NAMED]),
        {"action": action, "succeeded": done, "failed": len(failed), "errors": names},
    )
    if failed:
        raise typer.Exit(ExitCode.FAILED)


_PAST: Final[dict[str, str]] = {"retry": "Retried", "cancel": "Cancelled", "delete": "Deleted"}


async def _change_named(
    session: Session, change: Callable[[str], Awaitable[JobEntry]], ids: list[str]
) -> None:
    """Change each of the named jobs; stop at the first error."""
    for job_id in ids:
        entry = await change(job_id)
        session.out.said(f"{entry.id} is {entry.state}.", {"id": entry.id, "state": entry.state})
