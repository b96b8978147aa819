"""Implements ``ojs-aws outbox``: send the committed jobs of a database, and look after them."""

from __future__ import annotations

import signal
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from ojs_aws.cli.terminal.session import ExitCode

if TYPE_CHECKING:
    from ojs_aws.contrib.outbox.store import OutboxStore
    from ojs_aws.contrib.sqlalchemy.database import EngineDatabase

app = typer.Typer(
    name="outbox",
    no_args_is_help=True,
    help="Send the jobs of an application's outbox, and show or retry those that it parked.",
)

Database = Annotated[
    str,
    typer.Option(
        envvar="OJS_OUTBOX_DATABASE",
        help="URL of the application's database, as SQLAlchemy writes it.",
    ),
]
Table = Annotated[str, typer.Option(envvar="OJS_OUTBOX_TABLE", help="The outbox's table.")]
DEFAULT_TABLE = "ojs_outbox"


@app.command(
    epilog="Example: ojs-aws outbox relay --database postgresql+psycopg://shop@db.internal/shop"
)
def relay(
    database: Database,
    table: Table = DEFAULT_TABLE,
    batch_size: Annotated[int, typer.Option(min=1, help="Rows of one request at most.")] = 100,
    poll: Annotated[float, typer.Option(min=0.05, help="Seconds between looks for rows.")] = 1.0,
    max_attempts: Annotated[
        int, typer.Option(min=1, help="Refusals of one row, after which it is parked.")
    ] = 10,
    retention_days: Annotated[
        float | None,
        typer.Option(min=0.1, help="The backend's shortest retention of ended jobs; default: 7."),
    ] = None,
    listen: Annotated[
        bool, typer.Option(help="Wait by LISTEN; use --no-listen behind a connection pooler.")
    ] = True,
    once: Annotated[
        bool, typer.Option("--once", help="Send what is due now, and end, as cron or Lambda does.")
    ] = False,
) -> None:
    """Send committed jobs until Ctrl-C or SIGTERM; of several relays, one sends.

    OJS_URL and OJS_API_KEY say where to.
    """
    from ojs_aws.client import Client
    from ojs_aws.contrib.outbox.relay import Relay, RelayOptions

    try:
        Client.from_env()
    except ValueError as problem:
        typer.echo(f"ojs-aws outbox: {problem}", err=True)
        raise typer.Exit(ExitCode.USAGE) from None
    made = Relay(
        _database(database),
        RelayOptions(
            table=table,
            batch_size=batch_size,
            poll_s=poll,
            max_attempts=max_attempts,
            job_retention=None if retention_days is None else timedelta(days=retention_days),
            listens=listen,
        ),
    )
    if once:
        done = made.drain()
        made.close()
        typer.echo(f"sent {done.sent}, refused {done.refused}, parked {done.parked}")
        if done.outage:
            typer.echo(f"ojs-aws outbox: the backend takes no rows: {done.outage}", err=True)
            raise typer.Exit(ExitCode.UNREACHABLE)
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: made.stop())
    typer.echo(f"ojs-aws outbox: sending the jobs of {table}; Ctrl-C stops it", err=True)
    made.run()


@app.command(epilog="Example: ojs-aws outbox status --database sqlite:///shop.db")
def status(database: Database, table: Table = DEFAULT_TABLE) -> None:
    """Count the rows, and list those that are parked; exit code 7 if there are any."""
    store = _store(database, table)
    from ojs_aws.contrib.outbox.store import report

    seen = report(store)
    for line in seen.lines:
        typer.echo(line)
    if seen.parked:
        raise typer.Exit(ExitCode.CHECK_FAILED)


@app.command(epilog="Example: ojs-aws outbox retry --all --database sqlite:///shop.db")
def retry(
    database: Database,
    job_ids: Annotated[list[str] | None, typer.Argument(help="Ids of parked jobs.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All parked jobs.")] = False,
    table: Table = DEFAULT_TABLE,
) -> None:
    """Let the relay send parked jobs again. A job that has run and is gone would run again."""
    if every == bool(job_ids):
        typer.echo("ojs-aws outbox: name jobs by their ids, or all of them by --all", err=True)
        raise typer.Exit(ExitCode.USAGE)
    count = _store(database, table).try_again(None if every else job_ids)
    typer.echo(f"{count} rows are to be sent again")


def _store(url: str, table: str) -> OutboxStore:
    from ojs_aws.contrib.outbox.store import OutboxStore

    return OutboxStore(_database(url), table)


def _database(url: str) -> EngineDatabase:
    """Return the database of a URL.

    :raises typer.Exit: the extra is not installed, or no such database can be used.
    """
    try:
        from ojs_aws.contrib.sqlalchemy.database import EngineDatabase

        return EngineDatabase.of_url(url)
    except ModuleNotFoundError as missing:
        typer.echo(
            f"ojs-aws outbox needs {missing.name}: pip install 'ojs-aws[sqlalchemy]', and a driver "
            "such as psycopg",
            err=True,
        )
    except Exception as problem:  # noqa: BLE001 - SQLAlchemy raises many for a wrong URL
        typer.echo(f"ojs-aws outbox: {problem}", err=True)
    raise typer.Exit(ExitCode.USAGE)
