"""What a job in the outbox adds to a commit, and how fast the relay's database part is.

    python -m benchmarks.outbox [--quick]

Statements are counted. Commits with and without a job take turns, in PostgreSQL and SQLite with
their default durability, and the median counts. The relay sends to a backend that answers at once,
so the rate is that of its statements. Without PostgreSQL on this machine, SQLite alone is measured.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from rich.console import Console
from sqlalchemy import Column, Engine, Integer, MetaData, Table, create_engine, event, insert
from sqlalchemy.orm import sessionmaker

from benchmarks.results import FOLDER, show_table
from ojs_aws import Client, Job
from ojs_aws.client.results import Stored
from ojs_aws.client.transports.requests import Transport
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
    statements, rate = relayed(engine, counter)
    engine.dispose()
    return Figures(
        engine.dialect.name,
        statistics.median(plain for (plain, _), _ in pairs),
        statistics.median(taken for _, (taken, _) in pairs),
        max(more - less for (_, less), (_, more) in pairs),
        statements,
        rate,
    )


def relayed(engine: Engine, counter: Counter) -> tuple[int, float]:
    """Send all that waits; the statements of a batch, and the rows of a second."""
    transport = cast("Transport", Backend())
    relay = Relay(
        EngineDatabase(engine), make_client=lambda: Client(transport=transport, middleware=[])
    )
    relay.run_round()  # leads, prunes and connects
    sent, counts, began, before = 0, list[int](), time.perf_counter(), counter.count
    while done := relay.run_round().sent:
        sent += done
        counts.append(counter.count - before)
        before = counter.count
    taken = time.perf_counter() - began
    relay.close()
    return statistics.median_high(counts), sent / taken  # once a minute a batch prunes, too


@contextmanager
def databases() -> Iterator[list[str]]:
    """Yield the addresses of empty databases."""
    folder = Path(tempfile.mkdtemp(prefix="ojs-outbox-"))
    found, server = [f"sqlite:///{folder / 'shop.db'}"], None
    bin_folder = programs()
    if bin_folder is not None:
        place = Path(tempfile.mkdtemp(prefix="ojs-postgres-"))
        server = Postgres(place, bin_folder, is_synced=True)
        server.start()
        found.insert(0, server.url)
    try:
        yield found
    finally:
        if server is not None:
            server.stop()
            shutil.rmtree(server.folder, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Measure, print, and say whether the counts hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer commits and rows")
    commits, rows = (50, 1000) if cast("Any", parser.parse_args()).quick else (500, 10_000)
    with databases() as urls:
        figures = [measure(url, commits, rows) for url in urls]
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
