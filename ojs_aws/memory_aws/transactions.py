"""Writes transactions: all parts or none, once for each token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from ojs_aws.memory_aws.calls import Request, refuse
from ojs_aws.memory_aws.items import InvalidItemError, Item, item_size
from ojs_aws.memory_aws.table import Key, MemoryTable
from ojs_aws.memory_aws.writes import ConditionRefusedError, Write, prepared

MAX_PARTS: Final = 100
MAX_BYTES: Final = 4 * 1024 * 1024
TOKEN_MS: Final = 600_000
MAX_TOKEN: Final = 36
OPERATION: Final = "TransactWriteItems"
INVALID: Final = "ValidationException"


@dataclass(slots=True)
class Tokens:
    """Remembers for ten minutes which transactions took effect."""

    _seen: dict[str, tuple[int, Any]] = field(default_factory=dict)

    def is_repetition(self, request: Request, now_ms: int) -> bool:
        """Return whether the transaction took effect already."""
        token = request.get("ClientRequestToken")
        if token is None:
            return False
        if not 1 <= len(token) <= MAX_TOKEN:
            refuse(OPERATION, INVALID, f"A token has 1 to {MAX_TOKEN} characters")
        at, items = self._seen.get(token, (0, None))
        if items is None or now_ms - at > TOKEN_MS:
            return False
        if items != request["TransactItems"]:
            refuse(OPERATION, "IdempotentParameterMismatchException", "Another request had it")
        return True

    def note(self, request: Request, now_ms: int) -> None:
        """Remember that a transaction took effect."""
        token = request.get("ClientRequestToken")
        if token is not None:
            old = [each for each, (at, _) in self._seen.items() if now_ms - at > TOKEN_MS]
            for each in old:
                del self._seen[each]
            self._seen[token] = (now_ms, list(request["TransactItems"]))


@dataclass(frozen=True, slots=True)
class _Part:
    """Holds one part: the table that it writes, and what it does there."""

    table: MemoryTable
    write: Write
    wants_item: bool


def write(
    request: Request, table: Callable[[str], MemoryTable], tokens: Tokens, now_ms: int
) -> float:
    """Write a transaction, and return its units, which are twice those of plain writes.

    :param table: returns the table of a name, or refuses the call.
    :raises AwsError: a condition does not hold, or the request is refused.
    """
    if tokens.is_repetition(request, now_ms):
        return 0.0
    parts = [_part(each, table) for each in request["TransactItems"]]
    _check(parts)
    writes: list[tuple[_Part, Item | None, Item | None]] = []
    reasons: list[dict[str, Any]] = []
    for part in parts:
        before = part.table.get(part.write.key)
        try:
            after = part.write.after(before)
        except ConditionRefusedError:
            reasons.append(_refused(part, before))
        except InvalidItemError as problem:
            reasons.append({"Code": "ValidationError", "Message": str(problem)})
        else:
            reasons.append({"Code": "None"})
            writes.append((part, before, after))
    if len(writes) < len(parts):
        codes = ", ".join(each["Code"] for each in reasons)
        message = f"Transaction cancelled, please refer cancellation reasons: [{codes}]"
        refuse(OPERATION, "TransactionCanceledException", message, CancellationReasons=reasons)
    _check_size(writes)
    units = 0.0
    for part, before, after in writes:
        units += 2 * part.write.units(before, after)
        if not part.write.is_check:
            part.table.write(part.write.key, after)
    tokens.note(request, now_ms)
    return units


def _part(action: Request, table: Callable[[str], MemoryTable]) -> _Part:
    ((kind, arguments),) = action.items()
    wants_item = arguments.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
    return _Part(table(arguments["TableName"]), prepared(kind, arguments), wants_item)


def _refused(part: _Part, item: Item | None) -> dict[str, Any]:
    reason: dict[str, Any] = {
        "Code": "ConditionalCheckFailed",
        "Message": "The conditional request failed",
    }
    if part.wants_item and item is not None:
        reason["Item"] = dict(item)
    return reason


def _check(parts: list[_Part]) -> None:
    keys: set[tuple[int, Key]] = {(id(part.table), part.write.key) for part in parts}
    if not 1 <= len(parts) <= MAX_PARTS:
        refuse(OPERATION, INVALID, f"A transaction has 1 to {MAX_PARTS} parts")
    if len(keys) < len(parts):
        message = "Transaction request cannot include multiple operations on one item"
        refuse(OPERATION, INVALID, message)


def _check_size(writes: list[tuple[_Part, Item | None, Item | None]]) -> None:
    size = sum(0 if after is None else item_size(after) for _, _, after in writes)
    if size > MAX_BYTES:
        refuse(OPERATION, INVALID, "Transaction items have more than 4 MB in all")
