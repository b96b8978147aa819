"""Sends the calls of all adapters to the one table, and translates their errors once.

In expressions, ``#name`` stands for the attribute of that name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from ojs_aws.adapters.aws_errors import refusals
from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, Value, read_string, string
from ojs_aws.adapters.dynamodb.update import (
    CONDITION_CODE,
    ConditionFailedError,
    Update,
    cancellation_codes,
    conditional,
)
from ojs_aws.adapters.errors import translated
from ojs_aws.domain.errors import BackendUnavailableError
from ojs_aws.topology import TABLE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Action: TypeAlias = dict[str, Any]
"""One part of a transaction: ``{"Put": ...}``, ``{"Update": ...}`` or ``{"Delete": ...}``."""

Reasons: TypeAlias = Sequence[tuple[str, Item]]
"""Why a transaction was cancelled: for each part a code, and the item that it met."""

BATCH: Final = 100
"""Keys that one batch read takes."""

BATCH_PUTS: Final = 25
"""Items that one batch write takes."""

LONGEST: Final = ((n.PK, 2048), (n.SK, 1024))
"""Bytes that a partition key and a sort key have at most."""

ALWAYS: Final[Mapping[str, Any]] = {}
"""No condition."""

T = TypeVar("T")

_NAME: Final = re.compile(r"#(\w+)")


def item_key(partition: str, sort: str) -> Item:
    """Return the key of an item."""
    return {n.PK: string(partition), n.SK: string(sort)}


def can_exist(key: Item) -> bool:
    """Return whether an item can have a key, which a client may have named."""
    try:
        return all(len(read_string(key, name).encode()) <= most for name, most in LONGEST)
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can say and UTF-8 cannot
        return False


def key_in(item: Item) -> Item:
    """Return the key that is part of an item, or of a row of the index."""
    return {n.PK: item[n.PK], n.SK: item[n.SK]}


def names_in(text: str) -> dict[str, str]:
    """Return the attributes that an expression names."""
    return {f"#{name}": name for name in _NAME.findall(text)}


def condition(text: str, **values: Value) -> dict[str, Any]:
    """Return the arguments of a write that depends on a condition.

    :param values: what ``:name`` stands for in it.
    """
    arguments: dict[str, Any] = {
        "ConditionExpression": text,
        "ExpressionAttributeNames": names_in(text),
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    if values:
        arguments["ExpressionAttributeValues"] = _values(values)
    return arguments


def _values(values: Mapping[str, Value]) -> dict[str, Value]:
    return {f":{name}": value for name, value in values.items()}


def first_failed(reasons: Reasons) -> bool:
    """Return whether the condition of a transaction's first part did not hold."""
    return bool(reasons) and reasons[0][0] == CONDITION_CODE


def any_failed(reasons: Reasons) -> bool:
    """Return whether the condition of any part of a transaction did not hold."""
    return any(code == CONDITION_CODE for code, _ in reasons)


def put_part(table: str, item: Item, when: Mapping[str, Any] = ALWAYS) -> Action:
    """Return the part of a transaction that puts an item.

    :param when: a :func:`condition`.
    """
    return {"Put": {"TableName": table, "Item": item, **when}}


def update_part(table: str, key: Item, update: Update) -> Action:
    """Return the part of a transaction that updates an item."""
    return {"Update": {"TableName": table, "Key": key, **update.arguments()}}


def delete_part(table: str, key: Item, when: Mapping[str, Any] = ALWAYS) -> Action:
    """Return the part of a transaction that deletes an item.

    :param when: a :func:`condition`.
    """
    return {"Delete": {"TableName": table, "Key": key, **when}}


@dataclass(frozen=True, slots=True)
class InTable:
    """Holds the client and the table's name; the base class of the stores.

    Its methods are named like the calls that they make. They raise what
    :func:`~ojs_aws.adapters.dynamodb.update.conditional` does.
    """

    client: DynamoDBClient
    table: str

    def get_item(self, key: Item, *, is_consistent: bool = True) -> Item:
        """Read an item; return an empty one if there is none."""
        with translated("GetItem"):
            answer = self.client.get_item(
                TableName=self.table, Key=key, ConsistentRead=is_consistent
            )
        return answer.get("Item", {})

    def load_item(self, key: Item, read: Callable[[Item], T]) -> T | None:
        """Read an item consistently, and return what it holds; None if there is none.

        Makes no call for a key that no item can have: DynamoDB would refuse to look for it.
        """
        item = self.get_item(key) if can_exist(key) else {}
        return read(item) if item else None

    def get_items(self, keys: Sequence[Item], *, is_consistent: bool = True) -> Iterator[Item]:
        """Read items, a hundred to a call, in no order.

        :raises BackendUnavailableError: some were left out: this client does not read them again.
        """
        for at in range(0, len(keys), BATCH):
            wanted: Any = {"Keys": keys[at : at + BATCH], "ConsistentRead": is_consistent}
            with translated("BatchGetItem"):
                answer = self.client.batch_get_item(RequestItems={self.table: wanted})
            if answer.get("UnprocessedKeys"):
                raise BackendUnavailableError("BatchGetItem left out items.")
            yield from answer["Responses"].get(self.table, [])

    def put_item(self, item: Item, when: Mapping[str, Any] = ALWAYS) -> None:
        """Put an item.

        :param when: a :func:`condition`.
        """
        with conditional("PutItem"):
            self.client.put_item(TableName=self.table, Item=item, **when)

    def put_items(self, items: Sequence[Item]) -> None:
        """Put items without conditions, 25 to a call; what DynamoDB leaves out, one by one.

        Some may be put when it fails. Who may not write batches puts one by one, too.
        """
        for at in range(0, len(items), BATCH_PUTS):
            part = items[at : at + BATCH_PUTS]
            puts: Any = [{"PutRequest": {"Item": item}} for item in part]
            try:
                with translated("BatchWriteItem"):
                    answer = self.client.batch_write_item(RequestItems={self.table: puts})
            except BackendUnavailableError:
                left = puts
            else:
                left = answer.get("UnprocessedItems", {}).get(self.table, [])
            for request in left:
                self.put_item(request["PutRequest"]["Item"])

    def update_item(self, key: Item, update: Update, returning: Any = "NONE") -> Item:
        """Update an item, and return those of its attributes that were asked for."""
        with conditional("UpdateItem"):
            answer = self.client.update_item(
                TableName=self.table, Key=key, ReturnValues=returning, **update.arguments()
            )
        return answer.get("Attributes", {})

    def try_update(self, key: Item, update: Update) -> bool:
        """Update an item; return False if the condition does not hold."""
        try:
            self.update_item(key, update)
        except ConditionFailedError:
            return False
        return True

    def delete_item(
        self, key: Item, when: Mapping[str, Any] = ALWAYS, returning: Any = "NONE"
    ) -> Item:
        """Delete an item, and return what was asked for of it.

        :param when: a :func:`condition`.
        """
        with conditional("DeleteItem"):
            answer = self.client.delete_item(
                TableName=self.table, Key=key, ReturnValues=returning, **when
            )
        return answer.get("Attributes", {})

    def try_delete(self, key: Item, when: Mapping[str, Any]) -> bool:
        """Delete an item; return False if the condition does not hold."""
        try:
            self.delete_item(key, when)
        except ConditionFailedError:
            return False
        return True

    def transact_write_items(
        self, actions: Sequence[Action], answers: Callable[[Reasons], bool] = lambda _: False
    ) -> Reasons:
        """Write all or nothing.

        :param answers: whether the reasons of a cancelled transaction are an answer, not an error.
        :returns: those reasons; none if the transaction took effect.
        """
        parts: Any = actions
        with translated("TransactWriteItems"):
            try:
                self.client.transact_write_items(TransactItems=parts)
            except refusals() as problem:
                reasons = cancellation_codes(problem)
                if not answers(reasons):
                    raise
                return reasons
        return ()

    def query(self, key_condition: str, values: Mapping[str, Value], **options: Any) -> Any:
        """Run one query.

        :param values: what ``:name`` stands for in the condition.
        :param options: other arguments of the call.
        """
        texts = f"{key_condition} {options.get('ProjectionExpression', '')}"
        with translated("Query"):
            return self.client.query(
                TableName=self.table,
                KeyConditionExpression=key_condition,
                ExpressionAttributeNames=names_in(texts),
                ExpressionAttributeValues=_values(values),
                **options,
            )

    def pages(
        self, key_condition: str, values: Mapping[str, Value], **options: Any
    ) -> Iterator[Any]:
        """Run a query, and another one for each further megabyte; yield their answers."""
        while True:
            answer = self.query(key_condition, values, **options)
            yield answer
            if not answer.get("LastEvaluatedKey"):
                return
            options["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def items(
        self, key_condition: str, values: Mapping[str, Value], **options: Any
    ) -> Iterator[Item]:
        """Run a query, and another one for each further megabyte; yield the items."""
        for answer in self.pages(key_condition, values, **options):
            yield from answer["Items"]

    def after(self, partition: str, sort: str, **options: Any) -> Any:
        """Run one query of a partition, from its begin or behind a sort key."""
        begin = {"pk": string(partition)}
        if not sort:
            return self.query("#pk = :pk", begin, **options)
        return self.query("#pk = :pk AND #sk > :after", begin | {"after": string(sort)}, **options)


def in_index(**options: Any) -> dict[str, Any]:
    """Return the options of a query of the index."""
    return {"IndexName": TABLE.index.name, **options}
