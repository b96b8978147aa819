"""Implements ``ojs-aws cron``: jobs that repeat by a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from ojs_aws.cli.terminal.options import Yes, arguments_of
from ojs_aws.cli.terminal.session import Session, command
from ojs_aws.cli.terminal.tables import when_text

if TYPE_CHECKING:
    from ojs_aws.client.areas.cron import CronJob

app = typer.Typer(name="cron", no_args_is_help=True, help="Show and change cron jobs.")

Name = Annotated[str, typer.Argument(help="Name of the cron job.")]


@command(app, "list", epilog="Example: ojs-aws cron list")
async def list_crons(session: Session) -> None:
    """List the cron jobs, and when each runs next."""
    entries = await session.client.cron.list()
    session.out.items(
        {"cron": [{**each.attributes} for each in entries]},
        {
            "Name": "name",
            "Schedule": "cron",
            "Zone": "timezone",
            "Type": "type",
            "Enabled": "enabled",
            "Next run": lambda each: when_text(each.next_run_at),
            "Last run": lambda each: when_text(each.last_run_at),
            "Runs": "run_count",
        },
        entries,
        least=("Runs", "Last run", "Enabled"),
        nothing="No cron jobs.",
    )


@command(app, "show", epilog="Example: ojs-aws cron show nightly-report")
async def show_cron(session: Session, name: Name) -> None:
    """Show a cron job, and when it runs next."""
    _shown(session, await session.client.cron.get(name))


@command(
    app,
    "register",
    epilog="Example: ojs-aws cron register nightly '0 3 * * *' report.make '[\"daily\"]' "
    "--timezone Europe/Vienna",
)
async def register_cron(
    session: Session,
    name: Name,
    schedule: Annotated[str, typer.Argument(help="Such as '0 9 * * MON-FRI' or '@every 30m'.")],
    type: Annotated[str, typer.Argument(help="Type of the job.")],
    args: Annotated[str, typer.Argument(help="Arguments of the job, a JSON array.")] = "[]",
    queue: Annotated[str, typer.Option("--queue", "-q", help="Queue of the job.")] = "default",
    timezone: Annotated[str, typer.Option(help="Timezone as an IANA name.")] = "UTC",
    overlap: Annotated[
        str,
        typer.Option(help="If the last run is active: skip, allow, cancel_previous, enqueue."),
    ] = "skip",
    description: Annotated[str, typer.Option(help="Description for people.")] = "",
) -> None:
    """Register a cron job, or change the one with this name."""
    from typing import cast

    from ojs_aws.domain.cron import OverlapPolicy
    from ojs_aws.domain.envelope import Job

    entry = await session.client.cron.register(
        name,
        schedule,
        Job(type, arguments_of(args), queue=queue),
        timezone=timezone,
        overlap_policy=cast("OverlapPolicy", overlap),  # the server refuses others by name
        description=description or None,
    )
    _shown(session, entry)


@command(app, "pause", epilog="Example: ojs-aws cron pause nightly")
async def pause_cron(session: Session, name: Name) -> None:
    """Disable a cron job; occurrences that it misses do not run later."""
    _shown(session, await session.client.cron.pause(name))


@command(app, "resume", epilog="Example: ojs-aws cron resume nightly")
async def resume_cron(session: Session, name: Name) -> None:
    """Enable a cron job."""
    _shown(session, await session.client.cron.resume(name))


@command(app, "trigger", epilog="Example: ojs-aws cron trigger nightly")
async def trigger_cron(session: Session, name: Name) -> None:
    """Run a cron job now; its overlap policy applies."""
    done = await session.client.cron.trigger(name)
    text = done.job_id or f"Not run: {done.reason}."
    session.out.said(text, {"job_id": done.job_id, "reason": done.reason})


@command(app, "delete", epilog="Example: ojs-aws cron delete nightly")
async def delete_cron(
    session: Session,
    name: Name,
    yes: Yes = False,
) -> None:
    """Remove a cron job; jobs that it has enqueued stay."""
    if not yes:
        await session.client.cron.get(name)  # said before anybody is asked
    session.confirm(f"Remove the cron job {name}?", is_sure=yes)
    await session.client.cron.delete(name)
    session.out.said(f"{name} is removed.", {"name": name, "deleted": True})


_REPEATED: Final = {"cron", "expression", "job_template", "cron_job"}
"""Members that ``schedule`` and the fields of the job say, too."""


def _shown(session: Session, entry: CronJob) -> None:
    lines = {"next_runs": "\n".join(entry.next_runs)}
    pairs = {**entry.attributes, **lines}.items()
    session.out.fields(entry.attributes, pairs, hidden=_REPEATED)
