"""The policy simulator decides as IAM documents it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.infra.conftest import Synthesised
from tests.infra.policies import (
    ACCOUNT,
    LEADING_KEYS,
    TABLE,
    Asked,
    Role,
    asked_by,
    is_met,
    queue_arn,
)

HANDLER = "f.handler"


def role(*statements: dict[str, Any]) -> Role:
    """The role of a function with these statements."""
    function = {"Handler": HANDLER, "Role": {"Fn::GetAtt": ["R", "Arn"]}}
    policy = {"Roles": [{"Ref": "R"}], "PolicyDocument": {"Statement": [*statements]}}
    made = {
        "F": {"Type": "AWS::Lambda::Function", "Properties": function},
        "P": {"Type": "AWS::IAM::Policy", "Properties": policy},
        "Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "ojs__a"}},
        "T": {"Type": "AWS::DynamoDB::GlobalTable", "Properties": {}},
    }
    return Role(Synthesised({"Resources": made}), HANDLER)


def allow(action: str, resource: Any, effect: str = "Allow", **condition: Any) -> dict[str, Any]:
    """A statement."""
    conditions = {"Condition": condition} if condition else {}
    return {"Effect": effect, "Action": action, "Resource": resource, **conditions}


def test_what_no_statement_allows_is_refused() -> None:
    """Another action, another resource, and everything without a statement."""
    asked = Asked("sqs:SendMessage", queue_arn("ojs__a"))
    own = {"Fn::GetAtt": ["Q", "Arn"]}
    assert role(allow("sqs:SendMessage", own)).allows(asked)
    assert not role().allows(asked)
    assert not role(allow("sqs:SendMessageBatch", own)).allows(asked)
    assert not role(allow("sqs:SendMessage", queue_arn("ojs__b"))).allows(asked)


def test_a_denial_wins_over_what_is_allowed() -> None:
    """In whatever order they stand."""
    asked = Asked("sqs:SendMessage", queue_arn("ojs__a"))
    yes, no = allow("sqs:*", "*"), allow("sqs:SendMessage", "*", "Deny")
    assert not role(yes, no).allows(asked)
    assert not role(no, yes).allows(asked)


def test_patterns_cover_what_begins_like_them() -> None:
    """Joined of the partition, region and account of the deployment."""
    where = ["arn:", {"Ref": "AWS::Partition"}, f":sqs:us-east-1:{ACCOUNT}:ojs__*"]
    mine = role(allow("sqs:SendMessage", {"Fn::Join": ["", where]}))
    assert mine.allows(Asked("sqs:SendMessage", queue_arn("ojs__anything")))
    assert not mine.allows(Asked("sqs:SendMessage", queue_arn("ojs-staging__a")))


@pytest.mark.parametrize(
    ("operator", "actual", "wanted", "met"),
    [
        ("StringEquals", ["a"], ["a", "b"], True),
        ("StringEquals", ["c"], ["a", "b"], False),
        ("StringEquals", None, ["a"], False),
        ("StringLike", ["job#1"], ["job#*"], True),
        ("StringLikeIfExists", None, ["job#*"], True),
        ("StringLikeIfExists", ["x"], ["job#*"], False),
        ("Bool", ["True"], ["true"], True),
        ("ForAllValues:StringEquals", ["a", "b"], ["a"], False),
        ("ForAllValues:StringEquals", ["a", "a"], ["a"], True),
        ("ForAllValues:StringEquals", None, ["a"], True),
        ("ForAnyValue:StringEquals", ["a", "b"], ["a"], True),
        ("ForAnyValue:StringEquals", None, ["a"], False),
    ],
)
def test_conditions_are_met_as_documented(
    operator: str, actual: list[str] | None, wanted: list[str], met: bool
) -> None:
    """Also where a request has no such key."""
    assert is_met(operator, actual, wanted) is met


def test_an_unknown_operator_is_an_error() -> None:
    """A new one has to be learnt here first."""
    with pytest.raises(KeyError):
        is_met("NumericLessThan", ["1"], ["2"])


def test_a_condition_is_about_its_own_statement() -> None:
    """Partitions of the table that one is allowed, and others are denied."""
    mine = role(
        allow("dynamodb:GetItem", {"Fn::GetAtt": ["T", "Arn"]}),
        allow(
            "dynamodb:GetItem",
            {"Fn::GetAtt": ["T", "Arn"]},
            "Deny",
            **{"ForAnyValue:StringEquals": {LEADING_KEYS: ["apikeys"]}},
        ),
    )
    assert mine.allows(Asked("dynamodb:GetItem", TABLE, {LEADING_KEYS: ["job#1"]}))
    assert not mine.allows(Asked("dynamodb:GetItem", TABLE, {LEADING_KEYS: ["apikeys"]}))


def test_batches_and_transactions_ask_for_their_parts() -> None:
    """As SQS and DynamoDB authorize them; a queue with tags asks for two actions."""
    url = "https://sqs/1/ojs__a"
    (sent,) = asked_by("sqs", "SendMessageBatch", {"QueueUrl": url, "Entries": []})
    assert sent == Asked("sqs:SendMessage", queue_arn("ojs__a"))
    made = asked_by("sqs", "CreateQueue", {"QueueName": "ojs__a", "tags": {"k": "v"}})
    assert [each.action for each in made] == ["sqs:CreateQueue", "sqs:TagQueue"]
    key = {"pk": {"S": "job#1"}, "sk": {"S": "job"}}
    items = [{"Put": {"Item": key}}, {"ConditionCheck": {"Key": key}}, {"Delete": {"Key": key}}]
    parts = asked_by("dynamodb", "TransactWriteItems", {"TransactItems": items})
    assert [each.action.removeprefix("dynamodb:") for each in parts] == [
        "PutItem",
        "ConditionCheckItem",
        "DeleteItem",
    ]
    assert {key for each in parts for key in each.context[LEADING_KEYS]} == {"job#1"}


def test_a_query_asks_for_the_partition_that_it_names() -> None:
    """Of the table, or of its index."""
    query = {
        "KeyConditionExpression": "#p = :p AND #s < :s",
        "ExpressionAttributeNames": {"#p": "gpk", "#s": "gsk"},
        "ExpressionAttributeValues": {":p": {"S": "r#a"}, ":s": {"S": "x"}},
    }
    (asked,) = asked_by("dynamodb", "Query", {**query, "IndexName": "lists"})
    assert asked == Asked("dynamodb:Query", f"{TABLE}/index/lists", {LEADING_KEYS: ["r#a"]})
