"""Declare what the relay needs of a database, and what PostgreSQL and SQLite do differently."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

Value: TypeAlias = str | int | datetime | None
"""What a statement takes as a parameter."""
Row: TypeAlias = Sequence[Any]

POSTGRESQL: Final = "postgresql"
SQLITE: Final = "sqlite"
_SQLITE_TIME: Final = "%Y-%m-%d %H:%M:%S.%f"
_LEAD: Final = (
    "SELECT pg_try_advisory_lock(:key), set_config('tcp_keepalives_idle', '10', false),"
    " set_config('tcp_keepalives_interval', '5', false),"
    " set_config('tcp_keepalives_count', '3', false),"
    " set_config('tcp_user_timeout', '25000', false)"
)
"""Takes the lock, and ends the session half a minute after the client's machine is gone.

By default, PostgreSQL keeps such a session, and so its lock, for two hours.
"""
NOTICES_A_DEAD_SERVER: Final[Mapping[str, str]] = {
    "connect_timeout": "10",  # seconds; by default 130, or without end
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "25000",  # milliseconds
}
"""Parameters of libpq, without which a relay waits for a dead server for many minutes."""


class Database(Protocol):
    """Declares one connection, on which each statement commits by itself.

    Statements are written with ``:name`` for parameters, and ``?`` or ``%`` occur in none. A broken
    connection raises; the next statement opens another one.

    :ivar dialect: ``postgresql`` or ``sqlite``.
    :ivar path: of the file of SQLite; empty in memory, and for PostgreSQL.
    :ivar connection_number: counts the connections; 0 while none is open.
    """

    dialect: str
    path: str
    connection_number: int

    def run(self, statement: str, parameters: Mapping[str, Value]) -> list[Row]:
        """Run a statement, and return its rows; none for one that returns none."""

    def driver_connection(self) -> object:
        """Return the driver's own connection, which may be able to listen."""

    def close(self) -> None:
        """Give up the connection."""


def as_parameter(database: Database, value: Value) -> Value:
    """Return a value as the driver takes it: SQLite keeps times as text, in UTC."""
    if isinstance(value, datetime) and database.dialect == SQLITE:
        return value.astimezone(UTC).strftime(_SQLITE_TIME)
    return value


def as_moment(value: object) -> datetime | None:
    """Return a time that was read."""
    if value is None:
        return None
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class Leadership:
    """Lets one relay at a time send the rows of a table.

    In PostgreSQL it is an advisory lock of the session, in SQLite a lock of a file beside the
    database. Both end with the process, and neither looks at a clock.
    """

    def __init__(self, database: Database, table: str) -> None:
        """Compete for the lock of a table."""
        self._database = database
        self._key = lock_key(table)
        self._table = table
        self._file: int | None = None
        self._held_by = 0

    def take(self) -> bool:
        """Return whether this relay leads now. One that leads already keeps it."""
        if self._database.dialect == POSTGRESQL:
            # The lock is that of the connection: without this one, it is to be taken again.
            if not self._held_by or self._held_by != self._database.connection_number:
                [[is_leader, *_]] = self._database.run(_LEAD, {"key": self._key})
                self._held_by = self._database.connection_number if is_leader else 0
            return self._held_by != 0
        return self._take_file()

    def release(self) -> None:
        """Let another relay lead."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        elif self._held_by == self._database.connection_number != 0:
            self._held_by = 0
            with suppress(Exception):  # a broken connection has given it up
                self._database.run("SELECT pg_advisory_unlock(:key)", {"key": self._key})

    def _take_file(self) -> bool:
        if self._file is not None or not self._database.path:
            return True
        import fcntl  # noqa: PLC0415 - not on Windows, where SQLite has one relay by agreement

        path = Path(f"{self._database.path}.{self._table}.lock")
        opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(opened)
            return False
        self._file = opened
        return True


def lock_key(table: str) -> int:
    """Return the key of the table's advisory lock: 63 bits, from its name."""
    digest = hashlib.blake2b(f"ojs_aws.outbox:{table}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def wait_for_rows(database: Database, seconds: float) -> bool:
    """Wait for a notification of the channels that the connection listens to; say if one came.

    psycopg 3 listens. With another driver, and in SQLite, this sleeps.
    """
    connection = database.driver_connection()
    notifies = getattr(connection, "notifies", None)
    if database.dialect != POSTGRESQL or not callable(notifies):
        time.sleep(seconds)
        return False
    return any(True for _ in notifies(timeout=seconds, stop_after=1))
