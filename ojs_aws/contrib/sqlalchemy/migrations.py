"""Make and change the outbox's table in Alembic's migrations, one function for each change."""

from __future__ import annotations

from alembic import op
from sqlalchemy import MetaData

from ojs_aws.contrib.outbox.rows import DEFAULT_TABLE
from ojs_aws.contrib.sqlalchemy.table import outbox_table


def upgrade_to_1(table: str = DEFAULT_TABLE) -> None:
    """Make the table and its indexes, as release 0.2 has them.

    A later release that needs a change brings ``upgrade_to_2``; migrations that ran stay as they
    are.
    """
    made = outbox_table(MetaData(), table)
    made.create(op.get_bind())


def downgrade_from_1(table: str = DEFAULT_TABLE) -> None:
    """Drop the table. Jobs that it holds and that were not sent are lost."""
    schema, _, bare = table.rpartition(".")
    op.drop_table(bare, schema=schema or None)
