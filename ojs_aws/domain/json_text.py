"""Parses JSON once for validation, and keeps and returns the very characters sent.

A client's data must come back exactly (integers of any size, floats, key order, escapes), so the
members of an envelope are carried as raw text beside their decoded values.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NewType

from ojs_aws.domain.errors import InvalidPayloadError, JsonValue, PayloadTooLargeError

RawJson = NewType("RawJson", str)
"""Text that is known to be one valid JSON value."""

MAX_INTEGER_DIGITS: Final = 4300
DEFAULT_MAX_DEPTH: Final = 100

ANY_DEPTH: Final = 1000
"""For texts that were accepted before: their depth was checked when they came."""

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_COLON: Final = re.compile(r"[ \t\n\r]*:[ \t\n\r]*")
_NEXT: Final = re.compile(r"[ \t\n\r]*(?:,[ \t\n\r]*(?P<key>\")|(?P<end>\}))")
"""What follows a member of an object: a comma with the next key, or the end."""
_STRING: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""A string, or one that never ends: a quote always matches, so that no character is read twice."""
_BRACKET: Final = re.compile(r"[\[{\]}]")


@dataclass(frozen=True, slots=True)
class Member:
    """Holds one member of a JSON object: its text and its value."""

    raw: RawJson
    value: JsonValue


def _integer(text: str) -> int:
    if len(text) > MAX_INTEGER_DIGITS and (digits := len(text.lstrip("-"))) > MAX_INTEGER_DIGITS:
        raise InvalidPayloadError(
            f"The body holds an integer of {digits} digits; at most {MAX_INTEGER_DIGITS} are "
            "accepted.",
            hint="Send very long numbers as strings.",
        )
    return int(text)


def _real(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise InvalidPayloadError(
            f"The number {text[:40]} is outside the range of a double.",
            hint="Send it as a string.",
        )
    return value


def _constant(name: str) -> JsonValue:
    raise InvalidPayloadError(
        f"{name} is not JSON.", hint="Send null or a string instead of NaN and Infinity."
    )


def _pairs(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _repeated(key)
            seen.add(key)
    return members


def _repeated(key: str) -> InvalidPayloadError:
    return InvalidPayloadError(
        f"The key {key[:80]!r} appears twice in one object.",
        details={"key": key[:80]},
        hint="Which of two equal keys counts differs between parsers: send each once.",
    )


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_int=_integer, parse_float=_real, parse_constant=_constant
)
_SCAN: Final[Callable[[str, int], tuple[Any, int]]] = vars(_DECODER)["scan_once"]
"""Reads the value at a place, as ``raw_decode`` does; raises StopIteration where there is none."""


def _check_depth(text: str, max_depth: int) -> None:
    """Refuse nesting that could exhaust the stack of this or of another parser."""
    if text.count("[") + text.count("{") <= max_depth:
        return
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > max_depth:
            raise InvalidPayloadError(
                f"The body is nested deeper than {max_depth} levels.",
                details={"max_depth": max_depth},
                hint="Flatten the arguments, or send the deep part as a string.",
            )


def _text(body: bytes | str, max_bytes: int | None) -> str:
    """Return the body as text, checked as UTF-8 and against the limit in bytes."""
    try:
        raw = body if isinstance(body, bytes) else body.encode("utf-8")
        text = raw.decode("utf-8") if isinstance(body, bytes) else body
    except UnicodeDecodeError as problem:
        raise InvalidPayloadError(
            f"The body is not UTF-8 (byte {problem.start}).", hint="Encode JSON as UTF-8."
        ) from problem
    except UnicodeEncodeError as problem:
        raise InvalidPayloadError(
            f"The body holds half of a surrogate pair (character {problem.start}).",
            hint="Write it as an escape, or leave it out.",
        ) from problem
    if max_bytes is not None and len(raw) > max_bytes:
        raise PayloadTooLargeError(
            f"The body has {len(raw)} bytes; at most {max_bytes} are accepted.",
            details={"size_bytes": len(raw), "max_bytes": max_bytes},
            hint="Store the data elsewhere and send a reference to it.",
        )
    return text


def _malformed(text: str, problem: json.JSONDecodeError) -> InvalidPayloadError:
    return InvalidPayloadError(
        f"The body is not valid JSON: {problem.msg} at line {problem.lineno}, column "
        f"{problem.colno}.",
        details={"line": problem.lineno, "column": problem.colno},
        hint="Send one JSON object." if text.strip() else "The body is empty: send a JSON object.",
    )


def decode(text: str, *, max_depth: int = DEFAULT_MAX_DEPTH) -> JsonValue:
    """Decode JSON strictly: no NaN, no repeated keys, bounded depth and digits.

    :raises InvalidPayloadError: saying where and why.
    """
    _check_depth(text, max_depth)
    try:
        value: JsonValue = _DECODER.decode(text)
    except json.JSONDecodeError as problem:
        raise _malformed(text, problem) from problem
    except RecursionError:  # only with a max_depth beyond the interpreter's own limit
        raise InvalidPayloadError("The body is nested too deeply.") from None
    return value


def parse_object(
    body: bytes | str, *, max_bytes: int | None = None, max_depth: int = DEFAULT_MAX_DEPTH
) -> dict[str, Member]:
    """Parse a JSON object into its members, in order, keeping each value's own text.

    :param max_bytes: refuse a longer body (bytes of UTF-8).
    :param max_depth: refuse deeper nesting, the object itself counting as one level.
    :raises PayloadTooLargeError: the body exceeds ``max_bytes``.
    :raises InvalidPayloadError: it is not one JSON object, or holds what :func:`decode` refuses.
    """
    text = _text(body, max_bytes)
    _check_depth(text, max_depth)
    try:
        return _members(text)
    except json.JSONDecodeError as problem:
        raise _malformed(text, problem) from problem
    except RecursionError:
        raise InvalidPayloadError("The body is nested too deeply.") from None


def _members(text: str) -> dict[str, Member]:
    """Yield the members of the top level; the decoder says where each value ends."""
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        value, end = _DECODER.raw_decode(text, at)
        if _skip(text, end) != len(text):
            raise json.JSONDecodeError("Extra data", text, end)
        raise InvalidPayloadError(
            f"The body is a JSON {json_type(value)}, not an object.",
            details={"expected": "object", "received": json_type(value)},
        )
    members, at = _object_at(text, at)
    if (end := _skip(text, at)) != len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return members


def _object_at(text: str, at: int) -> tuple[dict[str, Member], int]:
    """Read the members of the object that begins at a place, and the place behind it."""
    members: dict[str, Member] = {}
    at = _skip(text, at + 1)
    if text[at : at + 1] == "}":
        return members, at + 1
    try:
        while True:
            if text[at : at + 1] != '"':
                raise json.JSONDecodeError("Expecting a key in double quotes", text, at)
            key, at = _SCAN(text, at)
            colon = _COLON.match(text, at)
            if colon is None:
                raise json.JSONDecodeError("Expecting ':'", text, _skip(text, at))
            at = colon.end()
            value, end = _SCAN(text, at)
            if key in members:
                raise _repeated(key)
            members[key] = Member(RawJson(text[at:end]), value)
            following = _NEXT.match(text, end)
            if following is None:
                at = _skip(text, end)
                if text[at : at + 1] != ",":
                    raise json.JSONDecodeError("Expecting ','", text, at)
                at = _skip(text, at + 1)
            elif following["end"]:
                return members, following.end()
            else:
                at = following.end() - 1
    except StopIteration as problem:
        raise json.JSONDecodeError("Expecting value", text, problem.value) from None


class AssembledText(str):
    """Holds the JSON text of an object with its members, so that nobody parses it for them.

    :ivar members: nobody may change them.
    """

    __slots__ = ("members",)

    members: Mapping[str, RawJson]

    @classmethod
    def of(cls, members: Mapping[str, RawJson]) -> RawJson:
        """Build an object from the raw texts of its members, as :func:`assemble` does."""
        text = cls(assemble(members))
        text.members = members
        return RawJson(text)


def stored_texts(text: str) -> dict[str, RawJson]:
    """Return the members of a stored object, each as its own text."""
    if isinstance(text, AssembledText):
        return dict(text.members)
    return {name: member.raw for name, member in parse_object(text, max_depth=ANY_DEPTH).items()}


def parse_array(text: RawJson) -> list[Member]:
    """Return the items of a valid JSON array, each with its own text."""
    items: list[Member] = []
    at = _skip(text, 1)
    while text[at] != "]":
        value, end = _DECODER.raw_decode(text, at)
        items.append(Member(RawJson(text[at:end]), value))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return items


def parse_objects(text: RawJson) -> list[dict[str, Member]]:
    """Return the members of each object in an array; its other items are left out.

    :param text: known to be a valid JSON array.
    """
    objects: list[dict[str, Member]] = []
    at = _skip(text, 1)
    while text[at] != "]":
        if text[at] == "{":
            members, at = _object_at(text, at)
            objects.append(members)
        else:
            _, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return objects


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def json_type(value: object) -> str:
    """Return the JSON name of a value's type, for error messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    for kinds, name in (((int, float), "number"), ((str,), "string"), ((list, tuple), "array")):
        if isinstance(value, kinds):
            return name
    return "object" if isinstance(value, dict) else type(value).__name__


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ESCAPING: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
"""Made once: ``json.dumps`` makes one for each call."""
_QUOTE: Final = json.encoder.encode_basestring
"""What the encoders do to a text; most texts need no more."""


def encode(value: JsonValue) -> RawJson:
    """Return a value as compact JSON text; Unicode stays readable, lone surrogates are escaped.

    :raises ValueError: NaN, Infinity, or an integer of more than 4300 digits.
    """
    if type(value) is str and value.isascii():
        return RawJson(_QUOTE(value))
    if type(value) is int:
        return RawJson(str(value))
    text = _ENCODER.encode(value)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = _ESCAPING.encode(value)
    return RawJson(text)


def assemble(members: Mapping[str, RawJson]) -> RawJson:
    """Build an object from the raw texts of its members."""
    return RawJson("{" + members_text(members) + "}")


def members_text(members: Mapping[str, RawJson]) -> str:
    """Return the members of an object as they stand between its braces."""
    return ",".join(
        [
            f"{_QUOTE(name) if name.isascii() else encode(name)}:{raw}"
            for name, raw in members.items()
        ]
    )


def assemble_array(items: Iterable[RawJson]) -> RawJson:
    """Build an array from the raw texts of its items."""
    return RawJson("[" + ",".join(items) + "]")
