"""Runs `ojs-aws local` with an hour of counted traffic behind it, for screenshots."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Final
from unittest import mock

from ojs_aws.adapters.dynamodb.queues.tallies import DynamoTallies
from ojs_aws.cli import local, main
from ojs_aws.config import Settings
from ojs_aws.domain.queues.tallies import MINUTE_MS, Tally, TallyKind
from ojs_aws.domain.timestamps import Instant
from ojs_aws.local.server import LocalServer

RATES: Final = {"email": 280, "invoices": 118, "media": 218, "payments": 71, "search": 31}
"""Jobs a minute, by queue."""
MINUTES: Final = 60
FAILED: Final = 0.01


class BusyServer(LocalServer):
    """Counts an hour of work before it starts: as much came as ended."""

    def _provide(self) -> Settings:
        settings = super()._provide()
        chance = random.Random(7)
        tallies = DynamoTallies(self._dynamodb, settings.table)
        now = int(time.time() * 1000) // MINUTE_MS
        for queue, rate in RATES.items():
            for minute in range(now - MINUTES, now):
                tally = _minute(chance, rate)
                tallies.add(queue, Instant(minute * MINUTE_MS), tally, f"{queue} {minute}")
        return settings


def _minute(chance: random.Random, rate: int) -> Tally:
    came, ended = (round(chance.gauss(rate, rate / 25)) for _ in range(2))
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
    with mock.patch.object(local, "LocalServer", BusyServer):
        main()
