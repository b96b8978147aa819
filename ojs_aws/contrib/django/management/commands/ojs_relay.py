"""Implements ``manage.py ojs_relay``."""

from __future__ import annotations

import signal
from argparse import ArgumentParser
from contextlib import closing
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS

from ojs_aws.client.transports.substitute import NO_SERVER, current_substitute
from ojs_aws.contrib.django.options import DjangoOptions
from ojs_aws.contrib.django.outbox import make_relay
from ojs_aws.contrib.outbox.relay import Relay
from ojs_aws.contrib.outbox.store import Report, report


class RelayCommand(BaseCommand):
    """Sends the committed jobs of an outbox, and shows or retries those that were parked."""

    help = "Send committed jobs until Ctrl-C or SIGTERM; of several relays, one sends."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Describe the options."""
        parser.add_argument("--database", default=DEFAULT_DB_ALIAS, help="An alias of DATABASES.")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--once", action="store_true", help="Send what is due now, and end.")
        what.add_argument(
            "--status", action="store_true", help="Count the rows; an error if some are parked."
        )
        what.add_argument(
            "--retry", nargs="*", metavar="ID", help="Send these parked jobs again, or all of them."
        )

    def handle(self, *, database: str, retry: list[str] | None, **chosen: Any) -> None:
        """Run the relay, or do what was chosen.

        :raises CommandError: the backend takes no rows, some are parked, or nothing says where to.
        """
        is_sending = retry is None and not chosen["status"]
        if is_sending and current_substitute() is None and DjangoOptions.read().names_no_server:
            raise CommandError(NO_SERVER)
        try:
            relay = make_relay(database)
        except ValueError as problem:
            raise CommandError(str(problem)) from problem
        with closing(relay):
            if retry is not None:
                count = relay.store.try_again(retry or None)
                self.stdout.write(f"{count} rows are to be sent again")
            elif chosen["status"]:
                self._tell(report(relay.store))
            elif chosen["once"]:
                self._send_once(relay)
            else:
                self._run(database, relay)

    def _run(self, database: str, relay: Relay) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: relay.stop())
        self.stderr.write(f"Sending the jobs of {database!r}; Ctrl-C stops it")
        relay.run()

    def _tell(self, seen: Report) -> None:
        self.stdout.write("\n".join(seen.lines))
        if seen.parked:
            raise CommandError(f"{seen.parked} rows are parked: see docs/outbox.md.", returncode=7)

    def _send_once(self, relay: Relay) -> None:
        done = relay.drain()
        self.stdout.write(f"sent {done.sent}, refused {done.refused}, parked {done.parked}")
        if done.outage:
            raise CommandError(f"The backend takes no rows: {done.outage}")


Command = RelayCommand  # the name that Django looks for
