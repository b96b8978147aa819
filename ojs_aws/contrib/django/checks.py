"""Check the setting ``OJS`` when Django starts, and by ``manage.py check``."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as CheckWarning
from django.db import connection
from django.utils.module_loading import import_string

from ojs_aws.contrib.django.options import BACKEND, DjangoOptions, problems
from ojs_aws.contrib.outbox.database import POSTGRESQL, SQLITE
from ojs_aws.typed_jobs.senders import Sender


def check_options(**_: Any) -> list[CheckMessage]:
    """Return what is wrong with the setting; ``ojs.E001`` to ``ojs.W003``."""
    found: list[CheckMessage] = [Error(each, id="ojs.E001") for each in problems()]
    if found:
        return found
    options = DjangoOptions.read()
    tasks = [each.get("BACKEND") for each in getattr(settings, "TASKS", {}).values()]
    if options.names_no_server and (BACKEND in tasks or not options.only_relay_sends):
        found.append(
            CheckWarning(
                "Nothing says where the OJS server is, and jobs are sent from this process.",
                hint='Set OJS = {"URL": "https://jobs.example.com"}, or OJS_URL outside.',
                id="ojs.W003",
            )
        )
    vendor = connection.vendor
    if options.outbox is not None and vendor not in {POSTGRESQL, SQLITE}:
        found.append(
            Error(
                f"OJS['OUTBOX'] works in PostgreSQL and SQLite, and not in {vendor}.",
                hint="Remove it: enqueue_after_commit then sends after the commit.",
                id="ojs.E006",
            )
        )
    for name, entry in options.cron.items():
        try:
            is_job = isinstance(import_string(entry.job), Sender)
        except ImportError:
            is_job = False
        if not is_job:
            found.append(
                Error(
                    f"OJS['CRON'][{name!r}]['job'] is {entry.job!r}, which is no typed job.",
                    hint="Write the import path of a function with @jobs.job: shop.jobs.report.",
                    id="ojs.E002",
                )
            )
    return found
