"""Make the outbox's table."""

from __future__ import annotations

from django.db import migrations, models
from django.db.models.functions import Now

from ojs_aws.contrib.django.models import ExactJsonField


class Migration(migrations.Migration):
    """Makes the table in PostgreSQL and SQLite; in other databases it does nothing.

    What is written here stays as it is. A release that changes the table brings another migration.
    """

    initial = True
    dependencies = ()
    operations = (
        migrations.CreateModel(
            name="OutboxRow",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("job_id", models.CharField(max_length=36)),
                ("job_type", models.TextField()),
                ("job_args", ExactJsonField()),
                ("job_options", ExactJsonField(db_default="{}")),
                ("status", models.CharField(db_default="pending", max_length=16)),
                ("attempts", models.IntegerField(db_default=0)),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("first_try_at", models.DateTimeField(null=True)),
                ("next_try_at", models.DateTimeField(null=True)),
                ("sent_at", models.DateTimeField(null=True)),
                ("parked_at", models.DateTimeField(null=True)),
                ("error", models.TextField(null=True)),
            ],
            options={
                "db_table": "ojs_outbox",
                "permissions": (("change_jobs", "Can act on jobs in the dashboard"),),
                "default_permissions": (),
                "required_db_features": ("supports_partial_indexes",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("status__in", ("pending", "failed"))),
                        fields=["id"],
                        name="idx_ojs_outbox_pending",
                    ),
                    models.Index(
                        condition=models.Q(("status", "sent")),
                        fields=["sent_at"],
                        name="idx_ojs_outbox_sent",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("job_id",), name="uq_ojs_outbox_job_id"),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["pending", "sent", "failed", "parked"])),
                        name="ck_ojs_outbox_status",
                    ),
                ],
            },
        ),
    )
