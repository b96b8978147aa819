"""Says in which attribute each member of a record is stored; encodes values and cursors."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.timestamps import Instant

Value: TypeAlias = Mapping[str, Any]
"""One attribute value: ``{"S": ...}``, ``{"N": ...}``, ``{"B": ...}`` and so on."""
Item: TypeAlias = dict[str, Any]
"""An item: attribute values by name."""
DEFLATE_FROM: Final = 128
"""Shorter texts stay readable; deflating them saves next to nothing."""
LEVEL: Final = 6
_RAW: Final = -15  # zlib without header and checksum: six bytes less


def number(value: int) -> Value:
    """Return a number as an attribute value."""
    return {"N": str(value)}


def string(value: str) -> Value:
    """Return a string as an attribute value."""
    return {"S": value}


def read_number(item: Item, name: str) -> int | None:
    """Return a number, or None if the item has none."""
    value = item.get(name)
    return None if value is None else int(value["N"])


def read_count(item: Item, name: str) -> int:
    """Return a number, 0 if the item has none."""
    return read_number(item, name) or 0


def read_instant(item: Item, name: str) -> Instant | None:
    """Return an instant, or None if the item has none."""
    value = read_number(item, name)
    return None if value is None else Instant(value)


def read_set(item: Item, name: str) -> tuple[str, ...]:
    """Return the strings of a set in their order; none if the item has no set."""
    return tuple(sorted(item.get(name, {}).get("SS", ())))


def read_string(item: Item, name: str) -> str:
    """Return a string, empty if the item has none."""
    value = item.get(name)
    return "" if value is None else str(value["S"])


def packed(text: str, level: int = LEVEL) -> Value:
    """Return a text, deflated into a binary if that is shorter.

    :param level: of zlib; 9 takes twice as long, for texts that many bytes are worth it in.
    """
    raw = text.encode()
    if len(raw) >= DEFLATE_FROM:
        deflated = deflate(raw, level)
        if len(deflated) < len(raw):
            return {"B": deflated}
    return {"S": text}


def stored_bytes(value: Value) -> int:
    """Return the length of what :func:`packed` made."""
    return len(value["B"]) if "B" in value else len(str(value["S"]).encode())


def unpacked(value: Value) -> str:
    """Return the text that :func:`packed` encoded."""
    if "S" in value:
        return str(value["S"])
    return inflate(bytes(value["B"])).decode()


def deflate(raw: bytes, level: int = LEVEL) -> bytes:
    """Compress without header.

    The strategy ``Z_FILTERED`` ignores repetitions of a few bytes: in random tokens a reference to
    one is longer than the bytes themselves. 8 KB of such tokens take 4.3 KB rather than 4.7 KB.
    """
    compressor = zlib.compressobj(level, zlib.DEFLATED, _RAW, strategy=zlib.Z_FILTERED)
    return compressor.compress(raw) + compressor.flush()


def inflate(data: bytes) -> bytes:
    """Expand what :func:`deflate` made."""
    return zlib.decompress(data, _RAW)


def handle_value(handle: str) -> Value:
    """Return a receipt handle as bytes: SQS's are base64; others stay text."""
    try:
        raw = base64.b64decode(handle, validate=True)
    except (binascii.Error, ValueError):
        return {"S": handle}
    return {"B": raw} if base64.b64encode(raw).decode() == handle else {"S": handle}


def read_handle(value: Value) -> str:
    """Return the receipt handle that :func:`handle_value` encoded."""
    return str(value["S"]) if "S" in value else base64.b64encode(bytes(value["B"])).decode()


def item_bytes(item: Item) -> int:
    """Return the size of an item as DynamoDB bills it: names and values."""
    return sum([len(name.encode()) + _value_bytes(value) for name, value in item.items()])


def _value_bytes(value: Value) -> int:
    ((kind, content),) = value.items()
    if kind == "S":
        return len(str(content).encode())
    if kind == "B":
        return len(bytes(content))
    if kind == "N":
        digits = str(content).lstrip("-").strip("0").replace(".", "")
        return (len(digits) + 1) // 2 + 1 + str(content).startswith("-")
    if kind == "M":
        return 3 + sum(len(name.encode()) + _value_bytes(v) + 1 for name, v in content.items())
    return 1


def write_units(*sizes: int) -> int:
    """Return the write units of items of these sizes: one for each started kilobyte."""
    return sum(max(1, -(-size // 1024)) for size in sizes)


@dataclass(frozen=True, slots=True)
class Kind:
    """Stores values of one kind; None has no attribute.

    :ivar absent: the value to return if the item lacks the attribute.
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


MAX_LENGTH: Final = 1024


def encode_cursor(*parts: str) -> str:
    """Return the cursor for some parts."""
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def decode_cursor(cursor: str, count: int) -> list[str]:
    """Return the parts of a cursor.

    :raises InvalidRequestError: this backend did not make the cursor.
    """
    try:
        if len(cursor) <= MAX_LENGTH:
            padded = cursor + "=" * (-len(cursor) % 4)
            parts = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
            if _are_parts(parts, count):
                return list(parts)
    except (ValueError, binascii.Error, RecursionError):
        pass
    message = "The 'cursor' parameter is not one that this server gave out."
    hint = "Pass next_cursor of the previous page as it is, or start without a cursor."
    raise field_error("cursor", message, hint)


def _are_parts(parts: object, count: int) -> bool:
    return (
        isinstance(parts, list)
        and len(parts) == count
        and all(isinstance(part, str) and part and part.isascii() for part in parts)
    )


def row_cursor(last: Item) -> str:
    """Return the cursor behind a row of the index; empty for none."""
    return encode_cursor(*(read_string(last, name) for name in (n.GSK, n.PK, n.SK))) if last else ""


def row_at(partition: str, cursor: str) -> Item:
    """Return the key of the row of the index that a cursor stands behind."""
    gsk, pk, sk = decode_cursor(cursor, 3)
    return {n.GPK: string(partition), n.GSK: string(gsk), n.PK: string(pk), n.SK: string(sk)}
