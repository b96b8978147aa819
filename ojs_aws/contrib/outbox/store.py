"""Reads and changes the rows of an outbox by single statements, and reports what it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ojs_aws.contrib.outbox.database import (
    POSTGRESQL,
    Database,
    Row,
    Value,
    as_moment,
    as_parameter,
)
from ojs_aws.contrib.outbox.staged_jobs import (
    NewRow,
    OutboxStatus,
    WaitingRow,
    checked_table,
    system_clock,
)

WAITING: Final = "status IN ('pending', 'failed')"
"""The condition of the partial index by which the relay reads rows."""
PRUNED_AT_ONCE: Final = 1000
_MAX_ERROR: Final = 2000


@dataclass(frozen=True, slots=True)
class Overview:
    """Says what an outbox holds.

    :ivar counts: rows by status.
    :ivar oldest_at: when the oldest row that waits was inserted; None if none waits.
    """

    counts: Mapping[str, int]
    oldest_at: datetime | None

    @property
    def waiting(self) -> int:
        """Return how many rows are to be sent."""
        return self.counts.get("pending", 0) + self.counts.get("failed", 0)

    @property
    def parked(self) -> int:
        """Return how many rows an operator has to decide on."""
        return self.counts.get("parked", 0)


@dataclass(frozen=True, slots=True)
class ParkedRow:
    """Describes a row that the relay no longer sends."""

    job_id: str
    job_type: str
    error: str
    parked_at: datetime | None


class OutboxStore:
    """Holds the rows of one outbox in one database."""

    def __init__(self, database: Database, table: str) -> None:
        """Use a table, which exists."""
        self._database = database
        self._table = checked_table(table)

    def now(self) -> datetime:
        """Return the time by the database's clock, which all relays share."""
        if self._database.dialect == POSTGRESQL:
            [[now]] = self._run("SELECT clock_timestamp()")
            if isinstance(now, datetime):
                return now
        return system_clock()

    def waiting(self, limit: int, now: datetime) -> list[WaitingRow]:
        """Return the first rows that are due, in the order of insertion."""
        columns = "CAST(job_args AS TEXT), CAST(job_options AS TEXT), attempts, first_try_at"
        is_due = f"{WAITING} AND (next_try_at IS NULL OR next_try_at <= :now)"
        rows = self._run(
            f"SELECT id, job_id, job_type, {columns} FROM {self._table}"
            f" WHERE {is_due} ORDER BY id LIMIT :limit",
            now=now,
            limit=limit,
        )
        return [_waiting_row(row) for row in rows]

    def note_first_try(self, rows: Sequence[WaitingRow], now: datetime) -> None:
        """Note when rows are first sent. Call this before: the process may die while it sends."""
        self._change(
            [row.id for row in rows if row.first_try_at is None],
            "first_try_at = :now",
            now=now,
        )

    def sent(self, ids: Sequence[int], now: datetime, note: str = "") -> None:
        """Note that the backend has these jobs.

        :param note: why a row has no job of its own, if another job takes its place.
        """
        values = "status = 'sent', sent_at = :now, next_try_at = NULL, error = :note"
        self._change(ids, values, now=now, note=note[:_MAX_ERROR] or None)

    def refused(self, row: WaitingRow, error: str, again_at: datetime) -> None:
        """Note that the backend refused this very row, and when the relay sends it again."""
        values = "status = 'failed', attempts = :attempts, next_try_at = :again, error = :error"
        attempts = row.attempts + 1
        self._change([row.id], values, attempts=attempts, again=again_at, error=error[:_MAX_ERROR])

    def parked(self, row: WaitingRow, error: str, now: datetime) -> None:
        """Note that the relay sends a row no more, and why."""
        values = "status = 'parked', parked_at = :now, attempts = :attempts, error = :error"
        self._change([row.id], values, now=now, attempts=row.attempts + 1, error=error[:_MAX_ERROR])

    def prune(self, before: datetime) -> int:
        """Delete rows that were sent before a time, at most a thousand; return how many."""
        rows = self._run(
            f"DELETE FROM {self._table} WHERE id IN (SELECT id FROM {self._table}"
            " WHERE status = 'sent' AND sent_at < :before ORDER BY sent_at LIMIT :limit)"
            " RETURNING id",
            before=before,
            limit=PRUNED_AT_ONCE,
        )
        return len(rows)

    def overview(self) -> Overview:
        """Return how many rows have each status, and when the oldest waiting one was inserted."""
        rows = self._run(
            f"SELECT status, count(*), min(created_at) FROM {self._table} GROUP BY status"
        )
        oldest = [as_moment(row[2]) for row in rows if row[0] in {"pending", "failed"}]
        return Overview(
            {str(row[0]): int(row[1]) for row in rows},
            min((each for each in oldest if each), default=None),
        )

    def parked_rows(self, limit: int) -> list[ParkedRow]:
        """Return the parked rows, the oldest first."""
        rows = self._run(
            f"SELECT job_id, job_type, error, parked_at FROM {self._table}"
            " WHERE status = 'parked' ORDER BY id LIMIT :limit",
            limit=limit,
        )
        return [ParkedRow(row[0], row[1], row[2] or "", as_moment(row[3])) for row in rows]

    def try_again(self, job_ids: Sequence[str] | None) -> int:
        """Let the relay send parked rows again, as if for the first time; None for all of them."""
        statement = (
            f"UPDATE {self._table} SET status = 'pending', attempts = 0, first_try_at = NULL,"
            " next_try_at = NULL, parked_at = NULL, error = NULL WHERE status = 'parked'"
        )
        if job_ids is None:
            return len(self._run(f"{statement} RETURNING id"))
        return sum(
            len(self._run(f"{statement} AND job_id = :job_id RETURNING id", job_id=job_id))
            for job_id in job_ids
        )

    def _change(self, ids: Sequence[int], values: str, **parameters: Value) -> None:
        """Change those of the rows that still wait. One that another relay has sent stays sent."""
        if not ids:
            return
        names = {f"id{place}": each for place, each in enumerate(ids)}
        listed = ", ".join(f":{name}" for name in names)
        self._run(
            f"UPDATE {self._table} SET {values} WHERE id IN ({listed}) AND {WAITING}",
            **parameters,
            **names,
        )

    def _run(self, statement: str, **parameters: Value) -> list[Row]:
        database = self._database
        return database.run(
            statement, {name: as_parameter(database, value) for name, value in parameters.items()}
        )


def _waiting_row(row: Row) -> WaitingRow:
    return WaitingRow(
        id=row[0],
        written=NewRow(row[1], row[2], row[3], row[4]),
        attempts=row[5],
        first_try_at=as_moment(row[6]),
    )


_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class Report:
    """Holds lines to print, and how many rows an operator has to decide on."""

    lines: list[str]
    parked: int


def report(store: OutboxStore, now: datetime | None = None) -> Report:
    """Return the counts, the age of the oldest row that waits, and the first parked rows."""
    seen = store.overview()
    lines = [f"{name:8} {seen.counts.get(name, 0)}" for name in OutboxStatus]
    if seen.oldest_at is not None:
        age = (now or system_clock()) - seen.oldest_at
        lines.append(f"The oldest row that waits is {int(age.total_seconds())} s old.")
    parked = store.parked_rows(_SHOWN)
    lines += [f"parked: {row.job_id} {row.job_type}: {row.error}" for row in parked]
    return Report(lines, seen.parked)
