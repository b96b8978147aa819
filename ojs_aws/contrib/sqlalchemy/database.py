"""Describe the outbox's table to SQLAlchemy, and give the relay a connection of an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    DateTime,
    Engine,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    cast,
    create_engine,
    event,
    func,
    insert,
    text,
)
from sqlalchemy.dialects.postgresql import JSON
from sqlalchemy.engine import URL, make_url
from sqlalchemy.sql.dml import Insert
from sqlalchemy.types import TypeEngine

from ojs_aws.contrib.outbox.database import NOTICES_A_DEAD_SERVER, POSTGRESQL, SQLITE, Row, Value
from ojs_aws.contrib.outbox.staged_jobs import OutboxStatus, checked_table, index_name
from ojs_aws.contrib.outbox.store import WAITING

_SYNCHRONOUS: Final[Mapping[str, str]] = {
    "postgresql+asyncpg": "postgresql+psycopg",
    "postgresql+psycopg_async": "postgresql+psycopg",
    "sqlite+aiosqlite": "sqlite",
}
"""The drivers that a relay uses in the place of asynchronous ones."""
_OF_LIBPQ: Final = frozenset({"psycopg", "psycopg2"})
_ID_LENGTH: Final = 36


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


def outbox_table(metadata: MetaData, name: str) -> Table:
    """Return the table of an outbox, which becomes part of the metadata.

    Its columns are the specification's and five of ours: ``job_id``, ``attempts``,
    ``first_try_at``, ``next_try_at`` and ``parked_at``.

    :param name: with or without a schema before it.
    """
    schema, _, bare = checked_table(name).rpartition(".")
    known = metadata.tables.get(name)
    if known is not None:
        return known
    statuses = ", ".join(f"'{status}'" for status in OutboxStatus)
    return Table(
        bare,
        metadata,
        *columns(),
        CheckConstraint(f"status IN ({statuses})", name=f"ck_{bare}_status"),
        Index(
            index_name(bare, "pending"),
            "id",
            postgresql_where=text(WAITING),
            sqlite_where=text(WAITING),
        ),
        Index(
            index_name(bare, "sent"),
            "sent_at",
            postgresql_where=text("status = 'sent'"),
            sqlite_where=text("status = 'sent'"),
        ),
        schema=schema or None,
        sqlite_autoincrement=True,  # an id that was deleted is not given again: ids are the order
    )


def columns() -> list[Column[object]]:
    """Return the columns, new ones each time."""
    place: TypeEngine[int] = BigInteger().with_variant(Integer(), "sqlite")
    # Not jsonb, which changes the order of keys and refuses U+0000 (decision 109).
    exact: TypeEngine[str] = Text().with_variant(JSON(), POSTGRESQL)
    moment = DateTime(timezone=True)
    made: list[Column[object]] = [
        Column("id", place, primary_key=True, autoincrement=True),
        Column("job_id", String(_ID_LENGTH), nullable=False, unique=True),
        Column("job_type", Text, nullable=False),
        Column("job_args", exact, nullable=False),
        Column("job_options", exact, nullable=False, server_default=text("'{}'")),
        Column("status", String(16), nullable=False, server_default=text("'pending'")),
        Column("attempts", Integer, nullable=False, server_default=text("0")),
        Column("created_at", moment, nullable=False, server_default=func.current_timestamp()),
        Column("first_try_at", moment),
        Column("next_try_at", moment),
        Column("sent_at", moment),
        Column("parked_at", moment),
        Column("error", Text),
    ]
    return made


def insertion(table: Table, dialect: str) -> Insert:
    """Return the statement that writes rows; their values are its parameters."""
    names = ("job_args", "job_options")
    if dialect != POSTGRESQL:
        return insert(table)
    exact = {name: cast(bindparam(name, type_=Text()), JSON()) for name in names}
    return insert(table).values(job_id=bindparam("job_id"), job_type=bindparam("job_type"), **exact)
