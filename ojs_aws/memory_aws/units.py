"""Computes the capacity units of calls by DynamoDB's rules."""

from __future__ import annotations

from typing import Final

from ojs_aws.memory_aws.items import Item, item_size
from ojs_aws.memory_aws.table import row_of
from ojs_aws.topology import TABLE

WRITE_BLOCK: Final = 1024
READ_BLOCK: Final = 4096
_INDEX_KEYS: Final = (TABLE.index.partition_key, TABLE.index.sort_key)


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
