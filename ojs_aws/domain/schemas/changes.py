"""Finds changes that make a schema refuse what the one before accepted (ojs-schema-registry, 8).

Keyword by keyword, and never more than the specification's list: what cannot be judged (``not``,
``if``, patterns of property names) counts as no change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeGuard

from ojs_aws.domain.errors import JsonValue

MAX_CHANGES: Final = 20
MAX_DEPTH: Final = 64

Schema = JsonValue
Object = Mapping[str, JsonValue]

_UPPER: Final = ("maxLength", "maxItems", "maxProperties", "maximum", "exclusiveMaximum")
_LOWER: Final = ("minLength", "minItems", "minProperties", "minimum", "exclusiveMinimum")
_FIXED: Final = ("pattern", "format", "multipleOf", "contains", "propertyNames")
_ALL_TYPES: Final = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})


def breaking_changes(old: Schema, new: Schema) -> list[str]:
    """Return the first twenty breaking changes from one schema to the next, for people."""
    found: list[str] = []
    for change in _Comparison(old, new).compare(old, new, "", 0):
        if change not in found:
            found.append(change)
        if len(found) == MAX_CHANGES:
            break
    return found


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Compares two whole schemas; references are looked up in them."""

    old: Schema
    new: Schema

    def compare(self, old: Schema, new: Schema, where: str, depth: int) -> Iterator[str]:
        """Yield the breaking changes from a part of the old schema to that of the new one.

        :param where: of the arguments, that they describe; empty for all of them.
        """
        before, after = _resolved(old, self.old), _resolved(new, self.new)
        if before is None or after is None or depth > MAX_DEPTH or before == after:
            return
        if after.get("not") == {} or before.get("not") == {}:  # what false means
            if before.get("not") != {}:
                yield f"{_named(where)} is not allowed any more"
            return
        yield from _of_types(before, after, where)
        yield from _of_limits(before, after, where)
        yield from _of_values(before, after, where)
        yield from _of_required(before, after, where)
        yield from self._of_properties(before, after, where, depth)
        yield from self._of_items(before, after, where, depth)
        yield from _of_alternatives(before, after, where)

    def _of_properties(
        self, before: Object, after: Object, where: str, depth: int
    ) -> Iterator[str]:
        had, has = _objects(before.get("properties")), _objects(after.get("properties"))
        for name in had:
            if name not in has:
                yield f"Field '{_below(where, name)}' was removed"
            else:
                yield from self.compare(had[name], has[name], _below(where, name), depth + 1)
        rest, other = before.get("additionalProperties", True), after.get("additionalProperties")
        if other is False and rest is not False:
            yield f"Further fields of {_named(where)} are not allowed any more"
        elif isinstance(other, dict):
            yield from self.compare(rest, other, _below(where, "*"), depth + 1)

    def _of_items(self, before: Object, after: Object, where: str, depth: int) -> Iterator[str]:
        had, has = _list(before.get("prefixItems")), _list(after.get("prefixItems"))
        rest, other = before.get("items", True), after.get("items", True)
        for at, part in enumerate(had):
            following = has[at] if at < len(has) else other
            yield from self.compare(part, following, _below(where, str(at)), depth + 1)
        if other is False and rest is not False:
            yield f"Further items of {_named(where)} are not allowed any more"
        elif other is not False:
            yield from self.compare(rest, other, _below(where, "*"), depth + 1)


def _of_types(before: Object, after: Object, where: str) -> Iterator[str]:
    had, has = _types(before), _types(after)
    if not had <= has:
        yield f"The type of {_named(where)} changed from {_shown(had)} to {_shown(has)}"


def _of_limits(before: Object, after: Object, where: str) -> Iterator[str]:
    for keyword in (*_UPPER, *_LOWER):
        was, now = before.get(keyword), after.get(keyword)
        if not _is_number(now):
            continue
        if not _is_number(was):
            is_narrower = not (keyword.startswith("min") and keyword != "minimum" and now == 0)
        else:
            is_narrower = now < was if keyword in _UPPER else now > was
        if is_narrower:
            change = f"from {was} to {now}" if _is_number(was) else f"to {now}"
            yield f"Constraint '{keyword}' of {_named(where)} was narrowed {change}"
    if after.get("uniqueItems") is True and before.get("uniqueItems") is not True:
        yield f"Items of {_named(where)} must be unique now"
    for keyword in _FIXED:
        if keyword in after and after[keyword] != before.get(keyword):
            yield f"Constraint '{keyword}' of {_named(where)} was added or changed"


def _of_values(before: Object, after: Object, where: str) -> Iterator[str]:
    had, has = _values(before), _values(after)
    if has is None:
        return
    if had is None:
        yield f"The values of {_named(where)} are enumerated now"
        return
    gone = [value for value in had if value not in has]
    if gone:
        yield f"{len(gone)} of the values of {_named(where)} were removed"


def _of_required(before: Object, after: Object, where: str) -> Iterator[str]:
    had = _list(before.get("required"))
    for name in _list(after.get("required")):
        if name not in had:
            yield f"Required field '{_below(where, str(name))}' was added"


def _of_alternatives(before: Object, after: Object, where: str) -> Iterator[str]:
    for keyword in ("anyOf", "oneOf"):
        had, has = before.get(keyword), after.get(keyword)
        if isinstance(has, list) and (
            not isinstance(had, list) or any(part not in has for part in had)
        ):
            yield f"An alternative of {_named(where)} was removed ('{keyword}')"
    conditions = _list(before.get("allOf"))
    if any(part not in conditions for part in _list(after.get("allOf"))):
        yield f"A condition on {_named(where)} was added ('allOf')"


def _resolved(schema: Schema, whole: Schema) -> Object | None:
    """Return a schema with its references resolved; None if that is impossible."""
    for _ in range(MAX_DEPTH):
        if isinstance(schema, bool):
            return {} if schema else {"not": {}}
        if not isinstance(schema, dict):
            return None
        target = schema.get("$ref")
        if not isinstance(target, str):
            return schema
        schema = _at(whole, target)
    return None


def _at(whole: Schema, reference: str) -> Schema:
    if not reference.startswith("#/"):
        return whole if reference == "#" else None
    found: JsonValue = whole
    for step in reference[2:].split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _types(schema: Object) -> frozenset[str]:
    """Return the accepted types; every integer is a number."""
    stated = schema.get("type")
    names = stated if isinstance(stated, list) else [stated]
    types = frozenset(name for name in names if isinstance(name, str))
    if not types:
        return _ALL_TYPES
    return types | {"integer"} if "number" in types else types


def _values(schema: Object) -> list[JsonValue] | None:
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) else None


def _objects(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list) else ()


def _is_number(value: JsonValue) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _below(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _named(where: str) -> str:
    return f"'{where}'" if where else "the arguments"


def _shown(types: frozenset[str]) -> str:
    shown = types - {"integer"} if "number" in types else types
    return "any" if types == _ALL_TYPES else " or ".join(sorted(shown))
