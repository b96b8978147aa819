"""Keeps changes whose events could not be published, whole, until an operator asks for them.

A record has two images of an item, so it may be longer than an item can be. Then its text is cut
into parts, which are put before the item that names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ojs_aws.adapters.dynamodb import columns as c
from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, Value, number, string
from ojs_aws.adapters.dynamodb.events.chunks import AT, MAX_CHUNK_BYTES
from ojs_aws.adapters.dynamodb.table import InTable, item_key
from ojs_aws.domain.events import SetAside
from ojs_aws.domain.timestamps import Instant

ASIDE: Final = "events#aside"
PARTS: Final = "events#aside-parts"
COUNT: Final = "parts"
KEPT_S: Final = 14 * 86_400
MARGIN_S: Final = 7 * 86_400
"""How much longer parts are kept: DynamoDB removes expired items in no order, within days."""
REASON: Final = "why"
_COLUMNS: Final[c.Columns] = {c.TEXT: {n.SK: "number", REASON: "reason"}}


@dataclass(frozen=True, slots=True)
class AsideRecords(InTable):
    """Stores changes that make no events."""

    def put(self, change: SetAside, now: Instant) -> None:
        """Store a change; may be repeated.

        Makes one put, and one more for each part of a long record.
        """
        expiry = now // 1000 + KEPT_S
        item = {
            n.PK: string(ASIDE),
            **c.attributes(change, _COLUMNS),
            AT: number(now),
            n.TTL: number(expiry),
        }
        record = c.packed(change.record)
        if c.stored_bytes(record) <= MAX_CHUNK_BYTES:
            self.put_item(item | {n.DOCUMENT: record})
            return
        parts = _parts_of(change.record)
        item[COUNT] = number(len(parts))
        for key, part in zip(_part_keys(item), parts, strict=True):
            self.put_item({**key, n.DOCUMENT: part, n.TTL: number(expiry + MARGIN_S)})
        self.put_item(item)

    def read(self, limit: int) -> Iterator[SetAside]:
        """Yield the first changes, by number, and leave out those that are expiring.

        Runs one query, and makes one read for each part of a long record, when its turn comes.
        """
        for item in self.query("#pk = :pk", {"pk": string(ASIDE)}, Limit=limit)["Items"]:
            parts = [self.get_item(key) for key in _part_keys(item)]
            if not all(parts):
                continue
            raw = b"".join(c.inflate(bytes(part[n.DOCUMENT]["B"])) for part in parts)
            record = raw.decode() if parts else c.unpacked(item[n.DOCUMENT])
            yield SetAside(**c.read_members(item, _COLUMNS), record=record)

    def forget(self, number: str) -> None:
        """Remove a change.

        Makes one delete, and one more for each part of a long record. Parts whose deletes fail
        expire.
        """
        for key in _part_keys(self.delete_item(item_key(ASIDE, number), returning="ALL_OLD")):
            self.delete_item(key)


def _parts_of(text: str) -> list[Value]:
    """Return a text in parts that each fit an item, however badly they compress."""
    raw = text.encode()
    cuts = range(0, len(raw), MAX_CHUNK_BYTES)
    return [{"B": c.deflate(raw[at : at + MAX_CHUNK_BYTES])} for at in cuts]


def _part_keys(item: Item) -> list[Item]:
    name = c.read_string(item, n.SK)
    return [item_key(PARTS, f"{name}#{index}") for index in range(c.read_count(item, COUNT))]
