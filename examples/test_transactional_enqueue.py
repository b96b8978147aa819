"""Test a job that is part of a DynamoDB transaction; moto has the table of the orders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import boto3
import pytest
from moto import mock_aws

from examples.transactional_enqueue import ORDERS, place_order
from ojs_aws.errors import DuplicateError
from ojs_aws.testing import Ojs

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@pytest.fixture
def dynamodb() -> Iterator[DynamoDBClient]:
    """A table for orders."""
    with mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1")
        client.create_table(
            TableName=ORDERS,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        )
        yield client


def test_an_order_has_its_confirmation(ojs: Ojs, dynamodb: DynamoDBClient) -> None:
    """The fake stores the job at once: that both are there or neither, the real table promises."""
    job_id = place_order(ojs.sync_client, dynamodb, "order-1", 4200)
    [job] = ojs.assert_enqueued("order.confirm", args=[{"order_id": "order-1"}], count=1)
    assert job.id == job_id
    assert "Item" in dynamodb.get_item(TableName=ORDERS, Key={"id": {"S": "order-1"}})


def test_an_order_is_confirmed_once(ojs: Ojs, dynamodb: DynamoDBClient) -> None:
    place_order(ojs.sync_client, dynamodb, "order-1", 4200)
    with pytest.raises(DuplicateError):
        place_order(ojs.sync_client, dynamodb, "order-1", 4200)
    ojs.assert_enqueued("order.confirm", count=1)
