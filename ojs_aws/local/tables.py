"""Speeds up moto's DynamoDB tables: ten thousand items are as fast as ten.

Moto sorts the whole table for each query, and copies it for each part of each transaction. The
local server would become slower with every job it ever had. Here a query looks only at the items
of its partition, and a transaction that fails is undone item by item. What is answered stays
moto's affair. So do the application's own tables.
"""

from __future__ import annotations

import copy
import heapq
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, Final

from ojs_aws.local.patches import RECORDS, patched
from ojs_aws.topology import TABLE

Change = tuple[Any, Any]
"""An item before and after a write; None where there was none."""

_LISTS: Final = "_ojs_lists"
_CANDIDATES: Final = "_ojs_candidates"
_JOURNAL: Final = "_ojs_journal"


def fast_tables() -> AbstractContextManager[None]:
    """Patch moto's tables; calls to them must come one at a time."""
    from moto.dynamodb.models import DynamoDBBackend  # an extra
    from moto.dynamodb.models.table import StreamShard, Table

    return patched(
        (Table, "query", _query),
        (Table, "all_items", _all_items),
        (Table, "__deepcopy__", lambda _: _copy),
        (StreamShard, "add", _add),
        (DynamoDBBackend, "transact_write_items", _transact),
    )


def _copy(table: Any, memo: dict[int, Any]) -> Any:
    """Return the table itself to a transaction that can undo its writes, and a copy to others."""
    if _JOURNAL in vars(table):
        return table
    copied = memo[id(table)] = object.__new__(type(table))
    vars(copied).update(copy.deepcopy(vars(table), memo))
    return copied


# -------------------------------------------------------------------------------------- queries


def _query(original: Any) -> Any:
    def query(  # noqa: PLR0917 - moto's signature
        self: Any,
        hash_key: Any,
        comparison: str | None,
        operands: list[Any],
        limit: int | None,
        start: dict[str, Any] | None,
        forward: bool | None,  # noqa: FBT001 - moto's signature
        projection: Any,
        index_name: str | None = None,
        *args: Any,
        **more: Any,
    ) -> Any:
        wanted = (hash_key, comparison, operands, limit, start, forward, projection, index_name)
        if not _is_ours(self) or index_name not in {None, TABLE.index.name}:
            return original(self, *wanted, *args, **more)
        if index_name:
            conditions = dict(more.get("hash_key_conditions") or [])
            partition = conditions[TABLE.index.partition_key].value
            items, key = _lists(self).get(partition, {}), TABLE.index.sort_key
        else:
            items, key = self.items.get(hash_key, {}), self.range_key_attr
        found: Iterable[Any] = items.values()
        if comparison:
            found = [item for item in found if item.attrs[key].compare(comparison, operands)]
        if limit is not None and start is None:
            chosen = heapq.nlargest if forward is False else heapq.nsmallest
            found = chosen(limit + 1, found, key=lambda item: _sort_key(item, key))
        setattr(self, _CANDIDATES, list(found))
        try:
            return original(self, *wanted, *args, **more)
        finally:
            vars(self).pop(_CANDIDATES, None)

    return query


def _is_ours(table: Any) -> bool:
    """Return True for a table of the backend; one of the application may have any keys."""
    keys = (table.hash_key_attr, table.range_key_attr)
    indexes = [index.name for index in table.all_indexes()]
    return keys == (TABLE.partition_key, TABLE.sort_key) and indexes == [TABLE.index.name]


def _sort_key(item: Any, key: str) -> tuple[Any, ...]:
    return item.attrs[key].value, item.hash_key.value, item.range_key.value


def _all_items(original: Any) -> Any:
    def all_items(self: Any) -> Any:
        candidates = vars(self).get(_CANDIDATES)
        return original(self) if candidates is None else candidates

    return all_items


def _lists(table: Any) -> dict[str, dict[tuple[str, str], Any]]:
    """Return the index: items by partition and key. Made at the first use, kept by :func:`_add`."""
    lists: dict[str, dict[tuple[str, str], Any]] | None = table.__dict__.get(_LISTS)
    if lists is None:
        lists = {}
        setattr(table, _LISTS, lists)
        for partition in table.items.values():
            for item in partition.values():
                _relist(lists, (None, item))
    return lists


def _relist(lists: dict[str, dict[tuple[str, str], Any]], change: Change) -> None:
    for item, is_there in zip(change, (False, True), strict=True):
        attribute = item.attrs.get(TABLE.index.partition_key) if item is not None else None
        if attribute is None:
            continue
        key = (item.hash_key.value, item.range_key.value)
        listed = lists.setdefault(attribute.value, {})
        if is_there:
            listed[key] = item
        else:
            listed.pop(key, None)


# ------------------------------------------------------------------------------- writes, undone


def _add(original: Any) -> Any:
    def add(self: Any, old: Any, new: Any) -> None:
        original(self, old, new)
        if _LISTS in self.table.__dict__:
            _relist(getattr(self.table, _LISTS), (old, new))
        journal = self.table.__dict__.get(_JOURNAL)
        if journal is not None:
            journal.append((old, new))
        RECORDS.notify()

    return add


def _transact(original: Any) -> Any:
    def transact_write_items(self: Any, transact_items: Any) -> Any:
        tables = [each for each in self.tables.values() if each.stream_shard and _is_ours(each)]
        lengths = [len(table.stream_shard.items) for table in tables]
        for table in tables:
            setattr(table, _JOURNAL, [])
        try:
            return original(self, transact_items)
        except Exception:
            for table, length in zip(tables, lengths, strict=True):
                _undo(table, length)
            raise
        finally:
            for table in tables:
                delattr(table, _JOURNAL)

    return transact_write_items


def _undo(table: Any, length: int) -> None:
    """Restore each item as it was, the last one first, and remove its stream records."""
    lists = _lists(table)
    for old, new in reversed(getattr(table, _JOURNAL)):
        item = new if old is None else old
        if old is None:
            table.items[item.hash_key].pop(item.range_key, None)
        else:
            table.items[item.hash_key][item.range_key] = old
        _relist(lists, (new, old))
    del table.stream_shard.items[length:]
