"""Stores bulk operations and their answers, an item each, which expire by TTL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ojs_aws.adapters.dynamodb import columns as c
from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, number, read_string, string
from ojs_aws.adapters.dynamodb.table import InTable, condition, item_key
from ojs_aws.adapters.dynamodb.update import ConditionFailedError
from ojs_aws.domain.jobs.batches import BulkDone, BulkRequest, OperationDone
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import BULK_PARTITION, OPERATION_PARTITION

REQUEST: Final = "request"
DIGEST: Final = "dg"
STATUS: Final = "hs"
KEPT_S: Final = 3 * 86_400

TOTAL: Final = "bt"
DONE: Final = "bn"
ATOMIC: Final = "bm"
TARGET: Final = "bo"
RECORD_KEPT_S: Final = 3600
"""How long a finished operation stays for the stream to publish it."""

_DONE: Final[c.Columns] = {
    c.TEXT: {n.SK: "id", n.TYPE: "operation"},
    c.NUMBER: {TOTAL: "total", DONE: "done", n.CREATED: "at"},
    c.BOOLEAN: {ATOMIC: "is_atomic"},
    c.OPTIONAL_TEXT: {n.BY: "by"},
}
_OPERATION: Final[c.Columns] = {
    c.TEXT: {n.SK: "id", n.TYPE: "operation", TARGET: "target", n.BY: "by"},
    c.NUMBER: {n.CREATED: "at"},
    c.OPTIONAL_TEXT: {n.QUEUE: "queue"},
}
_REQUEST: Final[c.Columns] = {
    c.TEXT: {DIGEST: "digest"},
    c.NUMBER: {n.CREATED: "begun_at", STATUS: "status"},
    c.OPTIONAL_PACKED: {n.DOCUMENT: "answer"},
}


@dataclass(frozen=True, slots=True)
class BulkRequests(InTable):
    """Stores bulk operations by their idempotency keys."""

    def begin(self, request: BulkRequest, forgotten_before: Instant) -> BulkRequest:
        """Store a request, unless its key is taken since ``forgotten_before``.

        Makes one conditional put.

        :returns: what stands under the key.
        """
        is_free = "attribute_not_exists(#pk) OR #cr < :old"
        try:
            self.put_item(_item(request), condition(is_free, old=number(forgotten_before)))
        except ConditionFailedError as failed:
            return _read(failed.item)
        return request

    def answer(self, request: BulkRequest) -> None:
        """Store the answer of a request that was begun.

        Makes one put.
        """
        self.put_item(_item(request))

    def record_bulk(self, done: BulkDone) -> None:
        """Store a finished operation for the stream to publish; one write.

        Makes one put.
        """
        item = {n.PK: string(BULK_PARTITION), **c.attributes(done, _DONE)}
        item[n.TTL] = number(done.at // 1000 + RECORD_KEPT_S)
        self.put_item(item)

    def record_operation(self, done: OperationDone) -> None:
        """Store who did an operation for the stream to publish; one write.

        Makes one put.
        """
        item = {n.PK: string(OPERATION_PARTITION), **c.attributes(done, _OPERATION)}
        item[n.TTL] = number(done.at // 1000 + RECORD_KEPT_S)
        self.put_item(item)


def read_done(item: Item) -> BulkDone:
    """Return the finished operation that an item describes."""
    return BulkDone(**c.read_members(item, _DONE))


def read_operation(item: Item) -> OperationDone:
    """Return the operation that an item describes."""
    return OperationDone(**c.read_members(item, _OPERATION))


def _item(request: BulkRequest) -> Item:
    return {
        **item_key(f"bulk#{request.key}", REQUEST),
        **c.attributes(request, _REQUEST),
        n.TTL: number(request.begun_at // 1000 + KEPT_S),
    }


def _read(item: Item) -> BulkRequest:
    key = read_string(item, n.PK).partition("#")[2]
    return BulkRequest(key=key, **c.read_members(item, _REQUEST))
