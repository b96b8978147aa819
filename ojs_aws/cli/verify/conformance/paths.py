"""Looks up JSON paths: ``$.jobs[0].id``, ``$.jobs[*].id``, ``$.jobs[?(@.id=='x')].state``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class UnreachableError(Exception):
    """Raised when the path leads through a value of another shape (an index into text, say).

    Something else than a field that is merely missing, for which a lookup gives None: an
    unreachable value fulfils no matcher but ``absent``.
    """


@dataclass(frozen=True)
class Field:
    """Names a member of an object."""

    name: str


@dataclass(frozen=True)
class Element:
    """Names one place of an array."""

    index: int


@dataclass(frozen=True)
class Every:
    """Stands for all places of an array."""


@dataclass(frozen=True)
class Where:
    """Finds the first object of an array whose field, written as text, equals a literal."""

    field: str
    text: str


Segment: TypeAlias = Field | Element | Every | Where

_SEGMENT = re.compile(
    r"""
    \.?(?P<field>[^.\[\]]+)
    | \[(?P<index>\d+)\]
    | \[(?P<every>\*)\]
    | \[\?\(@\.(?P<key>[^=\s]+)\s*==\s*(?P<quote>['"]?)(?P<text>.*?)(?P=quote)\)\]
    """,
    re.VERBOSE,
)


@cache
def parse_path(path: str) -> tuple[Segment, ...]:
    """Split a path into segments; the leading ``$.`` may be left out.

    :raises ValueError: the path is not of this little language.
    """
    text = path.removeprefix("$")
    segments: list[Segment] = []
    position = 0
    while position < len(text):
        found = _SEGMENT.match(text, position)
        if found is None:
            raise ValueError(f"{path!r} is no path of the conformance DSL")
        segments.append(_segment(found))
        position = found.end()
    return tuple(segments)


def _segment(found: re.Match[str]) -> Segment:
    if found["field"] is not None:
        return Field(found["field"])
    if found["index"] is not None:
        return Element(int(found["index"]))
    if found["every"] is not None:
        return Every()
    return Where(found["key"], found["text"])


def lookup(path: str, document: Json) -> Json:
    """Return the value at the path; None when a field is missing or null.

    :raises UnreachableError: a value on the way is not the object or array that the path needs.
    """
    try:
        segments = parse_path(path)
    except ValueError as problem:
        raise UnreachableError(str(problem)) from problem
    return _walk(segments, document, path)


def _walk(segments: tuple[Segment, ...], value: Json, path: str) -> Json:
    for position, segment in enumerate(segments):
        rest = segments[position + 1 :]
        if isinstance(segment, Field):
            if not isinstance(value, dict):
                raise UnreachableError(path)
            if segment.name not in value:
                if rest and not isinstance(rest[0], Field):
                    raise UnreachableError(path)
                return None
            value = value[segment.name]
            continue
        if not isinstance(value, list):
            raise UnreachableError(path)
        if isinstance(segment, Every):
            return _walk_every(rest, value, path)
        value = _pick(segment, value, path)
    return value


def _walk_every(rest: tuple[Segment, ...], items: list[Json], path: str) -> list[Json]:
    """Return what the rest of the path finds in each element; elements without it are left out."""
    if not rest:
        return items
    found: list[Json] = []
    for item in items:
        try:
            value = _walk(rest, item, path)
        except UnreachableError:
            continue
        if value is not None:
            found.append(value)
    return found


def _pick(segment: Element | Where, items: list[Json], path: str) -> Json:
    if isinstance(segment, Where):
        hits = (i for i in items if isinstance(i, dict) and segment.field in i)
        return next((hit for hit in hits if as_text(hit[segment.field]) == segment.text), None)
    if segment.index >= len(items):
        raise UnreachableError(path)
    return items[segment.index]


def as_text(value: Json) -> str:
    """Return a value as filters compare it: text as it is, whole numbers without .0."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
