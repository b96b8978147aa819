"""The local server's moto is faster than moto's own, and answers the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.table import Table

from ojs_aws.local.aws import ACCOUNT, REGION, create_table
from ojs_aws.local.queues import fast_queues
from ojs_aws.local.tables import fast_tables

NAME = "t"
INDEX = "lists"


@contextmanager
def table(*, is_fast: bool) -> Iterator[Any]:
    """A client of an empty table, on moto as it is or as the local server has it."""
    with mock_aws(), fast_tables() if is_fast else nullcontext():
        client = boto3.client("dynamodb", region_name=REGION)
        create_table(client, NAME)
        yield client


def item(chance: random.Random) -> dict[str, Any]:
    """An item, listed or not; few places, so that many share one."""
    key = {"pk": {"S": f"job#{chance.randrange(12)}"}, "sk": {"S": f"s{chance.randrange(3)}"}}
    if chance.random() < 0.2:
        return key
    return key | {
        "gpk": {"S": f"q|{chance.randrange(3)}"},
        "gsk": {"S": f"{chance.randrange(6):03d}"},
    }


def play(client: Any, seed: int) -> list[Any]:
    """Write, query and fail at random; everything that was answered."""
    chance, seen = random.Random(seed), []
    for _ in range(150):
        step = chance.randrange(6)
        if step == 0:
            client.put_item(TableName=NAME, Item=item(chance))
        elif step == 1:
            one = item(chance)
            client.delete_item(TableName=NAME, Key={"pk": one["pk"], "sk": one["sk"]})
        elif step == 2:
            one = item(chance)
            client.update_item(
                TableName=NAME,
                Key={"pk": one["pk"], "sk": one["sk"]},
                UpdateExpression="SET gpk = :p, gsk = :s",
                ExpressionAttributeValues={":p": {"S": "q|1"}, ":s": {"S": "003"}},
            )
        elif step == 3:
            seen.append(transact(client, chance))
        else:
            seen.append(query(client, chance))
    return seen


def transact(client: Any, chance: random.Random) -> str:
    """Two puts, and often a condition that does not hold."""
    puts = [{"Put": {"TableName": NAME, "Item": item(chance)}} for _ in range(2)]
    if chance.random() < 0.6:
        impossible = {"ConditionExpression": "attribute_exists(nothing)"}
        puts.append({"Put": {"TableName": NAME, "Item": item(chance), **impossible}})
    try:
        client.transact_write_items(TransactItems=puts)
    except ClientError as problem:
        return problem.response["Error"]["Message"]
    return "done"


def query(client: Any, chance: random.Random) -> Any:
    """All pages of a query of the index or of a partition, forwards or backwards."""
    given: dict[str, Any] = {"TableName": NAME, "ScanIndexForward": chance.random() < 0.5}
    if chance.random() < 0.7:
        low, high = sorted(chance.randrange(6) for _ in range(2))
        given |= {
            "IndexName": INDEX,
            "KeyConditionExpression": "gpk = :p AND gsk BETWEEN :a AND :b",
            "ExpressionAttributeValues": {
                ":p": {"S": f"q|{chance.randrange(3)}"},
                ":a": {"S": f"{low:03d}"},
                ":b": {"S": f"{high:03d}"},
            },
        }
    else:
        given |= {
            "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": {"S": f"job#{chance.randrange(12)}"}},
        }
    if chance.random() < 0.7:
        given["Limit"] = chance.randrange(1, 4)
    found: list[Any] = []
    start: dict[str, Any] = {}
    for _ in range(60):
        answer = client.query(**given, **start)
        found += answer["Items"]
        if "LastEvaluatedKey" not in answer:  # the last page may be empty, or not be needed
            return found
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}
    raise AssertionError("the pages do not end")


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_written_the_answers_are_motos(seed: int) -> None:
    """Queries and failed transactions, against moto as it is."""
    with table(is_fast=False) as slow:
        expected = play(slow, seed)
    with table(is_fast=True) as fast:
        assert play(fast, seed) == expected


def test_a_transaction_that_fails_leaves_nothing_in_the_stream() -> None:
    """No event may tell of a write that was undone."""
    with table(is_fast=True) as client:
        stream = dynamodb_backends[ACCOUNT][REGION].get_table(NAME).stream_shard
        assert stream is not None
        put = {"TableName": NAME, "Item": {"pk": {"S": "a"}, "sk": {"S": "b"}}}
        client.put_item(**put)
        never = {**put, "Item": {"pk": {"S": "c"}, "sk": {"S": "d"}}}
        wrong = {**put, "ConditionExpression": "attribute_not_exists(pk)"}
        with pytest.raises(ClientError):
            client.transact_write_items(TransactItems=[{"Put": never}, {"Put": wrong}])
        assert len(stream.items) == 1
        assert dynamodb_backends[ACCOUNT][REGION].get_table(NAME).stream_shard is stream


def test_moto_is_left_as_it_was() -> None:
    """Once the local server has stopped."""
    before = {name: Table.__dict__.get(name) for name in ("query", "all_items", "__deepcopy__")}
    with fast_tables():
        assert Table.__dict__["query"] is not before["query"]
    assert {name: Table.__dict__.get(name) for name in before} == before


def test_messages_are_counted_as_moto_counts_them() -> None:
    """Visible, delayed and in somebody's hands."""
    names = ["", "Delayed", "NotVisible"]
    counts = []
    for queues in (nullcontext(), fast_queues()):
        with mock_aws(), queues:
            client = boto3.client("sqs", region_name=REGION)
            url = client.create_queue(QueueName="q")["QueueUrl"]
            for delay in (0, 0, 0, 60):
                client.send_message(QueueUrl=url, MessageBody="m", DelaySeconds=delay)
            assert len(client.receive_message(QueueUrl=url)["Messages"]) == 1
            attributes: Any = client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
            counts.append(
                [attributes["Attributes"][f"ApproximateNumberOfMessages{each}"] for each in names]
            )
    assert counts[0] == counts[1] == ["2", "1", "1"]
