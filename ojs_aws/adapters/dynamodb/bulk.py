"""Stores bulk operations and their answers, an item each, which expire by TTL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.conditions import ConditionFailedError, conditional
from ojs_aws.adapters.dynamodb.values import (
    Item,
    number,
    packed,
    read_number,
    read_string,
    string,
    unpacked,
)
from ojs_aws.adapters.errors import translated
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import BulkDone, BulkRequest
from ojs_aws.topology import BULK_PARTITION

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

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
class DynamoBulkRequests:
    """Implements the port BulkRequests over the table."""

    client: DynamoDBClient
    table: str

    def begin(self, request: BulkRequest, forgotten_before: Instant) -> BulkRequest:
        """Make one conditional put."""
        try:
            with conditional("PutItem"):
                self.client.put_item(
                    TableName=self.table,
                    Item=_item(request),
                    ConditionExpression="attribute_not_exists(#pk) OR #cr < :old",
                    ExpressionAttributeNames={"#pk": n.PK, "#cr": n.CREATED},
                    ExpressionAttributeValues={":old": number(forgotten_before)},
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except ConditionFailedError as failed:
            return _read(failed.item)
        return request

    def answer(self, request: BulkRequest) -> None:
        """Make one put."""
        with translated("PutItem"):
            self.client.put_item(TableName=self.table, Item=_item(request))

    def tell(self, done: BulkDone) -> None:
        """Make one put."""
        item: Item = {
            n.PK: string(BULK_PARTITION),
            n.SK: string(done.id),
            n.TYPE: string(done.operation),
            n.CREATED: number(done.at),
            TOTAL: number(done.total),
            DONE: number(done.done),
            ATOMIC: {"BOOL": done.is_atomic},
            n.TTL: number(done.at // 1000 + TOLD_S),
        }
        with translated("PutItem"):
            self.client.put_item(TableName=self.table, Item=item)


def read_done(item: Item) -> BulkDone:
    """Return the finished operation that an item describes."""
    return BulkDone(
        id=read_string(item, n.SK),
        operation=read_string(item, n.TYPE),
        total=read_number(item, TOTAL) or 0,
        done=read_number(item, DONE) or 0,
        is_atomic=bool(item.get(ATOMIC, {}).get("BOOL")),
        at=Instant(read_number(item, n.CREATED) or 0),
    )


def _item(request: BulkRequest) -> Item:
    item = {
        n.PK: string(f"bulk#{request.key}"),
        n.SK: string(REQUEST),
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
        begun_at=Instant(read_number(item, n.CREATED) or 0),
        status=read_number(item, STATUS) or 0,
        answer=unpacked(item[n.DOCUMENT]) if n.DOCUMENT in item else "",
    )
