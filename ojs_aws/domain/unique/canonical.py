"""Writes canonical JSON: equal values give equal text, whoever wrote them (RFC 8785).

Two things go beyond the RFC. Strings are brought to Unicode's composed form (NFC), as unique jobs
demand. An integer keeps all its digits, where the RFC rounds those beyond 2^53 to a double: two
different 64-bit identifiers must not become one.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from ojs_aws.domain.errors import InvalidPayloadError, JsonValue
from ojs_aws.domain.json_text import json_type

_MAX_PLAIN_POINT: Final = 21
_MIN_PLAIN_POINT: Final = -6
"""Where a number's point may stand; outside, ECMAScript writes it with an exponent."""


class _Text(str):
    """Marks text that is already part of the result."""

    __slots__ = ()


def canonical_json(value: JsonValue) -> str:
    """Return the canonical text of a JSON value: sorted members, no whitespace, NFC.

    :raises InvalidPayloadError: a value that JSON does not have (NaN, a date).
    """
    parts: list[str] = []
    pending: list[object] = [value]  # and not recursion: arguments may be nested deeply
    while pending:
        item = pending.pop()
        if isinstance(item, _Text):
            parts.append(item)
        elif isinstance(item, dict):
            pending.extend(reversed(list(_object(item))))
        elif isinstance(item, (list, tuple)):
            pending.extend(reversed(list(_array(item))))
        else:
            parts.append(_scalar(item))
    return "".join(parts)


def _array(items: list[object] | tuple[object, ...]) -> Iterator[object]:
    yield _Text("[")
    for position, item in enumerate(items):
        if position:
            yield _Text(",")
        yield item
    yield _Text("]")


def _object(members: dict[str, object]) -> Iterator[object]:
    """Yield the members ordered by their names in UTF-16, as the RFC demands."""
    named = sorted((_utf16(_nfc(name)), _utf16(name), name) for name in members)
    yield _Text("{")
    for position, (_, _, name) in enumerate(named):
        comma = "," if position else ""
        yield _Text(f"{comma}{_string(name)}:")
        yield members[name]
    yield _Text("}")


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def _nfc(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _string(text: str) -> str:
    return json.dumps(_nfc(text), ensure_ascii=False)


def _scalar(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int):
        return _integer(int(value))
    if isinstance(value, float) and value - value == 0:  # neither NaN nor infinite
        return _real(value)
    raise InvalidPayloadError(f"A {json_type(value)} {str(value)[:40]!r} is not JSON.")


def _real(value: float) -> str:
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits))
    return _number(text, len(text) + int(exponent), is_negative=bool(sign))


def _integer(value: int) -> str:
    text = str(abs(value))
    return _number(text, len(text), is_negative=value < 0)


def _number(digits: str, point: int, *, is_negative: bool) -> str:
    """Return a number as ECMAScript writes it, from its digits and the position of the point."""
    text = digits.rstrip("0")
    if not text:
        return "0"
    if not _MIN_PLAIN_POINT < point <= _MAX_PLAIN_POINT:
        fraction = f".{text[1:]}" if len(text) > 1 else ""
        written = f"{text[0]}{fraction}e{point - 1:+d}"
    elif point <= 0:
        written = f"0.{'0' * -point}{text}"
    elif point >= len(text):
        written = text + "0" * (point - len(text))
    else:
        written = f"{text[:point]}.{text[point:]}"
    return f"-{written}" if is_negative else written
