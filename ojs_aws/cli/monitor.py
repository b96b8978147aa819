"""Implements ``ojs-aws monitor``: queues, workers and failures, live at the terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ojs_aws.cli.job_views import error_text
from ojs_aws.cli.options import age_text
from ojs_aws.cli.session import Session, command

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from ojs_aws.client.areas.workers import WorkerEntry
    from ojs_aws.domain.errors import JsonValue

SHOWN: Final = 10
"""Rows of each table."""

_STATES: Final = ("available", "active", "scheduled", "retryable", "discarded")


def register(app: typer.Typer) -> None:
    """Add the command to the root."""
    epilog = "Examples:\n\nojs-aws monitor\n\nojs-aws monitor --once --json"
    command(app, "monitor", epilog=epilog)(monitor)


async def monitor(
    session: Session,
    every_s: Annotated[float, typer.Option(min=1, help="Seconds between two refreshes.")] = 5.0,
    once: Annotated[bool, typer.Option("--once", help="Show it once, and end.")] = False,
) -> None:
    """Show queues, workers and the latest failures, and keep them up to date; end with Ctrl-C.

    A refresh costs a few calls, whatever the number of jobs and queues.
    """
    if session.out.as_json or once:
        await _once(session)
        return
    from rich.live import Live

    with Live(console=session.out.console(), screen=True, auto_refresh=False) as live:
        while True:
            live.update(_screen(*await _look(session)), refresh=True)
            await asyncio.sleep(every_s)


async def _once(session: Session) -> None:
    overview, workers, failures = await _look(session)
    if session.out.as_json:
        session.out.json(
            {
                **overview,
                "workers": [{**each.described} for each in workers],
                "failures": [{**each} for each in failures],
            }
        )
    else:
        session.out.console().print(_screen(overview, workers, failures))


async def _look(
    session: Session,
) -> tuple[Mapping[str, JsonValue], Sequence[WorkerEntry], Sequence[Mapping[str, JsonValue]]]:
    """Read the numbers, some workers, and the failed attempts among the latest events."""
    client = session.client
    overview = await client.system.overview()
    workers = (await client.workers.list(limit=SHOWN)).workers
    failures = await client.events.read(types=["job.failed"], limit=SHOWN)
    return overview, workers, failures.events[::-1]


def _screen(
    overview: Mapping[str, JsonValue],
    workers: Sequence[WorkerEntry],
    failures: Sequence[Mapping[str, JsonValue]],
) -> Group:
    """Return what the screen shows."""
    from rich.console import Group

    queues = overview.get("queues")
    rows = [each for each in queues if isinstance(each, dict)] if isinstance(queues, list) else []
    return Group(
        "\n".join(_summary(overview)),
        _table("Queues", ("Name", *_STATES, "done/min", "failed/min"), map(_queue_row, rows)),
        _table("Workers", ("Id", "State", "Jobs", "Last heartbeat"), map(_worker_row, workers)),
        _table(
            "Latest failures", ("Id", "When", "Type", "Queue", "Error"), map(_failure_row, failures)
        ),
    )


def _summary(overview: Mapping[str, JsonValue]) -> Iterator[str]:
    totals = _object(overview.get("totals"))
    jobs, rate = _object(totals.get("jobs")), _object(totals.get("throughput"))
    yield "   ".join(f"{state} {jobs.get(state, 0)}" for state in _STATES)
    yield (
        f"{rate.get('processed_per_minute')} done and {rate.get('failed_per_minute')} failed a "
        f"minute   {totals.get('workers')} workers   {totals.get('queues')} queues, "
        f"{totals.get('queues_paused')} paused   as of {totals.get('computed_at')}"
    )
    sweep = _object(overview.get("sweep"))
    if sweep.get("status") == "late":
        yield f"The sweep is late: it last ended {age_text(sweep.get('last_run_at'))} ago."


def _object(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _queue_row(queue: Mapping[str, JsonValue]) -> Sequence[object]:
    counts, rate = _object(queue.get("counts")), _object(queue.get("throughput"))
    paused = " (paused)" if queue.get("paused") else ""
    done, failed = rate.get("processed_per_minute"), rate.get("failed_per_minute")
    return (f"{queue.get('name')}{paused}", *(counts.get(s, 0) for s in _STATES), done, failed)


def _worker_row(worker: WorkerEntry) -> Sequence[object]:
    beat = worker.described.get("last_heartbeat_at")
    return worker.id, worker.state, worker.described.get("active_jobs"), f"{age_text(beat)} ago"


def _failure_row(event: Mapping[str, JsonValue]) -> Sequence[object]:
    data = _object(event.get("data"))
    when = f"{age_text(event.get('time'))} ago"
    return event.get("subject"), when, data.get("job_type"), data.get("queue"), error_text(data)


def _table(title: str, columns: Sequence[str], rows: Iterator[Sequence[object]]) -> Table | str:
    """Return a table of one-line rows."""
    from ojs_aws.cli.output import drawn

    shown = [row for row, _ in zip(rows, range(SHOWN), strict=False)]
    return drawn(columns, shown, title=f"\n{title}") if shown else f"\n{title}\nnone"
