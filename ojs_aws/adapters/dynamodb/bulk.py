"""Stores bulk operations and their answers, an item each, which expire by TTL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.conditions import ConditionFailedError
from ojs_aws.adapters.dynamodb.table import InTable, condition, item_key
from ojs_aws.adapters.dynamodb.values import (
    Item,
    number,
    packed,
    read_count,
    read_string,
    string,
    unpacked,
)
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import BulkDone, BulkRequest
from ojs_aws.topology import BULK_PARTITION

REQUEST: Final = "request"
DIGEST: Final = "dg"
STATUS: Final = "hs"
KEPT_S: Final = 3 * 86_400

TOTAL: Final = "bt"
DONE: Final = "bn"
ATOMIC: Final = "bm"
TOLD_S: Final = 3600
"""How long a finished operation stays for the stream to publish it."""


@dataclass(frozen=True, slots=True)
class DynamoBulkRequests(InTable):
    """Implements the port BulkRequests over the table."""

    def begin(self, request: BulkRequest, forgotten_before: Instant) -> BulkRequest:
        """Make one conditional put."""
        is_free = "attribute_not_exists(#pk) OR #cr < :old"
        try:
            self.put_item(_item(request), condition(is_free, old=number(forgotten_before)))
        except ConditionFailedError as failed:
            return _read(failed.item)
        return request

    def answer(self, request: BulkRequest) -> None:
        """Make one put."""
        self.put_item(_item(request))

    def tell(self, done: BulkDone) -> None:
        """Make one put."""
        item: Item = {
            **item_key(BULK_PARTITION, done.id),
            n.TYPE: string(done.operation),
            n.CREATED: number(done.at),
            TOTAL: number(done.total),
            DONE: number(done.done),
            ATOMIC: {"BOOL": done.is_atomic},
            n.TTL: number(done.at // 1000 + TOLD_S),
        }
        self.put_item(item)


def read_done(item: Item) -> BulkDone:
    """Return the finished operation that an item describes."""
    return BulkDone(
        id=read_string(item, n.SK),
        operation=read_string(item, n.TYPE),
        total=read_count(item, TOTAL),
        done=read_count(item, DONE),
        is_atomic=bool(item.get(ATOMIC, {}).get("BOOL")),
        at=Instant(read_count(item, n.CREATED)),
    )


def _item(request: BulkRequest) -> Item:
    item = {
        **item_key(f"bulk#{request.key}", REQUEST),
        n.CREATED: number(request.begun_at),
        DIGEST: string(request.digest),
        STATUS: number(request.status),
        n.TTL: number(request.begun_at // 1000 + KEPT_S),
    }
    if request.answer:
        item[n.DOCUMENT] = packed(request.answer)
    return item


def _read(item: Item) -> BulkRequest:
    return BulkRequest(
        key=read_string(item, n.PK).partition("#")[2],
        digest=read_string(item, DIGEST),
        begun_at=Instant(read_count(item, n.CREATED)),
        status=read_count(item, STATUS),
        answer=unpacked(item[n.DOCUMENT]) if n.DOCUMENT in item else "",
    )
