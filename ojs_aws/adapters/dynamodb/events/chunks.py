"""Packs events into items of the log, and decides which chunk is surely the last.

Chunks expire, and DynamoDB removes what has expired within days and in no order: the newest may be
gone while an older one is still there. A writer that took the next number after that older
chunk would use one for the second time, and readers whose cursor is past it would see nothing. So a
writer takes the next number only while no later chunk can have expired: no chunk expires before an
earlier one, and the last one that was found has some time left itself.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import (
    Item,
    Value,
    number,
    packed,
    read_number,
    read_string,
    string,
    unpacked,
)
from ojs_aws.adapters.dynamodb.table import item_key
from ojs_aws.domain.events import Event, bounded
from ojs_aws.domain.runtime import in_groups
from ojs_aws.domain.timestamps import Instant

PARTITION: Final = "events"
HEAD: Final = "events#head"
START: Final = "from"
AT: Final = "at_ms"
TOKEN: Final = n.TOKEN
MAX_CHUNK_BYTES: Final = 350_000
"""Before deflating, which lengthens no text by more than a fiftieth; DynamoDB takes 400 KB."""
MAX_EVENT_BYTES: Final = 100_000
_COLUMNS: Final = ("id", "type", "time", "queue", "subject", "job_type", "sequence", "data")
SUBJECT: Final = "\x01"
"""Stands for the event's subject in the data of a chunk of columns."""
BEST: Final = 9
"""The level of zlib for chunks of columns: their bytes decide how much a deployment handles."""
TAIL_BYTES: Final = 10
"""Bytes of an id behind its time."""
_ID: Final = re.compile(
    r"evt_([0-9a-f]{8})-([0-9a-f]{4})-(7[0-9a-f]{3})-([0-9a-f]{4})-([0-9a-f]{12})"
)
"""The id of an event; its first 12 digits are the time."""
MARGIN_MS: Final = 3_600_000
"""How far the clocks of writers and of DynamoDB may be apart, and how long a put may take."""


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


def chunk_item(
    position: int,
    events: Sequence[Event],
    now: Instant,
    ttl: int,
    token: str,
    *,
    by_columns: bool = False,
) -> Item:
    """Return the item of a chunk. Data stays text, so that clients' numbers stay exact.

    :param ttl: when it expires, in seconds since the epoch.
    :param by_columns: whether it holds columns rather than rows: a third shorter.
    """
    return {
        **item_key(PARTITION, chunk_key(position)),
        AT: number(now),
        TOKEN: string(token),
        n.DOCUMENT: _columns_of(events) if by_columns else _rows_of(events),
        n.TTL: number(ttl),
    }


def _rows_of(events: Sequence[Event]) -> Value:
    rows = [[getattr(event, name) for name in _COLUMNS] for event in events]
    return packed(json.dumps(rows, separators=(",", ":")))


def _columns_of(events: Sequence[Event]) -> Value:
    """Return events column by column; data refers to the subject, which it mostly names.

    If data contains the sign of such a reference, it returns rows. Valid JSON never contains it.
    """
    if any(SUBJECT in event.data for event in events):
        return _rows_of(events)
    columns: dict[str, list[str] | str]
    columns = {name: [getattr(event, name) for event in events] for name in _COLUMNS}
    columns["id"] = _packed_ids(events) or columns["id"]
    columns["data"] = [
        event.data.replace(event.subject, SUBJECT) if event.subject else event.data
        for event in events
    ]
    return packed(json.dumps(columns, separators=(",", ":")), BEST)


def _packed_ids(events: Sequence[Event]) -> str:
    """Return what the ids have beside the times of their events; empty if one has another form.

    These bits are random, and do not compress: as text they would be half of a chunk.
    """
    tails = bytearray()
    for event in events:
        found = _ID.fullmatch(event.id)
        if found is None or "".join(found.groups()[:2]) != f"{event.time:012x}":
            return ""
        tails += bytes.fromhex("".join(found.groups()[2:]))
    return base64.b64encode(tails).decode()


def _ids(packed_ids: str, times: Sequence[int]) -> list[str]:
    """Return the ids of events, from what :func:`_packed_ids` returned."""
    tails = base64.b64decode(packed_ids).hex()
    length = 2 * TAIL_BYTES
    found = []
    for at, time in enumerate(times):
        digits = f"{time:012x}{tails[at * length : (at + 1) * length]}"
        parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
        found.append(f"evt_{'-'.join(parts)}")
    return found


def chunk_events(item: Item) -> list[Event]:
    """Return the events of a chunk, of rows or of columns."""
    found = json.loads(unpacked(item[n.DOCUMENT]))
    if isinstance(found, list):
        return [Event(**dict(zip(_COLUMNS, row, strict=True))) for row in found]
    if isinstance(found["id"], str):
        found["id"] = _ids(found["id"], found["time"])
    rows = [dict(zip(_COLUMNS, row, strict=True)) for row in zip(*found.values(), strict=True)]
    return [Event(**row | {"data": row["data"].replace(SUBJECT, row["subject"])}) for row in rows]


def chunk_time(item: Item) -> int:
    """Return when a chunk was appended, by its writer's clock."""
    return read_number(item, AT) or 0


class Tail(NamedTuple):
    """Holds a chunk that was the last one when it was read.

    :ivar at: when it was appended, by the clock of who did.
    :ivar ttl: when it expires, in seconds since the epoch.
    """

    position: int
    at: Instant
    ttl: int

    def is_surely_last(self, now: Instant, retention_s: int) -> bool:
        """Return whether no later chunk can have been removed.

        Both its own expiry and its age under the present retention count: earlier chunks may have
        had a shorter retention.
        """
        expires = min(self.ttl * 1000, self.at + retention_s * 1000)
        return expires - now > min(MARGIN_MS, retention_s * 250)


def tail_of(item: Item) -> Tail:
    """Return the tail that an item of the log represents."""
    return Tail(position_of(item), Instant(chunk_time(item)), read_number(item, n.TTL) or 0)
