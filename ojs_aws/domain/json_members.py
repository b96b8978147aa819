"""Holds an ordered set of members as JSON texts; each is decoded once.

What came as text keeps each member's own text until somebody changes it, so that what nobody
touched goes on exactly as it came.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, Self

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import (
    Member,
    RawJson,
    assemble,
    decode,
    encode,
    json_type,
    parse_object,
)
from ojs_aws.domain.native_json import MAX_NATIVE_DEPTH, check_native

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
