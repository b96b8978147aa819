"""Describe the app to Django: find the jobs of all apps, and check the setting ``OJS``."""

from __future__ import annotations

import sys
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as CheckWarning
from django.db import connection
from django.utils.module_loading import autodiscover_modules, import_string

from ojs_aws.contrib.django.options import BACKEND, DjangoOptions, make_enqueuing_client, problems
from ojs_aws.contrib.outbox.database import POSTGRESQL, SQLITE
from ojs_aws.typed_jobs.clients import FROM_ENVIRONMENT
from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.typed_jobs.senders import Sender

MODULE = "jobs"


def discover() -> None:
    """Import ``jobs.py`` of each app, and send its jobs to the server of the setting ``OJS``.

    What an application has configured itself stays.
    """
    autodiscover_modules(MODULE)
    for jobs in discovered():
        if jobs.clients is FROM_ENVIRONMENT:
            jobs.configure(make_enqueuing_client)


def discovered() -> list[Jobs]:
    """Return each ``Jobs`` that a module ``jobs.py`` of an installed app has, once."""
    found: dict[int, Jobs] = {}
    for config in apps.get_app_configs():
        module = sys.modules.get(f"{config.name}.{MODULE}")
        for value in vars(module).values() if module else ():
            if isinstance(value, Jobs):
                found[id(value)] = value
    return list(found.values())


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


CHECKS = "ojs"
"""The tag of the checks: ``manage.py check --tag ojs``."""


class OjsConfig(AppConfig):
    """Finds the jobs of the project, and checks its settings."""

    name = "ojs_aws.contrib.django"
    label = "ojs"
    verbose_name = "Open Job Spec"

    def ready(self) -> None:
        """Import ``jobs.py`` of each app; wrong settings are errors of the system check."""
        checks.register(check_options, CHECKS)
        discover()
