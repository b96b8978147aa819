"""Implements ``ojs-aws dead-letter``: jobs that failed for good and were kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from ojs_aws.cli.jobs.chosen import Consent, Queue, Since, Type, Until
from ojs_aws.cli.jobs.reports import (
    left_text,
    more_text,
    outcome_members,
    show_job_with_failures,
    total_members,
)
from ojs_aws.cli.jobs.views import error_text
from ojs_aws.cli.terminal.options import JobId, json_of, moment
from ojs_aws.cli.terminal.output import flat
from ojs_aws.cli.terminal.queue_names import say_if_unknown
from ojs_aws.cli.terminal.session import (
    Done,
    ExitCode,
    Session,
    command,
    each_named,
    listed,
    misuse,
    pages,
)
from ojs_aws.cli.terminal.tables import counted, when_text

if TYPE_CHECKING:
    from ojs_aws.client.areas.dead_letters import DeadLetterFilter
    from ojs_aws.domain.errors import JsonValue

app = typer.Typer(
    name="dead-letter", no_args_is_help=True, help="Show dead letters; retry or delete them."
)

MAX_DRY: Final = 1000
"""Dead letters that one dry run counts."""

Ids = Annotated[list[str] | None, typer.Argument(help="Ids; leave out to use a filter.")]
All = Annotated[bool, typer.Option("--all", help="All dead letters.")]


@dataclass(frozen=True, slots=True)
class ChosenDeadLetters:
    """Selects the dead letters that a command is for."""

    queue: Queue = ""
    type: Type = ""
    error_type: Annotated[
        str, typer.Option(help="Only jobs whose latest error was of this type.")
    ] = ""
    since: Since = ""
    until: Until = ""

    @property
    def chosen(self) -> DeadLetterFilter:
        """Return the filter as the client's methods take it; empty if no option was given."""
        named: DeadLetterFilter = {"queue": self.queue, "type": self.type}
        named |= {"error_type": self.error_type}
        named |= {"since": moment(self.since), "until": moment(self.until)}
        return named if any(named.values()) else {}


@command(app, "list", epilog="Example: ojs-aws dead-letter list --error-type ConnectionError")
async def list_dead_letters(
    session: Session,
    wanted: ChosenDeadLetters,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many jobs to show.")] = 20,
) -> None:
    """List the dead letters and when each ended, newest first within a queue."""
    chosen = wanted.chosen
    jobs, read = await listed(
        limit,
        lambda most, cursor: session.client.dead_letter.list(limit=most, cursor=cursor, **chosen),
        lambda page: page.jobs,
    )
    shown: list[dict[str, JsonValue]] = [{name: job[name] for name in job} for job in jobs]
    session.out.items(
        {"jobs": shown, **total_members(len(shown), read)},
        {
            "Id": "id",
            "Type": "type",
            "Queue": "queue",
            "Tries": "attempt",
            "Discarded": lambda job: when_text(job.get("discarded_at")),
            "Error": error_text,
        },
        shown,
        nothing="No dead letters.",
        least=("Tries", "Queue"),
    )
    if text := more_text("dead letter", len(shown), read):
        session.out.hint(text)
    if not shown:
        await say_if_unknown(session, wanted.queue)


@command(app, "show", epilog="Example: ojs-aws dead-letter show ID")
async def show_dead_letter(session: Session, job_id: JobId) -> None:
    """Show a dead letter, and its failed attempts, the last with a traceback."""
    job = await session.client.dead_letter.get(job_id)
    show_job_with_failures(session.out, {name: job[name] for name in job})


@command(app, "stats", epilog="Example: ojs-aws dead-letter stats")
async def dead_letter_stats(session: Session) -> None:
    """Count the dead letters by queue and by error."""
    stats = await session.client.dead_letter.stats()
    session.out.fields(stats, flat(stats))


@command(
    app,
    "retry",
    epilog='Examples:\n\nojs-aws dead-letter retry ID --override \'{"queue": "slow"}\''
    "\n\nojs-aws dead-letter retry --error-type ConnectionError",
)
async def retry_dead_letters(
    session: Session,
    wanted: ChosenDeadLetters,
    *,
    ids: Ids = None,
    every: All = False,
    override: Annotated[
        str, typer.Option(help="With ids: a JSON object of changes to the envelope.")
    ] = "",
    consent: Consent,
) -> None:
    """Enqueue dead letters again, with attempt 0; their old errors stay readable."""
    changes = json_of(override, "--override") if override else {}
    consent.check_named(session, ids)
    if not isinstance(changes, dict) or (changes and not ids):
        raise misuse(session.out, "--override takes a JSON object, and ids of dead letters.")
    if ids:

        async def retry_one(job_id: str) -> Done:
            job = await session.client.dead_letter.retry(job_id, changes)
            return f"{job.id} is {job.state}.", {"id": job.id, "state": str(job.state)}

        await each_named(session.out, ids, retry_one)
        return
    await _many(session, "retry", wanted.chosen, consent, every=every)


@command(app, "delete", epilog="Example: ojs-aws dead-letter delete --until P30D --yes")
async def delete_dead_letters(
    session: Session,
    wanted: ChosenDeadLetters,
    *,
    ids: Ids = None,
    every: All = False,
    consent: Consent,
) -> None:
    """Remove dead letters for good."""
    consent.check_named(session, ids)
    if ids:
        session.confirm(f"Delete {counted(len(ids), 'job')} for good?", is_sure=consent.yes)

        async def delete_one(job_id: str) -> Done:
            await session.client.dead_letter.delete(job_id)
            return f"{job_id} is deleted.", {"id": job_id, "deleted": True}

        await each_named(session.out, ids, delete_one)
        return
    await _many(session, "delete", wanted.chosen, consent, every=every)


async def _many(
    session: Session,
    action: Literal["retry", "delete"],
    chosen: DeadLetterFilter,
    consent: Consent,
    *,
    every: bool,
) -> None:
    """Change all that match, a hundred at a time, after asking.

    :raises typer.Exit: USAGE where none are meant, FAILED where some could not be changed.
    """
    if not chosen and not every:
        raise misuse(session.out, "Which dead letters?", "Name ids, a filter, or --all.")
    letters = session.client.dead_letter
    change = letters.retry_many if action == "retry" else letters.delete_many
    total, part = 0, None
    while part is None or part.cursor:
        cursor, as_of = (part.cursor, part.as_of) if part else ("", "")
        part = await change(dry_run=True, limit=MAX_DRY, cursor=cursor, as_of=as_of, **chosen)
        total += part.matched
    as_of = part.as_of
    if not consent.agrees(session, action, total, "dead letter"):
        if not total:
            await say_if_unknown(session, chosen.get("queue", ""))
        return
    done, failed = 0, list[tuple[str, str]]()
    with session.out.progress(f"{action} ...", total) as step:
        async for part in pages(lambda cursor: change(cursor=cursor, as_of=as_of, **chosen)):
            done += part.done
            left = (each for each in part.outcomes if each.status != "done")
            failed += [(each.job_id, each.reason or each.status) for each in left]
            step(len(part.outcomes))
    session.out.said(
        f"{action}: {done} done, {len(failed)} not."
        + left_text(failed, "dead letter", total - done - len(failed)),
        outcome_members(action, done, failed),
    )
    if failed:
        raise typer.Exit(ExitCode.FAILED)
