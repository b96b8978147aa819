"""Builds an UpdateItem with its conditions, and reports the conditions that did not hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from ojs_aws.adapters.aws_errors import answer_of, error_code, refusals
from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, Value, number, read_string
from ojs_aws.adapters.errors import CANCELLED, translated

CONDITION_FAILED: Final = "ConditionalCheckFailedException"


class Update:
    """Holds one update expression with its condition."""

    def __init__(self) -> None:
        """Start with no change and no condition."""
        self._names: dict[str, str] = {}
        self._values: dict[str, Value] = {}
        self._sets: dict[str, str] = {}
        self._adds: list[str] = []
        self._removes: list[str] = []
        self._clauses: list[str] = []

    def name(self, attribute: str) -> str:
        """Return the placeholder of an attribute's name."""
        self._names[f"#{attribute}"] = attribute
        return f"#{attribute}"

    def value(self, value: Value) -> str:
        """Return the placeholder of a value."""
        placeholder = f":{len(self._values)}"
        self._values[placeholder] = value
        return placeholder

    def set(self, attribute: str, value: Value) -> None:
        """Set an attribute to a value."""
        self._sets[self.name(attribute)] = self.value(value)

    def set_if_absent(self, attribute: str, source: str, value: Value) -> None:
        """Set an attribute to another one's value, or to a given one if that is absent."""
        other = self.name(source)
        self._sets[self.name(attribute)] = f"if_not_exists({other}, {self.value(value)})"

    def set_sum(self, attribute: str, source: str, value: Value, amount: Value) -> None:
        """Set an attribute to another one's value, or a given one if absent, plus an amount."""
        first = f"if_not_exists({self.name(source)}, {self.value(value)})"
        self._sets[self.name(attribute)] = f"{first} + {self.value(amount)}"

    def copy(self, attribute: str, source: str) -> None:
        """Set an attribute to the value of another one."""
        self._sets[self.name(attribute)] = self.name(source)

    def add(self, attribute: str, amount: int) -> None:
        """Add to a number."""
        self._adds.append(f"{self.name(attribute)} {self.value(number(amount))}")

    def add_to_set(self, attribute: str, values: Value) -> None:
        """Add members to a set."""
        self._adds.append(f"{self.name(attribute)} {self.value(values)}")

    def remove(self, *attributes: str) -> None:
        """Remove attributes."""
        self._removes += [self.name(attribute) for attribute in attributes]

    def when(self, clause: str) -> None:
        """Add a clause that must hold."""
        self._clauses.append(clause)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of UpdateItem."""
        parts = []
        if self._sets:
            parts.append("SET " + ", ".join(f"{k} = {v}" for k, v in self._sets.items()))
        if self._adds:
            parts.append("ADD " + ", ".join(self._adds))
        if self._removes:
            parts.append("REMOVE " + ", ".join(self._removes))
        arguments: dict[str, Any] = {
            "UpdateExpression": " ".join(parts),
            "ExpressionAttributeNames": self._names,
        }
        if self._values:
            arguments["ExpressionAttributeValues"] = self._values
        if self._clauses:
            arguments["ConditionExpression"] = " AND ".join(self._clauses)
            arguments["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return arguments


class ConditionFailedError(Exception):
    """Reports that a condition did not hold.

    :ivar item: the item as the write found it; empty when there is none.
    """

    def __init__(self, item: Item) -> None:
        """Keep the item."""
        super().__init__("condition failed")
        self.item = item

    def is_own(self, written: Item) -> bool:
        """Return whether this write itself made the item before its answer was lost."""
        token = read_string(written, n.TOKEN)
        return bool(self.item) and read_string(self.item, n.TOKEN) == token


@contextmanager
def conditional(operation: str) -> Iterator[None]:
    """Translate errors like ``translated``; a failed condition comes with the item it met.

    :raises ConditionFailedError: the condition did not hold.
    :raises BackendError: any other error of AWS.
    """
    with translated(operation):
        try:
            yield
        except refusals() as problem:
            if error_code(problem) != CONDITION_FAILED:
                raise
            raise ConditionFailedError(answer_of(problem).get("Item", {})) from problem


CONDITION_CODE: Final = "ConditionalCheckFailed"
CONFLICT_CODE: Final = "TransactionConflict"
"""Codes of the parts of a cancelled transaction."""


def cancellation_codes(problem: Exception) -> list[tuple[str, Item]]:
    """Return why each part of a transaction failed, and the item it met; empty for other errors."""
    if error_code(problem) != CANCELLED:
        return []
    reasons = answer_of(problem).get("CancellationReasons", [])
    return [(reason.get("Code", ""), reason.get("Item") or {}) for reason in reasons]
