"""Compile the schemas of the registry, which come over the network from many authors.

Imports jsonschema: import this module only where a schema is compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast
from urllib.parse import urlsplit

from ojs_aws.middleware.builtin.validation import Schema
from ojs_aws.middleware.builtin.validation.schemas import ArgsSchema, Compiler
from ojs_aws.middleware.results import InvalidSchemaError

_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE: Final = (
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_REFERENCES: Final = ("$id", "$ref", "$dynamicRef")
_SHOWN: Final = 200


def compile_registered(
    name: str, schema: Mapping[str, object], *, is_known: bool = False
) -> ArgsSchema:
    """Compile a schema that was registered under a name.

    It describes the whole of ``args``; a schema of objects describes the one argument of a job,
    as the documents show it. A list in ``items``, which is how drafts before 2020-12 wrote
    ``prefixItems``, is taken for that where the schema names no draft.

    :param is_known: it was compiled when it was registered.
    :raises InvalidSchemaError: it is no schema, refers to anything but itself, or has a pattern
        that could take long.
    """
    compiler = Compiler({}, check_formats=True, is_guarded=True)
    wanted = schema if "$schema" in schema else cast("Schema", _modern(schema))
    if isinstance(wanted, Mapping) and wanted.get("type") == "object":
        wanted = _of_one_argument(wanted)
    return compiler.compile(name, wanted, is_known=is_known)


def check_readable(name: str, schema: object) -> None:
    """Refuse what the check of arguments would fail at: URIs and numbers that cannot be read.

    For new schemas only: those that are stored are used as long as they can be.

    :raises InvalidSchemaError: naming the place as a JSON pointer.
    """
    pending = [("", schema)]
    while pending:
        place, part = pending.pop()
        if not isinstance(part, Mapping):
            continue
        for keyword in _REFERENCES:
            if not _is_reference(part.get(keyword, "")):
                raise InvalidSchemaError(
                    f"The schema of {name} is not valid: at {place}/{keyword}: "
                    f"{str(part[keyword])[:_SHOWN]!r} is no URI."
                )
        if not _is_finite(part.get("multipleOf", 1)):
            raise InvalidSchemaError(
                f"The schema of {name} is not valid: at {place}/multipleOf: the number is outside "
                "the range of a double."
            )
        pending += _parts_of(place, part)


def _parts_of(place: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the schemas directly within one, each with its place."""
    for keyword, value in schema.items():
        here = f"{place}/{keyword}"
        if keyword in _MAPS and isinstance(value, Mapping):
            for name, part in value.items():
                yield f"{here}/{name.replace('~', '~0').replace('/', '~1')}", part
        elif keyword in {*_LISTS, "items"} and isinstance(value, list):
            for at, part in enumerate(value):
                yield f"{here}/{at}", part
        elif keyword in _SINGLE:
            yield here, value


def _is_reference(value: object) -> bool:
    try:
        urlsplit(value if isinstance(value, str) else "")
    except ValueError:
        return False
    return True


def _is_finite(value: object) -> bool:
    try:
        return not isinstance(value, (int, float)) or math.isfinite(float(value))
    except OverflowError:
        return False


def _of_one_argument(schema: Mapping[str, Any]) -> Schema:
    """Return a schema of all arguments, for a schema that describes the only one.

    It is a resource of its own, so that ``#`` means what it did.
    """
    inner = {"$id": "urn:ojs:argument", **schema}
    return {"type": "array", "prefixItems": [inner], "minItems": 1, "maxItems": 1}


def _modern(schema: object) -> object:
    """Return the schema with ``prefixItems`` where ``items`` is a list."""
    if not isinstance(schema, Mapping):
        return schema
    modern: dict[str, object] = {}
    for keyword, value in schema.items():
        modern[keyword] = _part(keyword, value)
    items = modern.get("items")
    if isinstance(items, list) and "prefixItems" not in modern:
        modern["prefixItems"] = [_modern(item) for item in items]
        del modern["items"]
        if "additionalItems" in modern:
            modern["items"] = modern.pop("additionalItems")
    return modern


def _part(keyword: str, value: object) -> object:
    each: Callable[[object], object] = _modern
    if keyword in _MAPS and isinstance(value, Mapping):
        return {name: each(part) for name, part in value.items()}
    if keyword in _LISTS and isinstance(value, list):
        return [each(part) for part in value]
    return each(value) if keyword in _SINGLE else value
