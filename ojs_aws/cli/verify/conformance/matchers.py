"""Looks up JSON paths and matches values, as the conformance DSL does.

A path is ``$.jobs[0].id``, ``$.jobs[*].id`` or ``$.jobs[?(@.id=='x')].state``. A matcher is a
literal, text such as ``"string:uuidv7"``, an object with one operator (``{"$in": [...]}``), or an
object of fields that must match. A missing field is None, like null.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Final, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
_Segments: TypeAlias = "tuple[re.Match[str], ...]"

_SEGMENT: Final = re.compile(
    r"""
    \.?(?P<field>[^.\[\]]+)
    | \[(?P<index>\d+)\]
    | \[(?P<every>\*)\]
    | \[\?\(@\.(?P<key>[^=\s]+)\s*==\s*(?P<quote>['"]?)(?P<text>.*?)(?P=quote)\)\]
    """,
    re.VERBOSE,
)
"""A member of an object, one place of an array, all places, or the first object with a value."""


class UnreachableError(Exception):
    """Raised when the path leads through a value of another shape (an index into text, say).

    Something else than a field that is merely missing, for which a lookup gives None: an
    unreachable value fulfils no matcher but ``absent``.
    """


def lookup(path: str, document: Json) -> Json:
    """Return the value at a path, whose leading ``$.`` may be left out; None if it is missing.

    :raises UnreachableError: the path is not of this little language, or a value on the way is not
        the object or array that it needs.
    """
    return _walk(_segments(path), document, path)


@cache
def _segments(path: str) -> _Segments:
    text, position = path.removeprefix("$"), 0
    segments: list[re.Match[str]] = []
    while position < len(text):
        found = _SEGMENT.match(text, position)
        if found is None:
            raise UnreachableError(f"{path!r} is no path of the conformance DSL")
        segments.append(found)
        position = found.end()
    return tuple(segments)


def _walk(segments: _Segments, value: Json, path: str) -> Json:
    for position, segment in enumerate(segments):
        rest = segments[position + 1 :]
        if (name := segment["field"]) is not None:
            if not isinstance(value, dict):
                raise UnreachableError(path)
            if name not in value:
                if rest and rest[0]["field"] is None:
                    raise UnreachableError(path)
                return None
            value = value[name]
        elif not isinstance(value, list):
            raise UnreachableError(path)
        elif segment["every"]:
            return _walk_every(rest, value, path)
        else:
            value = _pick(segment, value, path)
    return value


def _walk_every(rest: _Segments, items: list[Json], path: str) -> list[Json]:
    """Return what the rest of the path finds in each element; elements without it are left out."""
    if not rest:
        return items
    found: list[Json] = []
    for item in items:
        with suppress(UnreachableError):
            found.append(_walk(rest, item, path))
    return [value for value in found if value is not None]


def _pick(segment: re.Match[str], items: list[Json], path: str) -> Json:
    if (key := segment["key"]) is not None:
        hits = (i for i in items if isinstance(i, dict) and key in i)
        return next((hit for hit in hits if as_text(hit[key]) == segment["text"]), None)
    index = int(segment["index"])
    if index >= len(items):
        raise UnreachableError(path)
    return items[index]


def as_text(value: Json) -> str:
    """Return a value as filters compare it: text as it is, whole numbers without .0."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


_UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-%s[0-9a-f]{3}-%s[0-9a-f]{3}-[0-9a-f]{12}"
_STRING_FORMS: Final = {
    "uuid": re.compile(_UUID % ("[0-9a-f]", "[0-9a-f]")),
    "uuidv7": re.compile(_UUID % ("7", "[89ab]")),
    "datetime": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII),
}
_APPROXIMATE_SHARE: Final = 0.5


def search(pattern: Json, value: Json) -> bool:
    """Return whether the pattern is found in a text; a faulty pattern is found nowhere."""
    if not isinstance(pattern, str) or not isinstance(value, str):
        return False
    anchored = re.sub(r"(?<!\\)\$$", r"\\Z", pattern)  # a final newline is not the end
    try:
        return re.search(anchored, value, re.ASCII) is not None
    except re.error:
        return False


def matches(matcher: Json, value: Json) -> bool:
    """Return whether the value is what the matcher asks for."""
    if isinstance(matcher, str):
        return _matches_text(matcher, value)
    if isinstance(matcher, dict):
        return _matches_object(matcher, value)
    if isinstance(matcher, list):
        return (
            isinstance(value, list)
            and len(value) == len(matcher)
            and all(matches(wanted, item) for wanted, item in zip(matcher, value, strict=True))
        )
    if matcher is None or isinstance(matcher, bool):
        return value is matcher
    return _is_number(value) and value == matcher


def matches_status(wanted: Json, status: int) -> bool:
    """Return whether the status is a number, one of ``one_of:200,204``, or what a matcher says."""
    if isinstance(wanted, str) and wanted.startswith("one_of:"):
        return str(status) in {code.strip() for code in wanted.removeprefix("one_of:").split(",")}
    if isinstance(wanted, list):
        return False
    return matches(wanted, status)


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _between(value: Json, low: float | None, high: float | None) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return (low is None or value >= low) and (high is None or value <= high)


# ------------------------------------------------------------------------------ text matchers
def _string(form: str, value: Json) -> bool:
    if not isinstance(value, str):
        return False
    if form in ("nonempty", "non_empty"):
        return value != ""
    if form.startswith("contains:"):
        return form.removeprefix("contains:") in value
    if form.startswith("pattern(") and form.endswith(")"):
        return search(form[len("pattern(") : -1], value)
    known = _STRING_FORMS.get(form)
    return known is not None and known.fullmatch(value) is not None


def _number(form: str, value: Json) -> bool:
    if form == "positive":
        return _between(value, 0, None) and value != 0
    if form == "non_negative":
        return _between(value, 0, None)
    bounds = re.fullmatch(r"range\((-?[\d.]+),\s*(-?[\d.]+)\)", form)
    return bounds is not None and _between(value, float(bounds[1]), float(bounds[2]))


def _array(form: str, value: Json) -> bool:
    if not isinstance(value, list):
        return False
    if form in ("nonempty", "empty"):
        return bool(value) is (form == "nonempty")
    least = re.fullmatch(r"min(?:_length)?:(\d+)", form)
    if least:
        return len(value) >= int(least[1])
    exactly = re.fullmatch(r"length(?::(\d+)|\((\d+)\))", form)
    return exactly is not None and len(value) == int(exactly[1] or exactly[2])


def _contains(text: str, value: Json) -> bool:
    return isinstance(value, list) and text in [as_text(item) for item in value]


_FAMILIES: Final[Mapping[str, Callable[[str, Json], bool]]] = {
    "string": _string,
    "number": _number,
    "array": _array,
    "contains": _contains,
    "not_contains": lambda text, value: isinstance(value, list) and not _contains(text, value),
}


def _matches_text(matcher: str, value: Json) -> bool:
    if matcher == "any":
        return True
    if matcher in ("exists", "absent"):
        return (value is not None) is (matcher == "exists")
    if approximate := re.fullmatch(r"~(\d+(?:\.\d+)?)", matcher):
        middle = float(approximate[1])
        return _between(value, middle * (1 - _APPROXIMATE_SHARE), middle * (1 + _APPROXIMATE_SHARE))
    family, colon, form = matcher.partition(":")
    if colon and family in _FAMILIES:
        return _FAMILIES[family](form, value)
    return value == matcher


# ------------------------------------------------------------------------------ object matchers
def _exists(wanted: Json, value: Json) -> bool:
    return (wanted is True) is (value is not None)


def _one_of(wanted: Json, value: Json) -> bool:
    return isinstance(wanted, list) and any(matches(option, value) for option in wanted)


def _size(wanted: Json, value: Json) -> bool:
    if not isinstance(value, list):
        return False
    if isinstance(wanted, dict):
        least = wanted.get("$gte")
        return isinstance(least, int) and len(value) >= least
    return _is_number(wanted) and len(value) == wanted


def _range(wanted: Json, value: Json) -> bool:
    if not isinstance(wanted, dict):
        return False
    bounds = (wanted.get("min"), wanted.get("max"))
    low, high = (each if isinstance(each, (int, float)) else None for each in bounds)
    return _between(value, low, high)


_OPERATORS: Final[Mapping[str, Callable[[Json, Json], bool]]] = {
    "$exists": _exists,
    "$match": search,
    "$in": _one_of,
    "$size": _size,
    "$or": _one_of,
    "range": _range,
}
_TYPES: Final[Mapping[str, Callable[[Json], bool]]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def _matches_object(matcher: dict[str, Json], value: Json) -> bool:
    kind = matcher.get("$type")
    if isinstance(kind, str) and "$exists" in matcher:
        return _exists(matcher["$exists"], value) and kind in _TYPES and _TYPES[kind](value)
    for operator, holds in _OPERATORS.items():
        if operator in matcher:
            return holds(matcher[operator], value)
    return isinstance(value, dict) and all(
        name not in value if wanted == "absent" else name in value and matches(wanted, value[name])
        for name, wanted in matcher.items()
    )


def matches_alternative(option: Json, body: Json, text: str) -> bool:
    """Return whether an alternative of ``$or`` holds: paths and matchers, or ``$empty``."""
    if not isinstance(option, dict):
        return False
    if "$empty" in option:
        return (text.strip() == "") is option["$empty"]
    try:
        return all(matches(wanted, lookup(path, body)) for path, wanted in option.items())
    except UnreachableError:
        return False
