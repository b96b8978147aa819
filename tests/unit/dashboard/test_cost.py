"""What an open overview costs: the requests of an hour, weighed by DynamoDB's rules."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

from benchmarks.units import Meter
from ojs_aws.adapters.dynamodb.columns import item_bytes
from ojs_aws.adapters.dynamodb.queues.tallies import Tallies
from ojs_aws.bootstrap import build_backend
from ojs_aws.dashboard import files
from ojs_aws.domain.queues.tallies import MINUTE_MS, Tally, TallyKind
from ojs_aws.domain.timestamps import Instant
from ojs_aws.pricing import PRICES
from ojs_aws.topology import TABLE
from tests.api import Api
from tests.aws import EmbeddedAws, embedded

PAGES: Final = Path(files.__file__).parent / "web" / "src" / "pages"
QUEUES: Final = 100
BUSY: Final = 4
SPREAD: Final = 20
"""Powers of two over which times are spread: from a millisecond to some minutes."""
HOUR_S: Final = 3600
MENU: Final = ("/workflows", "/cron", "/rate-limits", "/admin/schemas")
"""What is counted for the menu alone."""

MOST: Final = 0.02
"""Dollars an hour."""


def number(module: str, name: str) -> int:
    """Return a constant of the page's sources."""
    found = re.search(rf"{name} = ([\d_]+);", (PAGES / module).read_text())
    assert found is not None, name
    return int(found[1].replace("_", ""))


def request_price(reads: float, ms: float) -> float:
    """Return the price of a request: the gateway, half a gigabyte of Lambda, and its reads."""
    once = PRICES["HTTP API request"] + PRICES["Lambda request"]
    return once + ms / 1000 * 0.5 * PRICES["Lambda GB-second"] + reads * PRICES["read unit"]


def keep_busy(aws: EmbeddedAws, queues: Iterable[str]) -> None:
    """Let queues have done something in each minute of the last hour, in a time of any length."""
    tallies = Tallies(aws.clients.dynamodb, aws.settings.table)
    now = int(time.time() * 1000) // MINUTE_MS
    for queue in queues:
        for minute in range(now - 60, now):
            tally = Tally(held=Counter(available=1000))
            for kind in TallyKind:
                tally.counts[kind] += 1000
            for power in range(SPREAD):
                tally.waits.add(2**power)
                tally.runs.add(2**power)
            tallies.add(queue, Instant(minute * MINUTE_MS), tally, f"{queue}-{minute}")


@pytest.mark.slow
def test_an_open_overview_of_100_queues_costs_under_2_cents_an_hour() -> None:
    """And so does an open list of queues: its counts have a bound, whatever the backlog."""
    with embedded() as aws:
        api = Api(build_backend(aws.settings, aws.clients))
        for index in range(QUEUES):
            job = {"type": "a.b", "args": [], "options": {"queue": f"queue-{index}"}}
            assert api.post("/jobs", job).status == 201
        assert aws.memory is not None
        meter = Meter(aws.memory, aws.settings.table)

        def reads_of(path: str, **query: str) -> float:
            meter.reset()
            assert api.get(path, query=query).status == 200
            return meter.reads

        def read_all() -> dict[str, float]:
            history = reads_of("/admin/stats/history", period="1m", growth="true")
            overview, findings = reads_of("/admin/overview"), reads_of("/admin/findings")
            return {"overview": overview, "findings": findings, "history": history}

        idle = read_all()
        queues = reads_of("/admin/queues", limit="100")
        list_reads = reads_of("/queues", limit="100")
        few = max(reads_of(path, limit="1") for path in MENU)
        keep_busy(aws, (f"queue-{index}" for index in range(BUSY)))
        some = read_all()
        # Each further busy queue reads as much more; to make a hundred takes long.
        reads = {name: idle[name] + (some[name] - idle[name]) / BUSY * QUEUES for name in idle}
        rows = aws.clients.dynamodb.scan(TableName=aws.settings.table)["Items"]
    findings_every = number("overview.tsx", "FINDINGS_EVERY")
    shortest_s = number("queue_counts.ts", "SHORTEST_MS") / 1000
    history_every = number("overview.tsx", "HISTORY_EVERY")
    rounds = HOUR_S / number("overview.tsx", "EVERY_S")
    polled = rounds * request_price(reads["overview"], 50)
    polled += rounds / history_every * request_price(reads["history"], 1500)
    polled += rounds / findings_every * request_price(reads["findings"], 300)
    menu = HOUR_S * 1000 / number("../totals.ts", "COUNTED_MS") * len(MENU) * request_price(few, 50)
    polled += menu
    assert polled < MOST
    counted = HOUR_S / shortest_s * request_price(0, 3000)
    counted += number("queue_counts.ts", "UNITS_AN_HOUR") * PRICES["read unit"]
    counted += HOUR_S / 15 * request_price(reads["overview"], 50)
    growth_every = number("queue_counts.ts", "GROWTH_EVERY")
    counted += HOUR_S / 15 / growth_every * request_price(reads["history"], 1500)
    # The menu's counts and alarms, once a minute; four small lists, seldom.
    counted += menu
    counted += HOUR_S / 60 * request_price(reads["overview"], 50)
    counted += HOUR_S / 60 * request_price(reads["findings"], 300)
    assert counted < MOST
    # What the page takes a count to read is no less than what it reads.
    # The list of the queues itself comes on top.
    assert queues <= (number("queue_counts.ts", "QUERIES_A_QUEUE") + 1) * QUEUES / 2 + list_reads
    names = {TABLE.partition_key, TABLE.sort_key, TABLE.index.partition_key, TABLE.index.sort_key}
    shown = names | {*TABLE.index.projected}
    listed = [
        {name: value for name, value in row.items() if name in shown}
        for row in rows
        if TABLE.index.partition_key in row
    ]
    assert max(map(item_bytes, listed)) + 100 <= number("queue_counts.ts", "ROW_BYTES")
