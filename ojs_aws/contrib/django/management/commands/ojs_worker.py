"""Implements ``manage.py ojs_worker``."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ojs_aws.contrib.django.workers import make_worker
from ojs_aws.errors import OjsError
from ojs_aws.middleware.results import RegistrationError


class WorkerCommand(BaseCommand):
    """Runs the jobs of all installed apps until Ctrl-C or SIGTERM."""

    help = (
        "Run the jobs of all installed apps until Ctrl-C or SIGTERM. Running jobs may finish first."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Describe the options."""
        parser.add_argument("--queues", "-q", default="", help="Queues, separated by commas.")
        parser.add_argument("--concurrency", type=int, help="Jobs at the same time.")

    def handle(self, *, queues: str, concurrency: int | None, **_: Any) -> None:
        """Run the worker.

        :raises CommandError: it cannot be run; the message says why.
        """
        try:
            worker = make_worker()
            named = [name.strip() for name in queues.split(",") if name.strip()]
            worker.override(queues=named, concurrency=concurrency)
            if worker.server and not worker.registry:  # the first says if there is none
                raise CommandError("No installed app has a jobs.py with jobs: see docs/django.md.")
        except (ValueError, OjsError, RegistrationError) as problem:
            raise CommandError(str(problem)) from problem
        worker.run()


Command = WorkerCommand  # the name that Django looks for
