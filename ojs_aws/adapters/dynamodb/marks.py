"""Stores how far some upkeep got: one small item each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.conditions import ConditionFailedError, conditional
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.adapters.dynamodb.values import Item, number, read_number, string
from ojs_aws.adapters.errors import translated
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PARTITION: Final = "marks"
UNTIL: Final = "un"


@dataclass(frozen=True, slots=True)
class DynamoMarks:
    """Implements the port Marks over the table."""

    client: DynamoDBClient
    table: str

    def read(self, name: str) -> Instant | None:
        """Make one read."""
        with translated("GetItem"):
            answer = self.client.get_item(TableName=self.table, Key=_key(name))
        until = read_number(answer.get("Item", {}), UNTIL)
        return None if until is None else Instant(until)

    def move(self, name: str, until: Instant) -> None:
        """Make one conditional update; a late one changes nothing."""
        update = Update()
        update.set(UNTIL, number(until))
        mark = update.name(UNTIL)
        update.when(f"(attribute_not_exists({mark}) OR {mark} < {update.value(number(until))})")
        try:
            with conditional("UpdateItem"):
                self.client.update_item(TableName=self.table, Key=_key(name), **update.arguments())
        except ConditionFailedError:
            return


def _key(name: str) -> Item:
    return {n.PK: string(PARTITION), n.SK: string(name)}
