"""Stores the totals of a queue or tenant: what it holds, and what it did in the newest minute.

The items of all queues share four partitions, so that a few queries read them all. Those of tenants
have four others.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import (
    Item,
    Value,
    number,
    read_count,
    read_instant,
    read_number,
    read_string,
    string,
)
from ojs_aws.adapters.dynamodb.table import item_key
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.domain.queues.tallies import (
    DEAD_LETTER,
    MINUTE_MS,
    WINDOW_MS,
    Minutes,
    QueueTotals,
    StreamLag,
    Tally,
    TallyKind,
    Times,
)
from ojs_aws.domain.timestamps import Instant

PARTITIONS: Final = 4
"""Together they take as many writes as a table that was made today."""

MINUTE: Final = "m"
PAST: Final = "pm"
TODAY: Final = "pd"
WINDOWS: Final = "pw"
LAG: Final = "lg"
LAG_AT: Final = "la"
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


@dataclass(frozen=True, slots=True)
class Counted:
    """Says where the counters of queues are, or of tenants.

    :ivar totals: begins the keys of the partitions that the totals share.
    :ivar sort: begins their sort keys: a queue may be called as the sort keys of jobs are.
    :ivar minutes: begins the key of the partition with the minutes of one of them.
    :ivar kept_s: for how long totals that do not change are kept; None for ever.
    """

    totals: str
    sort: str
    minutes: str
    kept_s: int | None = None

    def partition(self, part: int) -> str:
        """Return the partition key of a part of the totals."""
        return f"{self.totals}#{part}"

    def key(self, name: str) -> Item:
        """Return the key of the totals of a queue or tenant."""
        part = zlib.crc32(name.encode()) % PARTITIONS
        return item_key(self.partition(part), f"{self.sort}{name}")

    def name_in(self, item: Item) -> str:
        """Return the queue or tenant that an item is about."""
        return read_string(item, n.SK).removeprefix(self.sort)

    def minute_key(self, name: str, minute: Instant) -> Item:
        """Return the key of a minute that is over."""
        return item_key(f"{self.minutes}#{name}", n.instant_key(minute))


QUEUES: Final = Counted("totals", "queue#", "tally")
TENANTS: Final = Counted("tenants", "tenant#", "tenant-tally", kept_s=100 * 24 * 3600)


def read_held(item: Item) -> dict[str, int]:
    """Return how many jobs are in each state by an item; one may be below zero."""
    return {state: read_count(item, name) for state, name in HELD.items()}


def read_totals(item: Item) -> QueueTotals:
    """Return the totals that an item holds; an empty one stands for none."""
    return QueueTotals(
        jobs=read_held(item),
        minute=read_instant(item, MINUTE),
        tally=read_tally(item),
        past=_read_past(read_string(item, PAST)),
        today=next((tally for _, tally in _read_past(read_string(item, TODAY))), Tally()),
        windows=_read_windows(read_string(item, WINDOWS)),
        lag=_read_lag(item),
        version=read_string(item, n.TOKEN),
        counted_at=read_instant(item, COUNTED_AT),
        at_least=frozenset(read_string(item, AT_LEAST).split()),
    )


def add_held(update: Update, held: Mapping[str, int]) -> None:
    """Add to the number of jobs in each state."""
    for state, amount in held.items():
        if amount:
            update.add(HELD[state], amount)


def set_lag(update: Update, lag: StreamLag | None) -> None:
    """Say how late the newest changes were counted."""
    if lag is not None:
        update.set(LAG_AT, number(lag.at))
        update.set(LAG, number(lag.ms))


def _read_lag(item: Item) -> StreamLag | None:
    at = read_instant(item, LAG_AT)
    return None if at is None else StreamLag(at, read_count(item, LAG))


def passed(old: QueueTotals, minute: Instant) -> dict[str, Value]:
    """Return the attributes that change with the minute."""
    past, today = old.before(minute)
    return {
        MINUTE: number(minute),
        PAST: string(_text_of(past)),
        WINDOWS: string(_windows_text(old.windows_before(minute))),
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


def _windows_text(windows: Minutes) -> str:
    """Write windows as a line each: when, then the ranges of waits and of runs, in hexadecimal.

    They are part of an item that is billed by the kilobyte.
    """
    return "\n".join(
        f"{at // WINDOW_MS:x}|{_ranges_text(tally.waits)}|{_ranges_text(tally.runs)}"
        for at, tally in windows
    )


def _ranges_text(times: Times) -> str:
    return " ".join(f"{number:x}.{count:x}" for number, count in sorted(times.ranges.items()))


def _read_windows(text: str) -> Minutes:
    """Return windows; the sums of their times are not kept."""
    rows = [line.split("|") for line in text.split("\n") if line]
    return tuple(
        (
            Instant(int(at, 16) * WINDOW_MS),
            Tally(waits=Times(ranges=_ranges(waits)), runs=Times(ranges=_ranges(runs))),
        )
        for at, waits, runs in rows
    )


def _ranges(text: str) -> Counter[int]:
    pairs = (pair.split(".") for pair in text.split())
    return Counter({int(number, 16): int(count, 16) for number, count in pairs})


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
