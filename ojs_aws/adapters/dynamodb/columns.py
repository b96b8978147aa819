"""Says once in which attribute each member of a record is stored, for writing and for reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ojs_aws.adapters.dynamodb.values import Item, Value, number, packed, string, unpacked


@dataclass(frozen=True, slots=True)
class Kind:
    """Stores values of one kind; None has no attribute.

    :ivar absent: what is read where there is no attribute.
    :ivar is_sparse: whether other empty values have no attribute either.
    """

    write: Callable[[Any], Value]
    read: Callable[[Value], Any]
    absent: Any = None
    is_sparse: bool = False


Columns: TypeAlias = Mapping[Kind, Mapping[str, str]]
"""The members of a record by their attributes, for each kind."""


def attributes(record: object, columns: Columns) -> Item:
    """Return the attributes of a record."""
    item: Item = {}
    for kind, members in columns.items():
        write, is_sparse = kind.write, kind.is_sparse
        for name, member in members.items():
            value = getattr(record, member)
            if value is not None and (value or not is_sparse):
                item[name] = write(value)
    return item


def read_members(item: Item, columns: Columns) -> dict[str, Any]:
    """Return the members of the record that an item holds, by name."""
    found: dict[str, Any] = {}
    for kind, members in columns.items():
        read, absent = kind.read, kind.absent
        for name, member in members.items():
            value = item.get(name)
            found[member] = absent if value is None else read(value)
    return found


def _text(value: Value) -> str:
    return str(value["S"])


def _number(value: Value) -> int:
    return int(value["N"])


TEXT: Final = Kind(string, _text, "")
OPTIONAL_TEXT: Final = Kind(string, _text, "", is_sparse=True)
PACKED: Final = Kind(packed, unpacked)
OPTIONAL_PACKED: Final = Kind(packed, unpacked, "", is_sparse=True)
NUMBER: Final = Kind(number, _number, 0)
COUNT: Final = Kind(number, _number, 0, is_sparse=True)
"""A number that is stored where it is not 0."""

OPTIONAL_NUMBER: Final = Kind(number, _number)
BOOLEAN: Final = Kind(lambda value: {"BOOL": value}, lambda value: bool(value["BOOL"]), False)
FLAG: Final = Kind(lambda _: {"BOOL": True}, lambda _: True, False, is_sparse=True)
"""A truth that is stored where it holds."""

STRINGS: Final = Kind(
    lambda values: {"SS": [*values]}, lambda value: tuple(sorted(value["SS"])), (), is_sparse=True
)


def map_of(columns: Columns, record: Callable[..., object]) -> Kind:
    """Return the kind of a record in a map of its own."""
    return Kind(
        lambda value: {"M": attributes(value, columns)},
        lambda value: record(**read_members(value["M"], columns)),
    )
