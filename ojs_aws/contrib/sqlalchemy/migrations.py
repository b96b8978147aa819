"""Make and change the outbox's table in Alembic's migrations, one function for each change."""

from __future__ import annotations

from alembic import op
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
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSON
from sqlalchemy.types import TypeEngine

from ojs_aws.contrib.outbox.staged_jobs import DEFAULT_TABLE, checked_table


def upgrade_to_1(table: str = DEFAULT_TABLE) -> None:
    """Make the table and its indexes, as release 0.2 has them.

    What is written here stays as it is. A later release that needs a change of the table brings
    ``upgrade_to_2``.
    """
    schema, _, bare = checked_table(table).rpartition(".")
    made = Table(
        bare,
        MetaData(),
        *_columns_of_1(),
        CheckConstraint(
            "status IN ('pending', 'sent', 'failed', 'parked')", name=f"ck_{bare}_status"
        ),
        _index_of_1(bare, "pending", "id", "status IN ('pending', 'failed')"),
        _index_of_1(bare, "sent", "sent_at", "status = 'sent'"),
        schema=schema or None,
        sqlite_autoincrement=True,
    )
    made.create(op.get_bind())


def _columns_of_1() -> list[Column[object]]:
    exact: TypeEngine[str] = Text().with_variant(JSON(), "postgresql")
    moment = DateTime(timezone=True)
    return [
        Column(
            "id",
            BigInteger().with_variant(Integer(), "sqlite"),
            primary_key=True,
            autoincrement=True,
        ),
        Column("job_id", String(36), nullable=False, unique=True),
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


def _index_of_1(table: str, purpose: str, column: str, condition: str) -> Index:
    where = text(condition)
    return Index(f"idx_{table}_{purpose}", column, postgresql_where=where, sqlite_where=where)


def downgrade_from_1(table: str = DEFAULT_TABLE) -> None:
    """Drop the table. Jobs that it holds and that were not sent are lost."""
    schema, _, bare = table.rpartition(".")
    op.drop_table(bare, schema=schema or None)
