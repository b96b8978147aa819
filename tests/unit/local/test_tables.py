"""An application's own tables, beside ours, are as moto has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.dynamodb.models import dynamodb_backends

from ojs_aws.local.aws import ACCOUNT, REGION
from tests.unit.local.test_emulation import NAME, table

ORDERS = "orders"
OPEN = {"id": {"S": "1"}, "line": {"N": "2"}, "status": {"S": "open"}}
CLOSED = {"id": {"S": "1"}, "line": {"N": "10"}, "status": {"S": "closed"}}
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


@pytest.fixture(params=[False, True], ids=["moto", "local"])
def client(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A client of moto as it is, then as the local server has it; our table is there."""
    with table(is_fast=request.param) as client:
        yield client


def create(client: Any, keys: dict[str, str], **more: Any) -> None:
    """Create the application's table; the names of keys with their types, the partition first."""
    kinds = zip(keys, ("HASH", "RANGE"), strict=False)
    client.create_table(
        TableName=ORDERS,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": kind}
            for name, kind in (
                keys | ({"status": "S"} if "GlobalSecondaryIndexes" in more else {})
            ).items()
        ],
        KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in kinds],
        **more,
    )
    for order in (CLOSED, OPEN):
        client.put_item(TableName=ORDERS, Item=order)


def asked(client: Any, condition: str, values: dict[str, str], **more: Any) -> Any:
    """Return what a query finds."""
    return client.query(
        TableName=ORDERS,
        KeyConditionExpression=condition,
        ExpressionAttributeValues={name: {"S": value} for name, value in values.items()},
        **more,
    )["Items"]


def test_a_table_without_a_sort_key_can_be_queried(client: Any) -> None:
    """By its partition key, and read whole after it."""
    create(client, {"id": "S"})
    assert asked(client, "id = :id", {":id": "1"}) == [OPEN]
    assert asked(client, "id = :id", {":id": "2"}) == []
    assert client.scan(TableName=ORDERS)["Items"] == [OPEN]


def test_numbers_as_sort_keys_are_in_their_order(client: Any) -> None:
    """2 comes before 10."""
    create(client, {"id": "S", "line": "N"})
    assert asked(client, "id = :id", {":id": "1"}, Limit=1) == [OPEN]
    assert asked(client, "id = :id", {":id": "1"}, ScanIndexForward=False, Limit=1) == [CLOSED]


@pytest.mark.parametrize("keys", [{"id": "S"}, {"id": "S", "line": "N"}])
def test_an_index_of_the_application_can_be_queried(client: Any, keys: dict[str, str]) -> None:
    """Its name and its keys are the application's."""
    schema = [{"AttributeName": "status", "KeyType": "HASH"}]
    index = {"IndexName": "by_status", "KeySchema": schema, "Projection": {"ProjectionType": "ALL"}}
    create(client, keys, GlobalSecondaryIndexes=[index])
    names = {"#s": "status"}
    by_status = {"IndexName": "by_status", "ExpressionAttributeNames": names}
    assert asked(client, "#s = :s", {":s": "open"}, **by_status) == [OPEN]


@pytest.mark.parametrize("stream", [{}, {"StreamSpecification": STREAM}])
@pytest.mark.parametrize("keys", [{"id": "S"}, {"id": "S", "line": "N"}])
def test_a_failed_transaction_leaves_the_application_s_items(
    client: Any, keys: dict[str, str], stream: dict[str, Any]
) -> None:
    """They are written together with a job, or not at all."""
    create(client, keys, **stream)
    before = client.scan(TableName=ORDERS)["Items"]
    item = {"pk": {"S": "a"}, "sk": {"S": "b"}}
    wrong = {"TableName": NAME, "Item": item, "ConditionExpression": "attribute_exists(pk)"}
    changed = {"TableName": ORDERS, "Item": OPEN | {"status": {"S": "paid"}}}
    added = {"TableName": ORDERS, "Item": OPEN | {"id": {"S": "9"}}}
    with pytest.raises(ClientError):
        client.transact_write_items(
            TransactItems=[{"Put": each} for each in (changed, added, wrong)]
        )
    assert client.scan(TableName=ORDERS)["Items"] == before
    assert client.scan(TableName=NAME)["Items"] == []


def test_a_failed_transaction_keeps_the_stream_of_our_table() -> None:
    """The local server reads it where moto keeps it."""
    with table(is_fast=True) as client:
        create(client, {"id": "S"})
        stream = dynamodb_backends[ACCOUNT][REGION].get_table(NAME).stream_shard
        item = {"pk": {"S": "a"}, "sk": {"S": "b"}}
        wrong = {
            "TableName": ORDERS,
            "Item": OPEN,
            "ConditionExpression": "id = :x",
            "ExpressionAttributeValues": {":x": {"S": "x"}},
        }
        with pytest.raises(ClientError):
            client.transact_write_items(
                TransactItems=[{"Put": {"TableName": NAME, "Item": item}}, {"Put": wrong}]
            )
        assert dynamodb_backends[ACCOUNT][REGION].get_table(NAME).stream_shard is stream
        assert stream is not None
        assert stream.items == []
