"""Holds members as JSON texts, each decoded once; what nobody changed goes on as it came."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, Self

from ojs_aws.domain.errors import InvalidPayloadError, JsonValue
from ojs_aws.domain.json_text import (
    MAX_INTEGER_DIGITS,
    Member,
    RawJson,
    assemble,
    decode,
    encode,
    json_type,
    parse_object,
)

MAX_NATIVE_DEPTH: Final = 500
"""Nesting that no setting of the server accepts more of, nor the interpreter's stack."""

_INTEGER_LIMIT: Final = 10**MAX_INTEGER_DIGITS


def check_native(value: object, path: str, *, max_depth: int = MAX_NATIVE_DEPTH) -> None:
    """Refuse what JSON cannot say exactly: other types, keys that are no strings, NaN.

    Integers of more than 4300 digits, and values nested too deeply or within themselves, are
    refused too: no server takes them.

    :param path: where the value stands, for the message (``args[0].when``).
    :raises InvalidPayloadError: naming the place and the type.
    """
    if isinstance(value, (list, tuple, dict)):
        if max_depth <= 0:
            raise InvalidPayloadError(f"{path[:80]} ... is nested too deeply, or contains itself.")
        for step, item in _items(value, path):
            check_native(item, path + step, max_depth=max_depth - 1)
    else:
        _check_scalar(value, path)


def _items(value: Iterable[object], path: str) -> Iterator[tuple[str, object]]:
    """Yield the items of an array or object, with the step that leads to each."""
    if not isinstance(value, dict):
        yield from ((f"[{position}]", item) for position, item in enumerate(value))
        return
    for key, item in value.items():
        if not isinstance(key, str):
            raise InvalidPayloadError(
                f"{path} has the key {key!r}: keys of JSON objects are strings.",
            )
        yield f".{key}", item


def _check_scalar(value: object, path: str) -> None:
    if value is None or isinstance(value, (str, bool)):
        return
    if isinstance(value, int):
        if not -_INTEGER_LIMIT < value < _INTEGER_LIMIT:
            raise InvalidPayloadError(
                f"{path} is an integer of more than {MAX_INTEGER_DIGITS} digits.",
                hint="Send very long numbers as strings.",
            )
        return
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidPayloadError(f"{path} is {value}, which is not JSON.")
        return
    raise InvalidPayloadError(
        f"{path} is {_kind_of(value)}, which JSON does not have.",
        details={"field": path, "received": type(value).__name__},
        hint="Use strings, numbers, booleans, None, lists and dicts; dates as RFC 3339 strings.",
    )


def _kind_of(value: object) -> str:
    """Return the type of a value with its article."""
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


NOTHING_PARSED: Final[Mapping[str, Member]] = {}


class JsonMembers:
    """Maps names to members; lists and objects among them may be changed in place.

    A name is in ``_raw`` as long as there is the member, with None for a text that no
    longer holds; in ``_values`` once its value was set, or may have been changed in place; in
    ``_parsed`` with the value that its text had, which nobody changes. ``_sets`` counts what was
    set or removed.
    """

    __slots__ = ("_parsed", "_raw", "_sets", "_values")

    _raw: dict[str, RawJson | None]
    _values: dict[str, JsonValue]
    _parsed: Mapping[str, Member]
    _sets: int

    @classmethod
    def from_members(cls, members: Mapping[str, RawJson]) -> Self:
        """Build it from JSON texts; nothing is decoded until it is read."""
        return cls.from_parts(dict(members), {})

    @classmethod
    def from_parts(cls, raw: dict[str, RawJson | None], values: dict[str, JsonValue]) -> Self:
        """Build it from JSON values, which are not checked, and from texts of others.

        :param raw: the text of each member, in order; None for one that is among the values.
        """
        job = cls.__new__(cls)
        job._raw = raw  # noqa: SLF001 - of its own class
        job._values = values  # noqa: SLF001
        job._parsed = NOTHING_PARSED  # noqa: SLF001
        job._sets = 0  # noqa: SLF001
        return job

    @classmethod
    def from_parsed(cls, members: Mapping[str, Member]) -> Self:
        """Build it from a parsed body, whose values it keeps."""
        job = cls.from_parts({name: member.raw for name, member in members.items()}, {})
        job._parsed = members  # noqa: SLF001 - of its own class
        return job

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Build it from the text of a JSON object.

        :raises InvalidPayloadError: the text is no JSON object.
        """
        return cls.from_parsed(parse_object(text))

    def __contains__(self, name: str) -> bool:
        """Return whether there is such a member."""
        return name in self._raw

    def __iter__(self) -> Iterator[str]:
        """Yield the names, in order."""
        return iter(self._raw)

    def __getitem__(self, name: str) -> JsonValue:
        """Return the value of a member.

        :raises KeyError: there is none of this name.
        """
        if name not in self._values:
            raw = self._raw[name]
            if raw is None:  # pragma: no cover - a name is in one of the two
                raise KeyError(name)
            known = self._parsed.get(name)
            if known is not None and not isinstance(known.value, (list, dict)):
                return known.value
            self._values[name] = decode(raw, max_depth=MAX_NATIVE_DEPTH)
        return self._values[name]

    def view(self, names: Collection[str]) -> dict[str, JsonValue]:
        """Return the values of those members that there are, to look at only.

        Nobody may change a list or an object among them.
        """
        found: dict[str, JsonValue] = {}
        for name in self._raw:
            if name in names:
                is_parsed = name not in self._values and name in self._parsed
                found[name] = self._parsed[name].value if is_parsed else self[name]
        return found

    @property
    def edition(self) -> int | None:
        """Return a number that another one follows after a change.

        None if that cannot be known: somebody has a list or an object that may change in place.
        """
        for value in self._values.values():
            if isinstance(value, (list, dict)):
                return None
        return self._sets

    def __setitem__(self, name: str, value: JsonValue) -> None:
        """Set a member.

        :raises InvalidPayloadError: a value that JSON cannot say exactly.
        """
        check_native(value, name)
        self._raw[name] = None
        self._values[name] = value
        self._sets += 1

    def put_member(self, name: str, member: Member) -> None:
        """Set a member to a JSON text, whose value nobody changes."""
        self._raw[name] = member.raw
        self._values.pop(name, None)
        self._parsed = {**self._parsed, name: member}
        self._sets += 1

    def __delitem__(self, name: str) -> None:
        """Remove a member."""
        del self._raw[name]
        self._values.pop(name, None)
        self._sets += 1

    def get(self, name: str, default: JsonValue = None) -> JsonValue:
        """Return the value of a member, or the default."""
        if name in self._values:
            return self._values[name]
        return self[name] if name in self._raw else default

    def json_type(self, name: str) -> str:
        """Return the JSON type of a member ("array", "object" ...), without decoding a long text.

        :raises KeyError: there is none of this name.
        """
        raw = self._raw[name]
        if raw is None or name in self._values:
            return json_type(self._values[name])
        return _TYPES.get(raw.lstrip()[0], "number")

    def mentions(self, name: str, text: str) -> bool:
        """Return whether a member's JSON text contains a text; True if it was changed."""
        raw = self._raw.get(name, RawJson(""))
        return raw is None or text in raw

    def __copy__(self) -> Self:
        """Return an independent copy, as :meth:`copy` makes it."""
        return self.copy()

    def copy(self, **changes: JsonValue) -> Self:
        """Return a copy with some members changed; None removes one."""
        other = type(self).from_members(self.members())
        for name, value in changes.items():
            if value is not None:
                other[name] = value
            elif name in other:
                del other[name]
        return other

    def members(self) -> dict[str, RawJson]:
        """Return each member's JSON text: the original text if nobody changed the value.

        :raises InvalidPayloadError: a value that was put into a list or an object is not JSON.
        """
        return {
            name: self._text(name, raw) if raw is None or name in self._values else raw
            for name, raw in self._raw.items()
        }

    def _text(self, name: str, raw: RawJson | None) -> RawJson:
        if name not in self._values and raw is not None:
            return raw
        value = self._values[name]
        if raw is not None and not isinstance(value, (list, dict)):
            return raw
        check_native(value, name)
        text = encode(value)
        if raw is not None and encode(decode(raw, max_depth=MAX_NATIVE_DEPTH)) == text:
            return raw
        return text

    def text(self, name: str) -> RawJson:
        """Return the JSON text of a member: the original text if nobody changed the value.

        :raises KeyError: there is none of this name.
        :raises InvalidPayloadError: a value that was put into a list or an object is not JSON.
        """
        return self._text(name, self._raw[name])

    def to_json(self) -> RawJson:
        """Return all of them as one JSON object."""
        return assemble(self.members())

    # ------------------------------------------------------------------ values of one type
    def _string(self, name: str, default: str = "") -> str:
        value = self._values.get(name)
        if value is None:
            value = self.get(name)
        return value if isinstance(value, str) else default

    def _number(self, name: str, default: int = 0) -> int:
        value = self.get(name)
        return value if isinstance(value, int) else default

    def _mapping(self, name: str) -> dict[str, JsonValue] | None:
        value = self.get(name)
        return value if isinstance(value, dict) else None


_TYPES: Final = {
    '"': "string",
    "[": "array",
    "{": "object",
    "t": "boolean",
    "f": "boolean",
    "n": "null",
}
"""The type that the first character of a JSON text stands for; other ones begin a number."""
