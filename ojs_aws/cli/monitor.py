"""Implements ``ojs-aws monitor``: queues, workers and failures, live at the terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ojs_aws.cli.jobs.views import error_text
from ojs_aws.cli.terminal.session import Session, command
from ojs_aws.cli.terminal.tables import (
    NARROW,
    age_text,
    drawn,
    duration_text,
    rates_of,
    spread_text,
    when_text,
)
from ojs_aws.cli.workers import slots_text

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from ojs_aws.client.areas.workers import WorkerEntry
    from ojs_aws.domain.errors import JsonValue

SHOWN: Final = 10
"""Rows of each table."""

ERROR_WIDTH: Final = 30
"""Characters of an error that are worth more than the job's queue and type."""

_STATES: Final = ("available", "active", "scheduled", "retryable", "discarded")

_QUEUE_COLUMNS: Final = (
    *("Name", "avail", "active", "sched", "retry", "disc"),
    *("oldest", "done/min", "fail/min", "wait p95", "run p95"),
)
_LEAST: Final = ("sched", "disc", "run p95", "retry", "fail/min")
"""Columns of queues to leave out in a narrow terminal, the first one first."""


app = typer.Typer()


@command(app, "monitor", epilog="Examples:\n\nojs-aws monitor\n\nojs-aws monitor --once --json")
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
            live.update(_screen(*await _look(session), live.console.width), refresh=True)
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
        console = session.out.console()
        width = 0 if console.soft_wrap else console.width
        console.print(_screen(overview, workers, failures, width))


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
    width: int = 0,
) -> Group:
    """Return what the screen shows."""
    from rich.console import Group
    from rich.text import Text

    queues = overview.get("queues")
    rows = [each for each in queues if isinstance(each, dict)] if isinstance(queues, list) else []
    return Group(
        Text("\n".join(_summary(overview))),
        _table("Queues", _QUEUE_COLUMNS, map(_queue_row, rows), width, _LEAST),
        _table("Workers", ("Id", "State", "Jobs", "Heartbeat"), map(_worker_row, workers), width),
        _table(
            "Latest failures",
            ("Id", "Ago", "Type", "Queue", "Error"),
            map(_failure_row, failures),
            width,
            ("Queue", "Type"),
            ERROR_WIDTH,
        ),
    )


def _summary(overview: Mapping[str, JsonValue]) -> Iterator[str]:
    totals = _object(overview.get("totals"))
    jobs, rate = _object(totals.get("jobs")), _object(totals.get("throughput"))
    yield "   ".join(f"{state} {jobs.get(state, 0)}" for state in _STATES)
    done, failed = rates_of(rate)
    yield f"{done} done and {failed} attempts failed a minute"
    if waits := spread_text(totals.get("latency_ms")):
        runs = spread_text(totals.get("duration_ms"))
        yield f"waits {waits}   runs {runs or '-'}   (p50, p95, p99)"
    if queue := overview.get("oldest_available_queue"):
        yield f"oldest available job: {when_text(overview.get('oldest_available_at'))}, in {queue}"
    yield (
        f"{totals.get('workers')} workers   {totals.get('queues')} queues, "
        f"{totals.get('queues_paused')} paused   as of {str(totals.get('computed_at'))[11:19]} UTC"
    )
    sweep, events = _object(overview.get("sweep")), _object(overview.get("events"))
    if events:
        behind = duration_text(events.get("lag_ms"))
        yield f"last events {when_text(events.get('last_at'))}, {behind} behind"
    if sweep.get("status") == "late":
        yield f"The sweep is late: it last ended {when_text(sweep.get('last_run_at'))}."


def _object(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _queue_row(queue: Mapping[str, JsonValue]) -> Sequence[object]:
    counts, times = _object(queue.get("counts")), ("latency_ms", "duration_ms")
    oldest = queue.get("oldest_available_at")
    return (
        f"{queue.get('name')}{' (paused)' if queue.get('paused') else ''}",
        *(counts.get(state, 0) for state in _STATES),
        age_text(oldest),
        *rates_of(queue.get("throughput")),
        *(duration_text(_object(queue.get(name)).get("p95")) for name in times),
    )


def _worker_row(worker: WorkerEntry) -> Sequence[object]:
    return worker.id, worker.state, slots_text(worker), when_text(worker.last_heartbeat_at)


def _failure_row(event: Mapping[str, JsonValue]) -> Sequence[object]:
    data = _object(event.get("data"))
    when = age_text(event.get("time"))
    return event.get("subject"), when, data.get("job_type"), data.get("queue"), error_text(data)


def _table(
    title: str,
    columns: Sequence[str],
    rows: Iterator[Sequence[object]],
    width: int,
    least: Sequence[str] = (),
    last: int = NARROW,
) -> Table | str:
    """Return a table of one-line rows."""
    shown = [row for row, _ in zip(rows, range(SHOWN), strict=False)]
    if not shown:
        return f"\n{title}\nnone"
    return drawn(columns, shown, title=f"\n{title}", width=width, least=least, last=last).table
