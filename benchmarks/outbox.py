"""What a job in the outbox adds to a commit, and how fast the relay's database part is.

    python -m benchmarks.outbox [--quick] [--commits 5000]

Statements are counted. Commits with and without a job take turns, in PostgreSQL and SQLite with
their default durability, and the median counts. Django is measured in PostgreSQL. The relay sends
to a backend that answers at once, so the rate is that of its statements. Without PostgreSQL on this
machine, SQLite alone is measured.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import django
from django.conf import settings
from django.core.management import call_command
from django.db import connection, transaction
from rich.console import Console
from sqlalchemy import Column, Engine, Integer, MetaData, Table, create_engine, event, insert
from sqlalchemy.orm import sessionmaker

from benchmarks.results import FOLDER, show_table
from ojs_aws import Client, Job
from ojs_aws.client.results import Stored
from ojs_aws.client.transports.requests import Transport
from ojs_aws.contrib.django import enqueue_after_commit, enqueue_many_after_commit
from ojs_aws.contrib.django.outbox import RelayDatabase
from ojs_aws.contrib.outbox.database import Row, Value
from ojs_aws.contrib.outbox.relay import Relay
from ojs_aws.contrib.sqlalchemy import JobSession, Outbox
from ojs_aws.contrib.sqlalchemy.database import EngineDatabase
from tests.contrib.postgres import Postgres, programs

MOST_STATEMENTS_OF_A_COMMIT: Final = 2
MOST_STATEMENTS_OF_A_BATCH: Final = 5


class Backend:
    """Answers at once."""

    async def push_all(self, jobs: Sequence[Job]) -> list[Stored]:
        """Take all."""
        return [Stored(job) for job in jobs]

    async def close(self) -> None:
        """Nothing is open."""


@dataclass
class Counter:
    """Counts the statements of an engine."""

    count: int = 0

    def of(self, engine: Engine) -> None:
        """Count from now on."""
        event.listen(engine, "before_cursor_execute", self._note)

    def _note(self, *_: object) -> None:
        self.count += 1

    def around(self, execute: Callable[..., Any], *given: Any) -> Any:
        """Count a statement of Django, and run it."""
        self.count += 1
        return execute(*given)


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured in one database; times in milliseconds."""

    database: str
    plain_ms: float
    with_job_ms: float
    commit_statements: int
    batch_statements: int
    rows_a_second: float

    @property
    def row(self) -> list[str]:
        """The cells of the table."""
        return [
            self.database,
            f"{self.plain_ms:.2f}",
            f"{self.with_job_ms:.2f}",
            f"{self.with_job_ms / self.plain_ms:.2f}",
            str(self.commit_statements),
            str(self.batch_statements),
            f"{self.rows_a_second:,.0f}",
        ]

    @property
    def is_within(self) -> bool:
        """Whether no statement was added."""
        return (
            self.commit_statements <= MOST_STATEMENTS_OF_A_COMMIT
            and self.batch_statements <= MOST_STATEMENTS_OF_A_BATCH
        )


def measure(url: str, commits: int, rows: int) -> Figures:
    """Measure one database, which is empty."""
    metadata = MetaData()
    orders = Table("orders", metadata, Column("id", Integer, primary_key=True))
    outbox = Outbox(metadata, relay="separate")
    engine, counter = create_engine(url), Counter()
    metadata.create_all(engine)
    sessions = sessionmaker(engine, class_=JobSession, info={"ojs_outbox": outbox})
    counter.of(engine)

    def commit(jobs: int) -> tuple[float, int]:
        began, before = time.perf_counter(), counter.count
        with sessions.begin() as session:
            session.execute(insert(orders).values())
            for _ in range(jobs):
                session.enqueue(Job("order.confirm", [1]))
        return (time.perf_counter() - began) * 1000, counter.count - before

    commit(0), commit(1)
    pairs = [(commit(0), commit(1)) for _ in range(commits)]
    with sessions.begin() as session:
        session.enqueue_many(Job("order.confirm", [number]) for number in range(rows))
    statements, rate = relayed(EngineDatabase(engine))
    engine.dispose()
    return figures_of(engine.dialect.name, pairs, statements, rate)


def relayed(database: EngineDatabase | RelayDatabase) -> tuple[int, float]:
    """Send all that waits; the statements of a batch, and the rows of a second."""
    transport, asked, run = cast("Transport", Backend()), Counter(), database.run

    def counting(statement: str, parameters: Mapping[str, Value]) -> list[Row]:
        asked.count += 1
        return run(statement, parameters)

    database.run = counting  # type: ignore[method-assign]
    relay = Relay(database, make_client=lambda: Client(transport=transport, middleware=[]))
    relay.run_round()  # leads, prunes and connects
    sent, counts, began, before = 0, list[int](), time.perf_counter(), asked.count
    while done := relay.run_round().sent:
        sent += done
        counts.append(asked.count - before)
        before = asked.count
    taken = time.perf_counter() - began
    relay.close()
    return statistics.median_high(counts), sent / taken  # once a minute a batch prunes, too


def measure_django(server: Postgres, commits: int, rows: int) -> Figures:
    """Measure the outbox of a Django project in PostgreSQL, in a database of its own."""
    server.query("CREATE DATABASE django")
    address = {"HOST": "127.0.0.1", "PORT": server.port, "USER": "ojs", "NAME": "django"}
    settings.configure(
        DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", **address}},
        INSTALLED_APPS=["ojs_aws.contrib.django"],
        OJS={"URL": "http://127.0.0.1:1", "OUTBOX": {"RELAY": "separate"}},
        USE_TZ=True,
    )
    django.setup()
    call_command("migrate", verbosity=0)
    counter = Counter()
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE orders (id serial PRIMARY KEY)")

    def commit(jobs: int) -> tuple[float, int]:
        began, before = time.perf_counter(), counter.count
        with connection.execute_wrapper(counter.around), transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("INSERT INTO orders DEFAULT VALUES")
            for _ in range(jobs):
                enqueue_after_commit(Job("order.confirm", [1]))
        return (time.perf_counter() - began) * 1000, counter.count - before

    commit(0), commit(1)
    pairs = [(commit(0), commit(1)) for _ in range(commits)]
    enqueue_many_after_commit(Job("order.confirm", [number]) for number in range(rows))
    statements, rate = relayed(RelayDatabase("default"))
    connection.close()
    return figures_of("django, postgresql", pairs, statements, rate)


def figures_of(
    database: str, pairs: list[tuple[tuple[float, int], tuple[float, int]]], batch: int, rate: float
) -> Figures:
    """Sum up commits without and with a job, and the relay's work."""
    return Figures(
        database,
        statistics.median(plain for (plain, _), _ in pairs),
        statistics.median(taken for _, (taken, _) in pairs),
        max(more - less for (_, less), (_, more) in pairs),
        batch,
        rate,
    )


@contextmanager
def databases() -> Iterator[tuple[list[str], Postgres | None]]:
    """Yield the addresses of empty databases, and the server of PostgreSQL, if there is one."""
    folder = Path(tempfile.mkdtemp(prefix="ojs-outbox-"))
    found, server = [f"sqlite:///{folder / 'shop.db'}"], None
    bin_folder = programs()
    if bin_folder is not None:
        place = Path(tempfile.mkdtemp(prefix="ojs-postgres-"))
        server = Postgres(place, bin_folder, is_synced=True)
        server.start()
        found.insert(0, server.url)
    try:
        yield found, server
    finally:
        if server is not None:
            server.stop()
            shutil.rmtree(server.folder, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Measure, print, and say whether the counts hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer commits and rows")
    parser.add_argument("--commits", type=int, help="pairs of commits, without and with a job")
    options = parser.parse_args()
    commits, rows = (50, 1000) if options.quick else (500, 10_000)
    commits = options.commits or commits
    with databases() as (urls, server):
        figures = [measure(url, commits, rows) for url in urls]
        if server is not None:
            figures.append(measure_django(server, commits, rows))
    FOLDER.mkdir(parents=True, exist_ok=True)
    columns = ("database", "commit, ms", "with a job, ms", "ratio", "statements more")
    show_table(
        "outbox",
        "A commit with a job, and the relay",
        (*columns, "statements of a batch", "rows a second"),
        [each.row for each in figures],
        Console(),
    )
    return 0 if all(each.is_within for each in figures) else 1


if __name__ == "__main__":
    raise SystemExit(main())
