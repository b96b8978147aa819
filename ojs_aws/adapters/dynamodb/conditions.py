"""Reports conditions that did not hold, with the items they met."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ojs_aws.adapters.aws_errors import answer_of, error_code, refusals
from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, read_string
from ojs_aws.adapters.errors import CANCELLED, translated

CONDITION_FAILED: Final = "ConditionalCheckFailedException"


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
