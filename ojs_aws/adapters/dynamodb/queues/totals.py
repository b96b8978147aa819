"""Stores the totals of a queue: what it holds, and what it did in the newest minute.

The items of all queues share four partitions, so that a few queries read them all.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Mapping
from typing import Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.table import item_key
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.adapters.dynamodb.values import (
    Item,
    Value,
    number,
    read_count,
    read_instant,
    read_number,
    read_string,
    string,
)
from ojs_aws.domain.queues.tallies import DEAD_LETTER, MINUTE_MS, Tally, TallyKind, Times
from ojs_aws.domain.queues.totals import Minutes, QueueTotals
from ojs_aws.domain.timestamps import Instant

PARTITIONS: Final = 4
"""Together they take as many writes as a table that was made today."""

MINUTE: Final = "m"
PAST: Final = "pm"
TODAY: Final = "pd"
COUNTED_AT: Final = "ct"
AT_LEAST: Final = "al"

HELD: Final = {
    "available": "ja",
    "scheduled": "js",
    "retryable": "jr",
    "active": "jx",
    "pending": "jp",
    "completed": "jc",
    "cancelled": "jk",
    "discarded": "jd",
    DEAD_LETTER: "jl",
}
_KINDS: Final = {
    TallyKind.ENQUEUED: "ne",
    TallyKind.STARTED: "ns",
    TallyKind.COMPLETED: "nc",
    TallyKind.FAILED: "nf",
    TallyKind.RETRIED: "nr",
    TallyKind.CANCELLED: "nx",
}
_WAITS: Final = "w"
_RUNS: Final = "r"
_TOTAL: Final = "t"
_SORT: Final = "queue#"
"""Begins the sort keys: a queue may be called as the sort keys of jobs are."""


def partition(part: int) -> str:
    """Return the partition key of a part of the queues."""
    return f"totals#{part}"


def totals_key(queue: str) -> Item:
    """Return the key of a queue's totals."""
    part = zlib.crc32(queue.encode()) % PARTITIONS
    return item_key(partition(part), f"{_SORT}{queue}")


def queue_of(item: Item) -> str:
    """Return the queue that an item is about."""
    return read_string(item, n.SK).removeprefix(_SORT)


def read_totals(item: Item) -> QueueTotals:
    """Return the totals that an item holds; an empty one stands for none."""
    return QueueTotals(
        jobs={state: read_count(item, name) for state, name in HELD.items()},
        minute=read_instant(item, MINUTE),
        tally=read_tally(item),
        past=_read_past(read_string(item, PAST)),
        today=next((tally for _, tally in _read_past(read_string(item, TODAY))), Tally()),
        version=read_string(item, n.TOKEN),
        counted_at=read_instant(item, COUNTED_AT),
        at_least=frozenset(read_string(item, AT_LEAST).split()),
    )


def add_held(update: Update, held: Mapping[str, int]) -> None:
    """Add to the number of jobs in each state."""
    for state, amount in held.items():
        if amount:
            update.add(HELD[state], amount)


def passed(old: QueueTotals, minute: Instant) -> dict[str, Value]:
    """Return the attributes that change with the minute."""
    past, today = old.before(minute)
    return {
        MINUTE: number(minute),
        PAST: string(_text_of(past)),
        TODAY: string(_text_of(((minute, today),)) if today else ""),
    }


def tally_numbers(tally: Tally) -> dict[str, int]:
    """Return the attributes of a tally's counts."""
    found = {_KINDS[kind]: amount for kind, amount in tally.counts.items()}
    for prefix, times in ((_WAITS, tally.waits), (_RUNS, tally.runs)):
        found[prefix + _TOTAL] = times.total_ms
        found |= {f"{prefix}{each}": amount for each, amount in times.ranges.items()}
    return {name: amount for name, amount in found.items() if amount}


def read_tally(item: Item) -> Tally:
    """Return the tally that an item holds."""
    tally = Tally()
    for kind, name in _KINDS.items():
        if amount := read_number(item, name):
            tally.counts[kind] = amount
    tally.waits, tally.runs = _times(item, _WAITS), _times(item, _RUNS)
    return tally


def _times(item: Item, prefix: str) -> Times:
    times = Times(read_count(item, prefix + _TOTAL))
    for name, value in item.items():
        if name[:1] == prefix and name[1:].isdecimal():
            times.ranges[int(name[1:])] = int(value["N"])
    return times


def _text_of(past: Minutes) -> str:
    """Write minutes as numbers: when, how many of each kind, and their run times."""
    rows = [
        [
            at // MINUTE_MS,
            [tally.counts[kind] for kind in _KINDS],
            tally.runs.total_ms,
            *next(iter(tally.runs.ranges.items()), ()),
        ]
        for at, tally in past
    ]
    return json.dumps(rows, separators=(",", ":"))


def _read_past(text: str) -> Minutes:
    return tuple(
        (
            Instant(at * MINUTE_MS),
            Tally(
                counts=Counter(
                    {kind: each for kind, each in zip(_KINDS, counts, strict=True) if each}
                ),
                runs=Times(total_ms, Counter({runs[0]: runs[1]} if runs else {})),
            ),
        )
        for at, counts, total_ms, *runs in json.loads(text or "[]")
    )
