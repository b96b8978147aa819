"""Packs events into items of the log: a chunk holds the events of one append."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.table import item_key
from ojs_aws.adapters.dynamodb.values import (
    Item,
    number,
    packed,
    read_number,
    read_string,
    string,
    unpacked,
)
from ojs_aws.domain.events import Event, bounded
from ojs_aws.domain.groups import in_groups
from ojs_aws.domain.timestamps import Instant

PARTITION: Final = "events"
HEAD: Final = "events#head"
START: Final = "from"
AT: Final = "at_ms"
TOKEN: Final = n.TOKEN
MAX_CHUNK_BYTES: Final = 200_000
"""Before deflating; DynamoDB takes 400 KB."""
MAX_EVENT_BYTES: Final = 100_000

_COLUMNS: Final = ("id", "type", "time", "queue", "subject", "job_type", "sequence", "data")


def chunk_key(position: int) -> str:
    """Return the sort key of the chunk with this number."""
    return f"{max(position, 0):015d}"


def position_of(item: Item) -> int:
    """Return the number of a chunk from its sort key."""
    return int(read_string(item, n.SK))


def in_chunks(events: Sequence[Event]) -> Iterator[list[Event]]:
    """Group events so that each group fits an item, in order."""
    short = (bounded(event, MAX_EVENT_BYTES) for event in events)
    return in_groups(short, lambda event: len(event.data.encode()) + 300, MAX_CHUNK_BYTES)


def chunk_item(position: int, events: Sequence[Event], now: Instant, ttl: int, token: str) -> Item:
    """Return the item of a chunk. Data stays text, so that clients' numbers stay exact.

    :param ttl: when it expires, in seconds since the epoch.
    """
    rows = [[getattr(event, name) for name in _COLUMNS] for event in events]
    return {
        **item_key(PARTITION, chunk_key(position)),
        AT: number(now),
        TOKEN: string(token),
        n.DOCUMENT: packed(json.dumps(rows, separators=(",", ":"))),
        n.TTL: number(ttl),
    }


def chunk_events(item: Item) -> list[Event]:
    """Return the events of a chunk."""
    rows = json.loads(unpacked(item[n.DOCUMENT]))
    return [Event(**dict(zip(_COLUMNS, row, strict=True))) for row in rows]


def chunk_time(item: Item) -> int:
    """Return when a chunk was appended, by its writer's clock."""
    return read_number(item, AT) or 0
