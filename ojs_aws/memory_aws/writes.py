"""Works out what a write does to an item, alone or in a transaction with others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from ojs_aws.memory_aws.calls import Answer, Request, refuse
from ojs_aws.memory_aws.expressions import (
    Condition,
    InvalidExpressionError,
    Placeholders,
    condition,
)
from ojs_aws.memory_aws.items import (
    MAX_ITEM_BYTES,
    InvalidItemError,
    Item,
    Value,
    item_size,
    stored,
    stored_value,
)
from ojs_aws.memory_aws.table import Key, MemoryTable, key_of, write_units
from ojs_aws.memory_aws.updates import update
from ojs_aws.topology import TABLE

Change: TypeAlias = Callable[[Item | None], Item | None]

MAX_KEY_BYTES: Final = (2048, 1024)
MAX_PARTS: Final = 100
MAX_BYTES: Final = 4 * 1024 * 1024
TOKEN_MS: Final = 600_000
MAX_TOKEN: Final = 36
OPERATION: Final = "TransactWriteItems"
INVALID: Final = "ValidationException"
_KEYS: Final = (TABLE.partition_key, TABLE.sort_key)
_INDEX_KEYS: Final = (TABLE.index.partition_key, TABLE.index.sort_key)
_EXPRESSIONS: Final = ("UpdateExpression", "ConditionExpression")


class ConditionRefusedError(Exception):
    """Reports that a condition did not hold.

    :ivar item: the item that it met; None if there is none.
    """

    def __init__(self, item: Item | None) -> None:
        """Keep the item."""
        super().__init__("The conditional request failed")
        self.item = item


@dataclass(frozen=True, slots=True)
class Write:
    """Describes one write.

    :ivar change: what it makes of an item; None stands for no item.
    :ivar returning: which attributes are answered.
    :ivar is_check: whether it only checks a condition.
    """

    key: Key
    change: Change
    test: Condition | None
    given: Placeholders
    returning: str = "NONE"
    is_check: bool = False

    def after(self, before: Item | None) -> Item | None:
        """Return the item after the write.

        :raises ConditionRefusedError: the condition does not hold.
        :raises InvalidItemError: the item would be too large, or have wrong keys.
        """
        if self.test is not None and not self.test(before or {}, self.given):
            raise ConditionRefusedError(before)
        after = self.change(before)
        if after is not None and after is not before:
            _check_item(after)
        return after

    def units(self, before: Item | None, after: Item | None) -> float:
        """Return the write units of table and index together."""
        return sum(write_units(before, after))

    def answer(self, before: Item | None, after: Item | None) -> Answer:
        """Return the attributes that were asked for."""
        if self.returning == "NONE":
            return {}
        old, new = before or {}, after or {}
        changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        attributes = {
            "ALL_OLD": old,
            "ALL_NEW": new,
            "UPDATED_OLD": {name: old[name] for name in changed if name in old},
            "UPDATED_NEW": {name: new[name] for name in changed if name in new},
        }[self.returning]
        return {"Attributes": dict(attributes)} if attributes else {}


def prepared(kind: str, request: Request) -> Write:
    """Read a write.

    :param kind: ``Put``, ``Update``, ``Delete`` or ``ConditionCheck``.
    :raises InvalidExpressionError: an expression is refused.
    :raises InvalidItemError: a value is refused.
    """
    values = request.get("ExpressionAttributeValues", {})
    given = Placeholders(
        request.get("ExpressionAttributeNames", {}),
        {name: stored_value(value) for name, value in values.items()},
    )
    texts = [request[name] for name in _EXPRESSIONS if name in request]
    given.check_used(texts)
    test = condition(request["ConditionExpression"]) if "ConditionExpression" in request else None
    key = key_of(request["Item"]) if kind == "Put" else checked_key(request["Key"])
    change = _CHANGES[kind](request, given)
    returning = request.get("ReturnValues", "NONE")
    return Write(key, change, test, given, returning, is_check=kind == "ConditionCheck")


def checked_key(key: Item) -> Key:
    """Return the key that a request names.

    :raises InvalidItemError: it has other attributes, or one of them is too long.
    """
    if key.keys() != set(_KEYS):
        raise InvalidItemError("The provided key element does not match the schema")
    for name, most in zip(_KEYS, MAX_KEY_BYTES, strict=True):
        _check_key(name, key[name], most)
    return key_of(key)


def _put(request: Request, _: Placeholders) -> Change:
    item = stored(request["Item"])
    return lambda _: item


def _update(request: Request, given: Placeholders) -> Change:
    text = request.get("UpdateExpression")
    apply = update(text) if text else None
    key: Mapping[str, Value] = request["Key"]

    def change(before: Item | None) -> Item:
        present = before if before is not None else dict(key)
        after = dict(present) if apply is None else apply(present, given)
        if any(after.get(name) != key[name] for name in _KEYS):
            raise InvalidExpressionError("Cannot update an attribute that is part of the key")
        return after

    return change


def _delete(_: Request, __: Placeholders) -> Change:
    return lambda _: None


def _check(_: Request, __: Placeholders) -> Change:
    return lambda before: before


_CHANGES: Final[Mapping[str, Callable[[Request, Placeholders], Change]]] = {
    "Put": _put,
    "Update": _update,
    "Delete": _delete,
    "ConditionCheck": _check,
}


def _check_item(item: Mapping[str, Any]) -> None:
    """Refuse an item that DynamoDB refuses.

    :raises InvalidItemError: it is too large, or a key is missing, empty, too long or no string.
    """
    for name, most in zip(_KEYS, MAX_KEY_BYTES, strict=True):
        _check_key(name, item.get(name, {}), most)
    for name, most in zip(_INDEX_KEYS, MAX_KEY_BYTES, strict=True):
        if name in item:
            _check_key(name, item[name], most)
    if item_size(item) > MAX_ITEM_BYTES:
        raise InvalidItemError("Item size has exceeded the maximum allowed size")


def _check_key(name: str, value: Mapping[str, Any], most: int) -> None:
    text = value.get("S")
    if not isinstance(text, str):
        raise InvalidItemError(f"Type mismatch for key {name}: a string is wanted")
    if not text or len(text.encode()) > most:
        raise InvalidItemError(f"The key {name} has 1 to {most} bytes")


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
            for old in [each for each, (at, _) in self._seen.items() if now_ms - at > TOKEN_MS]:
                del self._seen[old]
            self._seen[token] = (now_ms, list(request["TransactItems"]))


@dataclass(frozen=True, slots=True)
class _Part:
    """Holds one part: the table that it writes, and what it does there."""

    table: MemoryTable
    write: Write
    wants_item: bool


def write_transaction(
    request: Request, table: Callable[[str], MemoryTable], tokens: Tokens, now_ms: int
) -> float:
    """Write a transaction, and return its units, which are twice those of plain writes.

    :param table: returns the table of a name, or refuses the call.
    :raises AwsError: a condition does not hold, or the request is refused.
    """
    if tokens.is_repetition(request, now_ms):
        return 0.0
    parts = [_part(each, table) for each in request["TransactItems"]]
    _check_parts(parts)
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


def _check_parts(parts: list[_Part]) -> None:
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
