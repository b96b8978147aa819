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
from ojs_aws.memory_aws import Call, MemoryAws
from ojs_aws.memory_aws.calls import Answer, Effect
from ojs_aws.memory_aws.table import key_of
from ojs_aws.topology import TABLE

BLOCK: Final = 4096
KEYS: Final = (TABLE.partition_key, TABLE.sort_key)
INDEX_KEYS: Final = (TABLE.index.partition_key, TABLE.index.sort_key)
_WRITES: Final = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems")
_READS: Final = ("GetItem", "BatchGetItem", "Query")
_OBJECT_CALLS: Final = {"PutObject": "S3 PUT", "GetObject": "S3 GET"}
"""Calls of S3 by their prices; deletions are free."""
_HANDLE_BYTES: Final = 309
"""Of the receipt handles of AWS: 412 characters of base64. An emulator's are shorter."""


@dataclass
class Meter:
    """What was used since the last time.

    :ivar aws: whose calls are weighed.
    :ivar partitions: write units by partition key of the table, without its index.
    """

    aws: MemoryAws
    table: str
    calls: Counter[str] = field(default_factory=Counter)
    writes: float = 0.0
    reads: float = 0.0
    requests: int = 0
    objects: Counter[str] = field(default_factory=Counter)
    partitions: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Weigh the calls from now on."""
        self._inject = self.aws.calls.inject
        self.aws.calls.inject = self._weigh

    def reset(self) -> None:
        """Begin again at zero."""
        self.calls.clear()
        self.objects.clear()
        self.partitions.clear()
        self.writes, self.reads, self.requests = 0.0, 0.0, 0

    def _weigh(self, call: Call, effect: Effect) -> Answer:
        name = call.operation
        self.calls[name] += 1
        self.requests += call.service == "sqs"
        if name in _OBJECT_CALLS:
            self.objects[_OBJECT_CALLS[name]] += 1
        if name in _WRITES:
            return self._written(call, effect)
        answer = self._inject(call, effect)
        if name in _READS:
            self._read(call, answer)
        return answer

    def _written(self, call: Call, effect: Effect) -> Answer:
        written = [(key, factor, self._item(key)) for key, factor in _written(call.request)]
        try:
            return self._inject(call, effect)
        finally:  # a refused write leaves what is there
            for key, factor, before in written:
                after = self._item(key)
                size = max(item_bytes(before), item_bytes(after))
                units = factor * write_units(size)
                self.partitions[key[KEYS[0]]["S"]] += units
                self.writes += units + _index_units(before, after)

    def _item(self, key: Mapping[str, Any]) -> dict[str, Any]:
        return as_on_aws(dict(self.aws.table(self.table).get(key_of(dict(key))) or {}))

    def _read(self, call: Call, answer: Answer) -> None:
        params = call.request
        asked = params.get("RequestItems", {}).get(self.table, params)
        each = 1.0 if asked.get("ConsistentRead") else 0.5
        if call.operation == "BatchGetItem":
            found = answer["Responses"].get(self.table, [])
            missing = len(asked["Keys"]) - len(found)
            blocks = sum(_blocks(item_bytes(item)) for item in found) + missing
        else:
            items = answer.get("Items") or [answer.get("Item") or {}]
            if "IndexName" in params:
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
