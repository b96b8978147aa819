"""The local server's moto is faster than moto's own, and answers the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.core.serialize import BaseJSONSerializer
from moto.dynamodb.comparisons import ConditionExpressionParser
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.dynamo_type import Item
from moto.dynamodb.models.table import Table
from moto.dynamodb.parsing import validators
from moto.dynamodb.parsing.ast_nodes import DepthFirstTraverser  # type: ignore[attr-defined]
from moto.dynamodb.parsing.expressions import UpdateExpressionParser  # type: ignore[attr-defined]

from ojs_aws.local.aws import ACCOUNT, REGION, create_table
from ojs_aws.local.patches import fast_expressions, fast_items, fast_queues
from ojs_aws.local.tables import fast_tables
from ojs_aws.topology import TABLE

pytestmark = pytest.mark.thorough

PARSERS = (ConditionExpressionParser, UpdateExpressionParser)
NAME = "t"
INDEX = "lists"
NAMES = (*TABLE.index.projected[:4], "far", "wide")
"""Some attributes that the index has, and some that it has not."""


@contextmanager
def table(*, is_fast: bool) -> Iterator[Any]:
    """A client of an empty table, on moto as it is or as the local server has it."""
    with ExitStack() as stack:
        stack.enter_context(mock_aws())
        if is_fast:
            for patches in (fast_tables, fast_items, fast_expressions):
                stack.enter_context(patches())
        client = boto3.client("dynamodb", region_name=REGION)
        create_table(client, NAME)
        yield client


def value(chance: random.Random, depth: int = 0) -> dict[str, Any]:
    """An attribute value of any kind."""
    number = chance.randrange(5)
    kinds: list[dict[str, Any]] = [
        {"S": f"text{number}"},
        {"N": str(number)},
        {"B": bytes([number, 255])},
        {"BOOL": number > 1},
        {"NULL": True},
        {"SS": [f"a{number}"]},
    ]
    if depth < 2:
        kinds.append({"L": [value(chance, depth + 1) for _ in range(number)]})
        kinds.append({"M": {f"m{n}": value(chance, depth + 1) for n in range(number)}})
    return chance.choice(kinds)


def item(chance: random.Random) -> dict[str, Any]:
    """An item, listed or not; few places, so that many share one."""
    key = {"pk": {"S": f"job#{chance.randrange(12)}"}, "sk": {"S": f"s{chance.randrange(3)}"}}
    if chance.random() < 0.2:
        return key
    values = {name: value(chance) for name in NAMES if chance.random() < 0.4}
    return (
        key
        | values
        | {
            "gpk": {"S": f"q|{chance.randrange(3)}"},
            "gsk": {"S": f"{chance.randrange(6):03d}"},
        }
    )


def play(client: Any, seed: int) -> list[Any]:
    """Write, query and fail at random; everything that was answered."""
    chance, seen = random.Random(seed), []
    for _ in range(100):
        step = chance.randrange(8)
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
        elif step < 6:
            seen.append(query(client, chance))
        else:
            seen.append(update(client, chance))
    return seen


def update(client: Any, chance: random.Random) -> Any:
    """An update of several attributes that may be refused, and what the item is then."""
    one = item(chance)
    key = {"pk": one["pk"], "sk": one["sk"]}
    names = chance.sample(NAMES, 4)
    text = "SET #a = :a, #b = if_not_exists(#b, :b) REMOVE #c ADD #d :one"
    if chance.random() < 0.1:
        text = "SET #a = :a, #a = :b REMOVE #c, #b ADD #d :one"
    try:
        answer = client.update_item(
            TableName=NAME,
            Key=key,
            UpdateExpression=text,
            ConditionExpression="attribute_not_exists(#a) OR #a <> :a",
            ExpressionAttributeNames=dict(zip(("#a", "#b", "#c", "#d"), names, strict=True)),
            ExpressionAttributeValues={
                ":a": value(chance),
                ":b": value(chance),
                ":one": {"N": "1"},
            },
            ReturnValues="ALL_NEW",
        )
    except ClientError as problem:
        return problem.response["Error"]["Message"]
    read = client.get_item(TableName=NAME, Key=key, ProjectionExpression="pk, far, wide")
    return answer["Attributes"], client.get_item(TableName=NAME, Key=key)["Item"], read.get("Item")


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


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(each, marks=pytest.mark.slow) for each in (2, 3, 4))]
)
def test_whatever_is_written_the_answers_are_motos(seed: int) -> None:
    """Queries and failed transactions, against moto as it is."""
    with table(is_fast=False) as slow:
        expected = play(slow, seed)
    with table(is_fast=True) as fast:
        assert play(fast, seed) == expected


def test_a_transaction_that_fails_leaves_nothing_in_the_stream() -> None:
    """No event may report a write that was undone."""
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
    owners = (Table, Item, BaseJSONSerializer, DepthFirstTraverser, validators, *PARSERS)
    before = [dict(vars(owner)) for owner in owners]
    with fast_tables(), fast_items(), fast_expressions():
        assert all(dict(vars(o)) != old for o, old in zip(owners, before, strict=True))
    assert [dict(vars(owner)) for owner in owners] == before


def test_an_item_may_be_as_large_as_with_moto_and_no_larger() -> None:
    """DynamoDB refuses items above 400 KB, and so do both."""
    for is_fast in (False, True):
        with table(is_fast=is_fast) as client:
            whole = {"pk": {"S": "a"}, "sk": {"S": "b"}, "x": {"S": "x" * 400_000}}
            client.put_item(TableName=NAME, Item=whole)
            with pytest.raises(ClientError, match="size"):
                client.put_item(TableName=NAME, Item=whole | {"y": {"S": "y" * 10_000}})


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
