"""Runs `ojs-aws local` with counted traffic, an hour of it at the start, for screenshots."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from typing import Final
from unittest import mock

from ojs_aws.adapters.dynamodb.failure_groups import FailureGroups
from ojs_aws.adapters.dynamodb.queues.tallies import Tallies
from ojs_aws.cli import main
from ojs_aws.config import Settings
from ojs_aws.domain.jobs.failure_groups import WINDOW_MS, FailureGroup, window_of
from ojs_aws.domain.queues.tallies import MINUTE_MS, Tally, TallyKind
from ojs_aws.domain.timestamps import Instant
from ojs_aws.local import server
from ojs_aws.local.server import LocalServer

RATES: Final = {"email": 280, "invoices": 118, "media": 218, "payments": 71, "search": 31}
"""Jobs a minute, by queue."""
GROWS: Final = {"media": (20, 13), "payments": (1, 3)}
"""By how many jobs a minute some of them grow, and for how many minutes."""

MINUTES: Final = 60
HOURS: Final = 24
FAILED: Final = 0.01
FAILURES: Final = {
    ("shipping", "RuntimeError", "ffmpeg exited with *: Invalid data found", 0): (22, 35, 41),
    ("payments", "CardDeclined", "the card ending in * was declined: insufficient funds", 1): (4,),
    ("email", "SmtpTimeout", "SMTP server * did not answer within * s", 2): (2,),
    ("payments", "GatewayTimeout", "* did not answer within * s", 3): (1,),
}
"""Failures of the last hours: of the last three, or about so many in each of a day."""


class BusyServer(LocalServer):
    """Counts an hour of work before it starts, and each minute that follows."""

    def _provide(self) -> Settings:
        settings = super()._provide()
        chance = random.Random(7)
        tallies = Tallies(self._dynamodb, settings.table)
        now = int(time.time() * 1000) // MINUTE_MS

        def count(minute: int) -> None:
            for queue, rate in RATES.items():
                more, minutes = GROWS.get(queue, (0, 0))
                tally = _minute(chance, rate, more if minute >= now - minutes else 0)
                tallies.add(queue, Instant(minute * MINUTE_MS), tally, f"{queue} {minute}")

        def go_on() -> None:
            minute = now
            while True:
                time.sleep(5)
                while minute < int(time.time() * 1000) // MINUTE_MS:
                    count(minute)
                    minute += 1

        for minute in range(now - MINUTES, now):
            count(minute)
        self._fail(settings, chance)
        threading.Thread(target=go_on, daemon=True).start()
        return settings

    def _fail(self, settings: Settings, chance: random.Random) -> None:
        """Count failures of the last day by their errors."""
        groups = FailureGroups(self._dynamodb, settings.table)
        hour = window_of(Instant(int(time.time() * 1000)))
        for (queue, kind, message, place), counts in FAILURES.items():
            for ago in range(HOURS, 0, -1):
                is_recent = len(counts) > 1
                if is_recent and ago > len(counts):
                    continue
                count = counts[-ago] if is_recent else round(chance.uniform(0, 2) * counts[0])
                window = Instant(hour - ago * WINDOW_MS)
                group = FailureGroup(
                    type=kind,
                    message=message,
                    example=message.replace("*", "1"),
                    count=count,
                    first_seen=window,
                    last_seen=Instant(window + WINDOW_MS - 60_000),
                    job_ids=(f"01a20000-0000-7000-8000-00000000{place}{ago:03}",),
                )
                if count:
                    groups.add(queue, window, [group], f"{place} {ago}")


def _minute(chance: random.Random, rate: int, more: int) -> Tally:
    came, ended = (round(chance.gauss(rate, rate / 25)) for _ in range(2))
    came += more
    retried = sum(chance.random() < FAILED for _ in range(came))
    counts = {
        TallyKind.ENQUEUED: came,
        TallyKind.STARTED: ended + retried,
        TallyKind.COMPLETED: ended,
        TallyKind.RETRIED: retried,
    }
    tally = Tally(counts=Counter(counts))
    for _ in range(20):
        tally.waits.add(round(chance.uniform(40, 900)))
        tally.runs.add(round(chance.uniform(90, 2500)))
    return tally


if __name__ == "__main__":
    with mock.patch.object(server, "LocalServer", BusyServer):
        main()
