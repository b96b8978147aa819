"""Give the relay a connection of an SQLAlchemy engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url

from ojs_aws.contrib.outbox.database import NOTICES_A_DEAD_SERVER, POSTGRESQL, SQLITE, Row, Value

_SYNCHRONOUS: Final[Mapping[str, str]] = {
    "postgresql+asyncpg": "postgresql+psycopg",
    "postgresql+psycopg_async": "postgresql+psycopg",
    "sqlite+aiosqlite": "sqlite",
}
"""The drivers that a relay uses in the place of asynchronous ones."""
_OF_LIBPQ: Final = frozenset({"psycopg", "psycopg2"})


class EngineDatabase:
    """Is the database of an engine, for a relay; each statement commits by itself.

    :ivar dialect: ``postgresql`` or ``sqlite``.
    :ivar path: of the file of SQLite; empty in memory, and for PostgreSQL.
    :ivar connection_number: counts the connections; 0 while none is open.
    """

    def __init__(self, engine: Engine) -> None:
        """Use one connection of an engine, opened with the first statement.

        :raises ValueError: neither PostgreSQL nor SQLite.
        """
        self.dialect = engine.dialect.name
        if self.dialect not in {POSTGRESQL, SQLITE}:
            raise ValueError(
                f"The outbox works in PostgreSQL and SQLite, and not in {self.dialect}."
            )
        database = engine.url.database or ""
        is_file = self.dialect == SQLITE and database not in {"", ":memory:"}
        self.path = database if is_file and not database.startswith("file:") else ""
        self.connection_number = 0
        self._opened_so_far = 0
        self._engine = engine
        self._connection: Connection | None = None

    @classmethod
    def of_url(cls, url: str | URL, password: Callable[[], str] | None = None) -> EngineDatabase:
        """Return the database of a URL; an asynchronous driver is replaced.

        A connection to a server whose machine is gone fails within half a minute, unless the
        parameters of the URL say otherwise.

        :param password: returns the password for each connection, such as one that is rotated.
        :raises ValueError: neither PostgreSQL nor SQLite.
        """
        named = make_url(url)
        named = named.set(drivername=_SYNCHRONOUS.get(named.drivername, named.drivername))
        if named.get_driver_name() in _OF_LIBPQ:
            named = named.set(query={**NOTICES_A_DEAD_SERVER, **named.query})
        engine = create_engine(named, pool_pre_ping=True)
        if password is not None:

            @event.listens_for(engine, "do_connect")
            def add_password(
                _: object, __: object, ___: object, parameters: dict[str, object]
            ) -> None:
                parameters["password"] = password()

        return cls(engine)

    def run(self, statement: str, parameters: Mapping[str, Value]) -> list[Row]:
        """Run a statement, and return its rows."""
        try:
            result = self._opened().execute(text(statement), dict(parameters))
            rows: Sequence[Row] = result.all() if result.returns_rows else []
        except BaseException:
            self.close()
            raise
        return [*rows]

    def driver_connection(self) -> object:
        """Return the driver's own connection."""
        return self._opened().connection.driver_connection

    def close(self) -> None:
        """Close the connection itself: one that goes back to a pool would keep its locks."""
        connection, self._connection = self._connection, None
        self.connection_number = 0
        if connection is not None:
            with suppress(Exception):  # it may be broken
                connection.invalidate()
            with suppress(Exception):
                connection.close()

    def _opened(self) -> Connection:
        if self._connection is None:
            self._connection = self._engine.connect()
            self._connection.execution_options(isolation_level="AUTOCOMMIT")
            self._opened_so_far += 1
            self.connection_number = self._opened_so_far
        return self._connection
