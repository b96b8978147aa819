"""A policy simulator: decides as IAM does whether a role may make a call.

AWS's own simulator needs an account, and the emulator takes SQS's batch forms for actions of their
own. This one evaluates the statements of the template, and knows what each call of the adapters
asks for. What it does not know, a condition's operator or a call, is an error and no refusal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final

from tests.infra.conftest import Resource, Synthesised

REGION: Final = "us-east-1"
ACCOUNT: Final = "123456789012"
TABLE: Final = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/jobs"
BUCKET: Final = "arn:aws:s3:::documents"
BUS: Final = f"arn:aws:events:{REGION}:{ACCOUNT}:event-bus/events"
LEADING_KEYS: Final = "dynamodb:LeadingKeys"
_PSEUDO: Final = {"AWS::Partition": "aws", "AWS::Region": REGION, "AWS::AccountId": ACCOUNT}


def queue_arn(name: str) -> str:
    """The ARN of an SQS queue."""
    return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"


@dataclass(frozen=True)
class Asked:
    """What a call asks for.

    :ivar context: values of condition keys; a key that is not there is absent.
    """

    action: str
    resource: str
    context: Mapping[str, Sequence[str]] = field(default_factory=dict)


class Role:
    """The statements of a function's role, as IAM evaluates them."""

    def __init__(self, template: Synthesised, handler: str) -> None:
        """Read the policies of the role of a function."""
        self._resources = template.document["Resources"]
        role = template.function(handler)["Role"]["Fn::GetAtt"][0]
        self._statements: list[Resource] = [
            statement
            for kind in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")
            for policy in template.of(kind)
            if {"Ref": role} in policy["Roles"]
            for statement in policy["PolicyDocument"]["Statement"]
        ]

    @property
    def actions(self) -> set[str]:
        """Every action that a statement allows."""
        allowed = [each for each in self._statements if each["Effect"] == "Allow"]
        return {action for each in allowed for action in listed(each["Action"])}

    def allows(self, asked: Asked) -> bool:
        """Whether a statement allows it, and none denies it."""
        found = {each["Effect"] for each in self._statements if self._is_about(each, asked)}
        return found == {"Allow"}

    def _is_about(self, statement: Resource, asked: Asked) -> bool:
        actions, resources = listed(statement["Action"]), listed(statement["Resource"])
        return (
            any(fnmatchcase(asked.action.lower(), each.lower()) for each in actions)
            and any(fnmatchcase(asked.resource, self.arn(each)) for each in resources)
            and all(
                is_met(operator, asked.context.get(key), listed(values))
                for operator, keys in statement.get("Condition", {}).items()
                for key, values in keys.items()
            )
        )

    def arn(self, value: Any) -> str:
        """An expression of the template as text, with the names of :mod:`tests.infra.policies`."""
        if isinstance(value, str):
            return value
        if "Fn::Join" in value:
            separator, parts = value["Fn::Join"]
            return str(separator).join(self.arn(part) for part in parts)
        if "Ref" in value and value["Ref"] in _PSEUDO:
            return _PSEUDO[value["Ref"]]
        name, attribute = value.get("Fn::GetAtt") or (value["Ref"], "Ref")
        made = self._resources[name]
        known: dict[str, str] = {
            "AWS::DynamoDB::GlobalTable": TABLE,
            "AWS::S3::Bucket": BUCKET,
            "AWS::Events::EventBus": BUS,
            "AWS::SQS::Queue": queue_arn(made.get("Properties", {}).get("QueueName", name)),
        }
        if attribute == "Arn" and made["Type"] in known:
            return known[made["Type"]]
        return f"arn:{name}:{attribute}"  # of something that no call is about


def listed(value: Any) -> list[Any]:
    """A value, or several, as a list."""
    return value if isinstance(value, list) else [value]


def is_met(operator: str, actual: Sequence[str] | None, wanted: Sequence[str]) -> bool:
    """Whether a condition is met, as IAM evaluates its operator."""
    quantifier, _, plain = operator.rpartition(":")
    if plain.endswith("IfExists"):
        if actual is None:
            return True
        plain = plain.removesuffix("IfExists")
    matches = _OPERATORS[plain]
    met = [any(matches(value, each) for each in wanted) for value in actual or ()]
    if quantifier == "ForAllValues":
        return all(met)  # of no values, too
    assert quantifier in {"", "ForAnyValue"}, operator
    return any(met)


_OPERATORS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "StringEquals": str.__eq__,
    "StringLike": fnmatchcase,
    "Bool": lambda value, wanted: value.lower() == wanted.lower(),
}


# ------------------------------------------------------------------- what calls ask for


def asked_by(service: str, operation: str, params: Mapping[str, Any]) -> list[Asked]:
    """What a call asks for, in the words of the service authorization reference."""
    return _ASKING[service](operation, params)


def _sqs(operation: str, params: Mapping[str, Any]) -> list[Asked]:
    """SQS authorizes a batch as its single form, and tags of a new queue as TagQueue."""
    name = params.get("QueueName") or str(params["QueueUrl"]).rsplit("/", 1)[-1]
    actions = [operation.removesuffix("Batch"), *(["TagQueue"] if params.get("tags") else [])]
    return [Asked(f"sqs:{action}", queue_arn(name)) for action in actions]


_PARTS: Final = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
    "Get": "GetItem",
}


def _dynamodb(operation: str, params: Mapping[str, Any]) -> list[Asked]:
    """DynamoDB authorizes each part of a transaction as the operation that it is."""
    if operation.startswith("Transact"):
        parts = [(kind, part) for item in params["TransactItems"] for kind, part in item.items()]
        return [_on_items(_PARTS[kind], [part]) for kind, part in parts]
    if operation == "BatchGetItem":
        (keys,) = [each["Keys"] for each in params["RequestItems"].values()]
        return [_on_items(operation, [{"Key": key} for key in keys])]
    if operation == "BatchWriteItem":
        (requests,) = params["RequestItems"].values()
        return [_on_items(operation, [part for each in requests for part in each.values()])]
    if operation == "Query":
        resource = f"{TABLE}/index/{params['IndexName']}" if "IndexName" in params else TABLE
        return [Asked("dynamodb:Query", resource, {LEADING_KEYS: [_queried(params)]})]
    return [_on_items(operation, [params])]


def _on_items(operation: str, items: Iterable[Mapping[str, Any]]) -> Asked:
    keys = [(each.get("Key") or each["Item"])["pk"]["S"] for each in items]
    return Asked(f"dynamodb:{operation}", TABLE, {LEADING_KEYS: keys})


def _queried(params: Mapping[str, Any]) -> str:
    """The partition that a query is about."""
    names = params.get("ExpressionAttributeNames", {})
    partition = {"pk", "gpk"}
    for name, value in re.findall(r"(#?\w+) = (:\w+)", params["KeyConditionExpression"]):
        if names.get(name, name) in partition:
            return str(params["ExpressionAttributeValues"][value]["S"])
    raise AssertionError(params["KeyConditionExpression"])


def _s3(operation: str, params: Mapping[str, Any]) -> list[Asked]:
    if operation == "DeleteObjects":
        keys = [each["Key"] for each in params["Delete"]["Objects"]]
        return [Asked("s3:DeleteObject", f"{BUCKET}/{key}") for key in keys]
    return [Asked(f"s3:{operation}", f"{BUCKET}/{params['Key']}")]


def _events(operation: str, _: Mapping[str, Any]) -> list[Asked]:
    return [Asked(f"events:{operation}", BUS)]


_ASKING: Final[Mapping[str, Callable[[str, Mapping[str, Any]], list[Asked]]]] = {
    "sqs": _sqs,
    "dynamodb": _dynamodb,
    "s3": _s3,
    "events": _events,
}
