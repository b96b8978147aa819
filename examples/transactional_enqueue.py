"""Write an order and its job in one DynamoDB transaction: both exist, or neither.

The program needs the environment of a deployment (OJS_TABLE ...) and a table for orders:

    ORDERS_TABLE=orders python examples/transactional_enqueue.py
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import boto3

from ojs_aws import SyncClient

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

ORDERS = os.environ.get("ORDERS_TABLE", "orders")


def place_order(client: SyncClient, dynamodb: DynamoDBClient, order_id: str, total: int) -> str:
    """Store an order and enqueue its confirmation, both or neither.

    :raises botocore.exceptions.ClientError: the order exists; then no job was enqueued for it.
    """
    confirmation = client.transact_item(
        "order.confirm", [{"order_id": order_id}], unique={"keys": ["type", "args"]}
    )
    dynamodb.transact_write_items(
        TransactItems=[
            {
                "Put": {
                    "TableName": ORDERS,
                    "Item": {"id": {"S": order_id}, "total": {"N": str(total)}},
                    "ConditionExpression": "attribute_not_exists(id)",
                }
            },
            *confirmation.items,  # type: ignore[list-item]
        ]
    )
    return confirmation.id


def main() -> None:
    dynamodb = boto3.client("dynamodb")
    with SyncClient.from_env() as client:
        job_id = place_order(client, dynamodb, "order-1", 4200)
        print("enqueued", job_id, client.get(job_id).state)
        try:
            place_order(client, dynamodb, "order-1", 4200)
        except Exception as problem:  # noqa: BLE001 - to show which
            print("refused ", type(problem).__name__)


if __name__ == "__main__":
    main()
