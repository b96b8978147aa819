"""Describe the outbox's table to SQLAlchemy (framework adapters, 6.3)."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    cast,
    func,
    insert,
    text,
)
from sqlalchemy.dialects.postgresql import JSON
from sqlalchemy.sql.dml import Insert
from sqlalchemy.types import TypeEngine

from ojs_aws.contrib.outbox.database import POSTGRESQL
from ojs_aws.contrib.outbox.rows import OutboxStatus, checked_table, index_name
from ojs_aws.contrib.outbox.store import WAITING

_ID_LENGTH: Final = 36


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
