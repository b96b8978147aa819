"""Implements ``manage.py ojs_cron_sync``."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.module_loading import import_string

from ojs_aws.contrib.django.options import CLIENTS, DjangoOptions
from ojs_aws.errors import NotFoundError, OjsError
from ojs_aws.typed_jobs.clients import sending_sync_client


class CronSyncCommand(BaseCommand):
    """Registers the cron jobs of the setting ``OJS["CRON"]``."""

    help = "Register the cron jobs of OJS['CRON'], and change those that differ."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Describe the options."""
        parser.add_argument(
            "--delete", nargs="*", default=[], metavar="NAME", help="Delete these cron jobs, too."
        )

    def handle(self, *, delete: list[str], **_: Any) -> None:
        """Register each of them by its name; twice is as good as once.

        :raises CommandError: the server refuses one, or cannot be reached.
        """
        entries = DjangoOptions.read().cron
        if both := sorted({*delete} & {*entries}):
            raise CommandError(f"OJS['CRON'] has {', '.join(both)}: remove it there first.")
        try:
            cron = sending_sync_client(CLIENTS).cron
            for name, entry in entries.items():
                call = import_string(entry.job).call(*entry.args, **entry.keywords)
                options = entry.model_dump(exclude={"cron", "job", "args", "keywords"})
                cron.register(name, entry.cron, call, **options)
                self.stdout.write(f"{name}: {entry.cron}")
            for name in delete:
                try:
                    cron.delete(name)
                except NotFoundError:
                    continue
                self.stdout.write(f"{name}: deleted")
        except (OjsError, ValueError, TypeError) as problem:
            raise CommandError(str(problem)) from problem


Command = CronSyncCommand  # the name that Django looks for
