"""Checks, compares and measures items and attribute values as DynamoDB does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final, TypeAlias

Value: TypeAlias = Mapping[str, Any]
"""One attribute value, such as ``{"S": "text"}``."""

Item: TypeAlias = dict[str, Value]
"""Attribute values by name."""

MAX_ITEM_BYTES: Final = 400 * 1024
MAX_NESTING: Final = 32
MAX_DIGITS: Final = 38
ORDERED: Final = frozenset("SNB")
"""Types that have an order."""


class InvalidItemError(Exception):
    """Reports a value that DynamoDB refuses; the message says why."""


def stored(item: Mapping[str, Value]) -> Item:
    """Return a copy of an item as DynamoDB stores it.

    :raises InvalidItemError: some value is not one that an item may have.
    """
    return {name: stored_value(value) for name, value in item.items()}


def stored_value(value: Value, depth: int = 1) -> Value:
    """Return a copy of a value as DynamoDB stores it: numbers in their shortest form.

    :raises InvalidItemError: it is not a value that an item may have.
    """
    if len(value) != 1:
        raise InvalidItemError("An attribute value has exactly one type.")
    ((kind, content),) = value.items()
    if kind == "S":
        if not isinstance(content, str):
            raise InvalidItemError(f"A value of the type S is a string, not {content!r}.")
        return {"S": content}
    if kind == "N":
        return {"N": _number(content)}
    if kind == "B":
        return {"B": bytes(content)}
    if kind in {"BOOL", "NULL"}:
        return {kind: content}
    if depth > MAX_NESTING:
        raise InvalidItemError("Nesting Levels have exceeded supported limits")
    return _collection(kind, content, depth)


def _collection(kind: str, content: Any, depth: int) -> Value:
    if kind in {"SS", "NS", "BS"}:
        members = [_number(each) for each in content] if kind == "NS" else list(content)
        if not members or len(set(members)) != len(members):
            raise InvalidItemError("A set has members, each of them once.")
        return {kind: members}
    if kind == "L":
        return {"L": [stored_value(each, depth + 1) for each in content]}
    if kind == "M":
        return {"M": {name: stored_value(each, depth + 1) for name, each in content.items()}}
    raise InvalidItemError(f"There is no type {kind}.")


def _number(text: Any) -> str:
    if not isinstance(text, str):
        raise InvalidItemError(f"A number is sent as a string, not {text!r}.")
    if text.isdecimal() and text[0] != "0" and len(text) <= MAX_DIGITS and text.isascii():
        return text
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite():
        raise InvalidItemError("The parameter cannot be converted to a numeric value")
    digits = value.normalize().as_tuple().digits
    if len(digits) > MAX_DIGITS:
        raise InvalidItemError("Attempting to store more than 38 significant digits in a Number")
    return number_text(value)


def number_text(value: Decimal) -> str:
    """Return a number in the form in which DynamoDB answers it."""
    return format(value.normalize(), "f") if value else "0"


def is_equal(one: Value | None, other: Value | None) -> bool:
    """Return whether two values are there and equal; sets are, whatever the order."""
    if one is None or other is None:
        return False
    if one == other:
        return True
    ((kind, content),) = one.items()
    theirs = other.get(kind)
    if theirs is None:
        return False
    if kind == "N":
        return Decimal(content) == Decimal(theirs)
    if kind in {"SS", "NS", "BS"}:
        return set(content) == set(theirs)
    return False


def order_of(one: Value | None, other: Value | None) -> int | None:
    """Compare two values of one type that has an order; None if they cannot be compared."""
    if one is None or other is None:
        return None
    ((kind, content),) = one.items()
    if kind not in ORDERED or kind not in other:
        return None
    left, right = content, other[kind]
    if kind == "N":
        left, right = Decimal(left), Decimal(right)
    return int(left > right) - int(left < right)


def item_size(item: Mapping[str, Value]) -> int:
    """Return the size of an item as DynamoDB bills it: names and values, in bytes."""
    return sum(_text_size(name) + _value_size(value) for name, value in item.items())


def _text_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _value_size(value: Value) -> int:
    ((kind, content),) = value.items()
    measure = _SIZES.get(kind)
    return 1 if measure is None else measure(content)


def _number_size(text: str) -> int:
    digits = text.lstrip("-").replace(".", "").strip("0")
    return (len(digits) + 1) // 2 + 1 + text.startswith("-")


def _list_size(members: Sequence[Value]) -> int:
    return 3 + sum(1 + _value_size(each) for each in members)


def _map_size(members: Mapping[str, Value]) -> int:
    return 3 + sum(1 + _text_size(name) + _value_size(each) for name, each in members.items())


_SIZES: Final[Mapping[str, Callable[[Any], int]]] = {
    "S": _text_size,
    "B": len,
    "N": _number_size,
    "SS": lambda members: sum(map(_text_size, members)),
    "NS": lambda members: sum(map(_number_size, members)),
    "BS": lambda members: sum(map(len, members)),
    "L": _list_size,
    "M": _map_size,
}


def comparable(value: Value | None) -> Value | None:
    """Return a value that may stand beside an operator of order, or that is absent."""
    return value if value is None or next(iter(value)) in ORDERED else None


def begins_with(value: Value | None, prefix: Value | None) -> bool:
    """Return whether a text or bytes begin with others; False for other types."""
    if value is None or prefix is None:
        return False
    ((kind, content),) = value.items()
    if kind not in prefix or kind not in {"S", "B"}:
        return False
    return bool(content.startswith(prefix[kind]))


def contains(value: Value | None, part: Value | None) -> bool:
    """Return whether a text, a list or a set contains a value."""
    if value is None or part is None:
        return False
    ((kind, content),) = value.items()
    ((part_kind, wanted),) = part.items()
    if kind == part_kind and kind in {"S", "B"}:
        return wanted in content
    if kind == "L":
        return any(is_equal(each, part) for each in content)
    return kind == f"{part_kind}S" and wanted in content


def measured(value: Value | None) -> Value | None:
    """Return the size of a value as DynamoDB's ``size`` counts it; None where it has none."""
    if value is None:
        return None
    ((kind, content),) = value.items()
    if kind == "S":
        return {"N": str(len(content.encode()))}
    return {"N": str(len(content))} if kind in {"B", "SS", "NS", "BS", "L", "M"} else None
