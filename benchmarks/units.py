"""Counts AWS calls, and the read and write units of DynamoDB by its own rules, item by item.

A write costs the begun kilobytes of the item before or after it, whichever is larger, in a
transaction twice that, and once more for each row of the index that it changes. A refused write
costs what is there. A read costs the begun blocks of 4 KB, half of them where it may be late.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ojs_aws.adapters.dynamodb.columns import item_bytes, write_units
from ojs_aws.adapters.dynamodb.names import HANDLE
from ojs_aws.topology import TABLE

BLOCK: Final = 4096
KEYS: Final = (TABLE.partition_key, TABLE.sort_key)
INDEX_KEYS: Final = (TABLE.index.partition_key, TABLE.index.sort_key)
_WRITES: Final = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems")
_READS: Final = ("GetItem", "BatchGetItem", "Query")
_OBJECT_CALLS: Final = {"PutObject": "S3 PUT", "GetObject": "S3 GET"}
"""Calls of S3 by their prices; deletions are free."""
_BEFORE: Final = "ojs-items-before"
_HANDLE_BYTES: Final = 309
"""Of the receipt handles of AWS: 412 characters of base64. An emulator's are shorter."""


@dataclass
class Meter:
    """What was used since the last time.

    :ivar look: a client of its own, whose calls are not counted.
    """

    look: Any
    table: str
    calls: Counter[str] = field(default_factory=Counter)
    writes: float = 0.0
    reads: float = 0.0
    requests: int = 0
    objects: Counter[str] = field(default_factory=Counter)

    def watch(self, dynamodb: Any, sqs: Any, s3: Any) -> None:
        """Weigh the calls of these clients from now on."""
        for client in (dynamodb, sqs, s3):
            client.meta.events.register("before-call", self._call)
        events = dynamodb.meta.events
        for name in _WRITES:
            events.register(f"provide-client-params.dynamodb.{name}", self._before)
            events.register(f"after-call.dynamodb.{name}", self._written)
        for name in _READS:
            events.register(f"provide-client-params.dynamodb.{name}", self._asked)
            events.register(f"after-call.dynamodb.{name}", self._read)

    def reset(self) -> None:
        """Begin again at zero."""
        self.calls.clear()
        self.objects.clear()
        self.writes, self.reads, self.requests = 0.0, 0.0, 0

    def _call(self, model: Any, **_: Any) -> None:
        self.calls[model.name] += 1
        self.requests += bool(model.service_model.service_name == "sqs")
        if model.name in _OBJECT_CALLS:
            self.objects[_OBJECT_CALLS[model.name]] += 1

    # ------------------------------------------------------------------ writes
    def _before(self, params: Any, context: Any, **_: Any) -> None:
        context[_BEFORE] = [(key, factor, self._item(key)) for key, factor in _written(params)]

    def _written(self, parsed: Any, context: Any, **_: Any) -> None:
        for key, factor, before in context[_BEFORE]:
            after = before if "Error" in parsed else self._item(key)
            size = max(item_bytes(before), item_bytes(after))
            self.writes += factor * write_units(size) + _index_units(before, after)

    def _item(self, key: Mapping[str, Any]) -> dict[str, Any]:
        found = self.look.get_item(TableName=self.table, Key=key, ConsistentRead=True)
        return as_on_aws(dict(found.get("Item", {})))

    # ------------------------------------------------------------------ reads
    def _asked(self, params: Any, context: Any, **_: Any) -> None:
        asked = params.get("RequestItems", {}).get(self.table, params)
        is_consistent, of_index = bool(asked.get("ConsistentRead")), "IndexName" in params
        context[_BEFORE] = (is_consistent, of_index, len(asked.get("Keys", ())))

    def _read(self, model: Any, parsed: Any, context: Any, **_: Any) -> None:
        is_consistent, of_index, keys = context[_BEFORE]
        each = 1.0 if is_consistent else 0.5
        if model.name == "BatchGetItem":
            found = parsed.get("Responses", {}).get(self.table, [])
            blocks = sum(_blocks(item_bytes(item)) for item in found) + keys - len(found)
        else:
            items = parsed.get("Items") or [parsed.get("Item") or {}]
            if of_index:
                items = [_row(item) for item in items]
            blocks = _blocks(sum(map(item_bytes, items)))
        self.reads += each * blocks


def as_on_aws(item: dict[str, Any]) -> dict[str, Any]:
    """Return a job's item with a receipt handle as long as AWS makes them."""
    return item | {HANDLE: {"B": bytes(_HANDLE_BYTES)}} if HANDLE in item else item


def _written(params: Any) -> list[tuple[dict[str, Any], int]]:
    """The keys that a call writes, and how often each kilobyte is paid."""
    if "TransactItems" in params:
        actions = [next(iter(action.values())) for action in params["TransactItems"]]
        return [(_key(action), 2) for action in actions]
    if "RequestItems" in params:
        [requests] = params["RequestItems"].values()
        return [(_key(next(iter(request.values()))), 1) for request in requests]
    return [(_key(params), 1)]


def _key(action: Any) -> dict[str, Any]:
    whole = action.get("Key") or action["Item"]
    return {name: whole[name] for name in KEYS}


def _row(item: Mapping[str, Any]) -> dict[str, Any]:
    """What the index holds of an item; nothing where it is not listed."""
    if INDEX_KEYS[0] not in item:
        return {}
    names = (*KEYS, *INDEX_KEYS, *TABLE.index.projected)
    return {name: item[name] for name in names if name in item}


def _index_units(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """One for each row that comes, goes or changes; one that moves goes and comes."""
    old, new = _row(before), _row(after)
    if old == new:
        return 0
    place = [[row.get(name) for name in INDEX_KEYS] for row in (old, new)]
    rows = [row for row in (old, new) if row]
    if old and new and place[0] == place[1]:
        rows = [new]
    return write_units(*(item_bytes(row) for row in rows))


def _blocks(size: int) -> int:
    return max(1, -(-size // BLOCK))
