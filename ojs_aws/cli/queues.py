"""Implements ``ojs-aws queues``: show, pause, resume and purge queues."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ojs_aws.cli.terminal.options import DryRun, Yes, moment, pair_of
from ojs_aws.cli.terminal.output import Columns
from ojs_aws.cli.terminal.queue_names import all_queues, known_queue
from ojs_aws.cli.terminal.session import Session, command, misuse, pages
from ojs_aws.cli.terminal.tables import age_text, counted, rates_of, spread_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from ojs_aws.client.areas.entries import QueueDetail, QueueNumbers
    from ojs_aws.domain.errors import JsonValue

app = typer.Typer(
    name="queues", no_args_is_help=True, help="Show, configure, pause, resume and purge queues."
)

Name = Annotated[str, typer.Argument(help="Name of the queue.")]
NameOrAll = Annotated[str, typer.Argument(help="Name of the queue; leave out with --all.")]
All = Annotated[bool, typer.Option("--all", help="All queues.")]

_COUNTS = ("available", "active", "scheduled", "retryable", "completed", "discarded")


@command(app, "list", epilog="Example: ojs-aws queues list --counts")
async def list_queues(
    session: Session,
    counts: Annotated[bool, typer.Option("--counts", help="Count the queues' jobs, too.")] = False,
) -> None:
    """List the queues; with --counts, how many jobs each has (nine queries per queue)."""
    entries = await session.client.queues.list()
    state: Columns = {"Name": "name", "State": lambda each: "paused" if each.paused else "active"}
    if not counts:
        shown = [{**entry.described} for entry in entries]
        columns = {**state, "Paused at": "paused_at"}
        session.out.items({"queues": shown}, columns, entries, nothing="No queues.")
        return
    numbers = [await session.client.queues.stats(entry.name) for entry in entries]
    session.out.items(
        {"queues": [{**each.described} for each in numbers]},
        {**state, **{name.capitalize(): partial(_count, name) for name in _COUNTS}},
        numbers,
        least=("Completed", "Scheduled"),
    )


def _count(name: str, numbers: QueueNumbers) -> str:
    return _counted(name, getattr(numbers, name), numbers.estimated)


def _counted(state: str, number: object, estimated: Sequence[str]) -> str:
    """Return a number of jobs; of completed jobs there may be fewer, of others more."""
    sign = "~" if state == "completed" else "≥"
    return f"{sign}{number}" if state in estimated else str(number)


@command(app, "show", epilog="Example: ojs-aws queues show email")
async def show_queue(session: Session, name: Name) -> None:
    """Show what a queue holds, how long its jobs wait, and what it did in the last hour."""
    numbers = await session.client.queues.stats(name)
    queue = await session.client.queues.get(name)
    oldest = queue.oldest_available_at
    completed, failed = rates_of(queue.throughput)
    jobs = {state: _counted(state, n, queue.estimated) for state, n in queue.counts.items()}
    pairs: dict[str, object] = {
        "state": queue.state,
        **jobs,
        "depth": queue.depth,
        "oldest available": f"{age_text(oldest)} ago" if oldest else "none waits",
        "enqueued per minute, last hour": queue.throughput.get("enqueued_per_minute"),
        "completed per minute, last hour": completed,
        "failed attempts per minute, last hour": failed,
        "time to empty": _time_to_empty(queue),
        "waited: p50, p95, p99": spread_text(queue.described.get("latency_ms")),
        "ran: p50, p95, p99": spread_text(queue.described.get("duration_ms")),
    }
    session.out.fields({**numbers.described, **queue.described}, pairs.items(), title=name)


def _time_to_empty(queue: QueueDetail) -> str:
    """Say how long the rates of the last hour take to empty a queue."""
    from ojs_aws.domain.timestamps import span_text

    waiting = _number(queue.counts.get("available"))
    ended = _number(queue.throughput.get("processed_per_minute"))
    faster = ended - _number(queue.throughput.get("enqueued_per_minute"))
    if not waiting:
        return "nothing waits"
    if faster <= 0:
        return "it does not shrink at the rates of the last hour"
    return span_text(round(waiting / faster * 60_000))


def _number(value: JsonValue) -> float:
    return value if isinstance(value, int | float) else 0.0


@command(
    app, "pause", epilog="Examples:\n\nojs-aws queues pause email\n\nojs-aws queues pause --all"
)
async def pause_queue(session: Session, name: NameOrAll = "", every: All = False) -> None:
    """Stop fetches from a queue. Jobs may still be enqueued; active ones continue."""
    for each in await _names(session, name, every=every):
        entry = await session.client.queues.pause(each)
        session.out.said(f"{each} is paused since {entry.paused_at}.", {**entry.described})


@command(app, "resume", epilog="Example: ojs-aws queues resume email")
async def resume_queue(session: Session, name: NameOrAll = "", every: All = False) -> None:
    """Let workers fetch from a queue again."""
    for each in await _names(session, name, every=every):
        entry = await session.client.queues.resume(each)
        session.out.said(f"{each} runs.", {**entry.described})


async def _names(session: Session, name: str, *, every: bool) -> list[str]:
    """Yield the queues that are meant.

    :raises typer.Exit: with USAGE where that is not clear.
    """
    if bool(name) is every:
        raise misuse(session.out, "Name one queue, or say --all.")
    return [await known_queue(session, name)] if name else await all_queues(session)


@command(
    app,
    "purge",
    epilog="Example: ojs-aws queues purge email --state completed --older-than P7D --dry-run",
)
async def purge_queue(
    session: Session,
    name: Name,
    state: Annotated[
        list[str], typer.Option("--state", "-s", help="State of the jobs; repeatable.")
    ],
    older_than: Annotated[
        str, typer.Option(help="Only jobs that ended before: RFC 3339, or how long ago.")
    ] = "",
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Purge a queue: delete ended jobs and cancel the others. Active jobs stay."""
    before = moment(older_than)
    data: dict[str, JsonValue] = {"queue": name}
    if dry_run or not yes:
        deleted, cancelled = await _purge(session, name, state, before, is_dry=True)
        if dry_run:
            data |= {"dry_run": True, "deleted": deleted, "cancelled": cancelled}
            said = f"{counted(deleted, 'job')} would be deleted, {cancelled} cancelled."
            session.out.said(said, data)
            return
        question = f"Delete {deleted} and cancel {cancelled} jobs of queue {name}?"
        session.confirm(question, is_sure=False)
    deleted, cancelled = await _purge(session, name, state, before, is_dry=False)
    data |= {"deleted": deleted, "cancelled": cancelled}
    session.out.said(f"{counted(deleted, 'job')} deleted, {cancelled} cancelled.", data)


async def _purge(
    session: Session, name: str, states: list[str], before: datetime | None, *, is_dry: bool
) -> tuple[int, int]:
    """Purge page by page, or only count how many would be deleted and cancelled."""
    deleted = cancelled = 0
    queues = session.client.queues
    with session.out.progress(f"{'counting' if is_dry else 'purging'} {name} ...", None) as step:
        async for done in pages(
            lambda cursor: queues.purge(
                name, states, older_than=before, dry_run=is_dry, cursor=cursor
            )
        ):
            deleted, cancelled = deleted + done.deleted, cancelled + done.cancelled
            step(done.deleted + done.cancelled)
    return deleted, cancelled


# ------------------------------------------------------------------------------------- settings
Settings = Annotated[
    list[str] | None,
    typer.Argument(help="name=value; the value is JSON or text. Without a value, remove it."),
]


@command(app, "create", epilog="Example: ojs-aws queues create bulk max_size=100000")
async def create_queue(session: Session, name: Name, settings: Settings = None) -> None:
    """Create a queue with its own settings; a queue without settings needs no creation."""
    made = await session.client.queues.create(name, _changes(settings))
    session.out.fields(made.described)


_REPEATED: Final = {"queue", "status", "paused", "configuration"}
"""Members that others say, too."""


@command(app, "settings", epilog="Example: ojs-aws queues settings bulk")
async def queue_settings(session: Session, name: Name) -> None:
    """Show the settings of a queue."""
    found = await session.client.queues.settings(name)
    session.out.fields(found.described, hidden=_REPEATED)


@command(app, "configure", epilog="Example: ojs-aws queues configure bulk max_size=5000 retention=")
async def configure_queue(session: Session, name: Name, settings: Settings = None) -> None:
    """Change the named settings of a queue."""
    found = await session.client.queues.configure(name, _changes(settings))
    session.out.fields(found.described, hidden=_REPEATED)


@command(app, "drain", epilog="Example: ojs-aws queues drain bulk")
async def drain_queue(session: Session, name: Name) -> None:
    """Refuse new jobs; workers finish those in the queue. `queues resume` ends this."""
    found = await session.client.queues.drain(await known_queue(session, name))
    session.out.said(f"{name} takes no new jobs.", {**found.described})


@command(app, "delete", epilog="Example: ojs-aws queues delete bulk --yes")
async def delete_queue(
    session: Session,
    name: Name,
    yes: Yes = False,
) -> None:
    """Delete an empty queue and its settings."""
    if not yes:
        await known_queue(session, name)  # said before anybody is asked
    session.confirm(f"Delete the queue {name}?", is_sure=yes)
    await session.client.queues.delete(name)
    session.out.said(f"{name} is deleted.", {"name": name, "deleted": True})


def _changes(settings: list[str] | None) -> dict[str, JsonValue]:
    """Return the changes in ``name=value`` arguments.

    :raises typer.BadParameter: something else.
    """
    changes: dict[str, JsonValue] = {}
    for each in settings or ():
        name, text = pair_of(each, "expected")
        try:
            changes[name] = json.loads(text) if text else None
        except ValueError:
            changes[name] = text
    return changes
