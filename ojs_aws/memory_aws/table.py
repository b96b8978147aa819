"""Keeps the items of a table in their order, with its index, its stream, its TTL and its units."""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from ojs_aws.memory_aws.calls import ACCOUNT, REGION
from ojs_aws.memory_aws.items import Item, item_size
from ojs_aws.topology import TABLE

Key: TypeAlias = tuple[str, str]
"""The partition key and the sort key of an item."""

Position: TypeAlias = tuple[str, str, str]
"""The order of a row in a partition: its sort key there, then the key of its item."""

STREAM_MS: Final = 24 * 3600 * 1000
"""For how long a stream keeps its records (milliseconds)."""

_KEYS: Final = (TABLE.partition_key, TABLE.sort_key)
_INDEX_KEYS: Final = (TABLE.index.partition_key, TABLE.index.sort_key)
_PROJECTED: Final = (*_KEYS, *_INDEX_KEYS, *TABLE.index.projected)


def key_of(item: Item) -> Key:
    """Return the key of an item."""
    return item[_KEYS[0]]["S"], item[_KEYS[1]]["S"]


def row_of(item: Item | None) -> Item | None:
    """Return what the index holds of an item; None if it does not list it."""
    if item is None or _INDEX_KEYS[0] not in item or _INDEX_KEYS[1] not in item:
        return None
    return {name: item[name] for name in _PROJECTED if name in item}


@dataclass(slots=True)
class Rows:
    """Keeps rows by partition, in the order of a sort key."""

    rows: dict[Key, Item] = field(default_factory=dict)
    _sizes: dict[Key, int] = field(default_factory=dict)
    _positions: dict[Key, tuple[str, Position]] = field(default_factory=dict)
    _partitions: dict[str, list[Position]] = field(default_factory=dict)

    def put(self, key: Key, row: Item, partition: str, sort: str) -> None:
        """Put a row in the place of an earlier one of the same key."""
        position = (sort, *key)
        if self._positions.get(key) != (partition, position):
            self.remove(key)
            self._positions[key] = partition, position
            insort(self._partitions.setdefault(partition, []), position)
        self.rows[key] = row
        self._sizes.pop(key, None)

    def size(self, key: Key) -> int:
        """Return the size of a row in bytes; 0 if there is none."""
        size = self._sizes.get(key)
        if size is None and (row := self.rows.get(key)) is not None:
            size = self._sizes[key] = item_size(row)
        return size or 0

    def remove(self, key: Key) -> None:
        """Remove a row, if it is there."""
        self.rows.pop(key, None)
        self._sizes.pop(key, None)
        where = self._positions.pop(key, None)
        if where is None:
            return
        partition, position = where
        positions = self._partitions[partition]
        del positions[bisect_left(positions, position)]
        if not positions:
            del self._partitions[partition]

    def positions(self, partition: str) -> Sequence[Position]:
        """Return the positions of a partition in their order."""
        return self._partitions.get(partition, ())


@dataclass(slots=True)
class Index:
    """Keeps the rows of the sparse index, which may show a write later than the table.

    :ivar lag_ms: how much later the write that is being made is shown (milliseconds). The writes
        of one item are shown in their order.
    """

    now_ms: Callable[[], int]
    lag_ms: Callable[[], int] = lambda: 0
    rows: Rows = field(default_factory=Rows)
    _late: list[tuple[int, int, Key, Item | None]] = field(default_factory=list)
    _late_of: dict[Key, int] = field(default_factory=dict)
    _count: int = 0

    def write(self, key: Key, row: Item | None) -> None:
        """Show a row, or that there is none, at once or later."""
        lag = self.lag_ms()
        if not lag and not self._late:
            self._show(key, row)
            return
        self._count += 1
        at = max(self.now_ms() + lag, self._late_of.get(key, 0))
        self._late_of[key] = at
        heapq.heappush(self._late, (at, self._count, key, row))

    def catch_up(self, *, wholly: bool = False) -> None:
        """Show what is to be shown by now, or all of it."""
        while self._late and (wholly or self._late[0][0] <= self.now_ms()):
            _, _, key, row = heapq.heappop(self._late)
            self._show(key, row)
        if not self._late:
            self._late_of.clear()

    @property
    def is_late(self) -> bool:
        """Return whether some write is not shown yet."""
        return bool(self._late)

    def _show(self, key: Key, row: Item | None) -> None:
        if row is None:
            self.rows.remove(key)
            return
        partition, sort = (row[name]["S"] for name in _INDEX_KEYS)
        self.rows.put(key, row, partition, sort)


@dataclass(slots=True)
class Stream:
    """Keeps the records of changes for a day.

    :ivar end: the position behind the last record; positions count all records ever made.
    """

    now_ms: Callable[[], int]
    records: deque[dict[str, Any]] = field(default_factory=deque)
    end: int = 0

    def add(self, key: Key, before: Item | None, after: Item | None, *, is_expiry: bool) -> None:
        """Add the record of a change, in the form in which Lambda passes it on."""
        self.end += 1
        images = {"OldImage": before, "NewImage": after}
        kind = "INSERT" if before is None else "REMOVE" if after is None else "MODIFY"
        now = self.now_ms()
        record: dict[str, Any] = {
            "eventID": f"{self.end:032x}",
            "eventName": kind,
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": REGION,
            "eventSourceARN": f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/stream",
            "dynamodb": {
                "ApproximateCreationDateTime": now / 1000,
                "Keys": {name: {"S": part} for name, part in zip(_KEYS, key, strict=True)},
                **{name: image for name, image in images.items() if image is not None},
                "SequenceNumber": f"{self.end:021d}",
                "StreamViewType": TABLE.stream_view,
            },
        }
        if is_expiry:
            record["userIdentity"] = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
        self.records.append(record)
        oldest = (now - STREAM_MS) / 1000
        while self.records[0]["dynamodb"]["ApproximateCreationDateTime"] < oldest:
            self.records.popleft()

    def forget(self) -> None:
        """Drop the records: whoever reads them has read them all."""
        self.records.clear()

    def after(self, position: int, limit: int) -> list[dict[str, Any]]:
        """Return records behind a position, the oldest first."""
        begin = max(0, len(self.records) - (self.end - position))
        return [self.records[at] for at in range(begin, min(begin + limit, len(self.records)))]


@dataclass(slots=True)
class MemoryTable:
    """Keeps one table."""

    now_ms: Callable[[], int]
    items: Rows = field(default_factory=Rows)
    index: Index = field(init=False)
    stream: Stream = field(init=False)

    def __post_init__(self) -> None:
        """Begin with an empty index and stream."""
        self.index = Index(self.now_ms)
        self.stream = Stream(self.now_ms)

    def get(self, key: Key) -> Item | None:
        """Return an item; None if there is none. Nobody may change it."""
        return self.items.rows.get(key)

    def write(self, key: Key, after: Item | None, *, is_expiry: bool = False) -> None:
        """Put an item, or remove it. A write that changes nothing makes no record."""
        before = self.items.rows.get(key)
        if before == after:
            return
        if after is None:
            self.items.remove(key)
        else:
            self.items.put(key, after, *key)
        old_row, new_row = row_of(before), row_of(after)
        if old_row != new_row:
            self.index.write(key, new_row)
        self.stream.add(key, before, after, is_expiry=is_expiry)

    def expired(self) -> Iterator[Key]:
        """Find the items whose time to live has passed; DynamoDB removes them some time later."""
        now_s = self.now_ms() // 1000
        for key, item in self.items.rows.items():
            ttl = item.get(TABLE.ttl_attribute, {}).get("N")
            if ttl is not None and int(ttl) <= now_s:
                yield key

    def expire(self) -> int:
        """Remove the items whose time to live has passed; return how many there were."""
        keys = list(self.expired())
        for key in keys:
            self.write(key, None, is_expiry=True)
        return len(keys)


WRITE_BLOCK: Final = 1024
READ_BLOCK: Final = 4096


def write_units(before: Item | None, after: Item | None) -> tuple[float, float]:
    """Return the units of a write in the table and in its index.

    The larger one of the item before and after counts. The index bills each row that comes, goes
    or changes; one that moves goes and comes.
    """
    table = _blocks(max(_size(before), _size(after)), WRITE_BLOCK)
    old, new = row_of(before), row_of(after)
    if old == new:
        return table, 0.0
    rows = [row for row in (old, new) if row is not None]
    if old is not None and new is not None and all(old[k] == new[k] for k in _INDEX_KEYS):
        rows = [max(old, new, key=item_size)]
    return table, sum(_blocks(item_size(row), WRITE_BLOCK) for row in rows)


def read_units(size: int, *, is_consistent: bool) -> float:
    """Return the units of a read of so many bytes."""
    return _blocks(size, READ_BLOCK) * (1.0 if is_consistent else 0.5)


def _size(item: Item | None) -> int:
    return 0 if item is None else item_size(item)


def _blocks(size: int, block: int) -> float:
    return float(max(1, -(-size // block)))
