"""Describe the outbox's table to Django (framework adapters, 6.3).

The same table as that of ``ojs_aws.contrib.sqlalchemy``, and the same relay reads it.
"""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from ojs_aws.contrib.outbox.database import POSTGRESQL
from ojs_aws.contrib.outbox.staged_jobs import DEFAULT_TABLE, OutboxStatus, index_name

_ID_LENGTH = 36
_WAITING = (OutboxStatus.PENDING.value, OutboxStatus.FAILED.value)


class ExactJsonField(models.TextField):
    """Holds JSON text as it was written: in PostgreSQL ``json``, not ``jsonb`` (decision 109)."""

    def db_type(self, connection: Any) -> str:
        """Return the type of the column."""
        return "json" if connection.vendor == POSTGRESQL else str(super().db_type(connection))

    def select_format(self, compiler: Any, sql: str, params: Any) -> tuple[str, Any]:
        """Read the text, which the driver would turn into values."""
        if compiler.connection.vendor == POSTGRESQL:
            return f"({sql})::text", params
        return sql, params


class OutboxRow(models.Model):
    """Is a job that commits with the rows of a transaction; the relay sends it.

    There is no such table in other databases than PostgreSQL and SQLite.
    """

    id = models.BigAutoField(primary_key=True)
    job_id = models.CharField(max_length=_ID_LENGTH)
    job_type = models.TextField()
    job_args = ExactJsonField()
    job_options = ExactJsonField(db_default="{}")
    status = models.CharField(max_length=16, db_default=OutboxStatus.PENDING.value)
    attempts = models.IntegerField(db_default=0)
    created_at = models.DateTimeField(db_default=Now())
    first_try_at = models.DateTimeField(null=True)
    next_try_at = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)
    parked_at = models.DateTimeField(null=True)
    error = models.TextField(null=True)  # noqa: DJ001 - the table of the specification has NULL

    class Meta:
        """Has the indexes by which the relay reads, and the dashboard's permission."""

        db_table = DEFAULT_TABLE
        required_db_features = ("supports_partial_indexes",)
        default_permissions = ()
        permissions = (("change_jobs", "Can act on jobs in the dashboard"),)
        constraints = (
            models.UniqueConstraint(fields=["job_id"], name=f"uq_{DEFAULT_TABLE}_job_id"),
            models.CheckConstraint(
                condition=models.Q(status__in=[each.value for each in OutboxStatus]),
                name=f"ck_{DEFAULT_TABLE}_status",
            ),
        )
        indexes = (
            models.Index(
                fields=["id"],
                name=index_name(DEFAULT_TABLE, "pending"),
                condition=models.Q(status__in=_WAITING),
            ),
            models.Index(
                fields=["sent_at"],
                name=index_name(DEFAULT_TABLE, "sent"),
                condition=models.Q(status=OutboxStatus.SENT.value),
            ),
        )

    def __str__(self) -> str:
        """Return the id of the job."""
        return str(self.job_id)
