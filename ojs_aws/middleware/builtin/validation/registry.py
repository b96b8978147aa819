"""Schemas of the registry, compiled: they come over the network, and from more than one document.

Imports jsonschema: import this module only where a schema is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from ojs_aws.middleware.builtin.validation.middleware import Schema
from ojs_aws.middleware.builtin.validation.schemas import ArgsSchema, Compiler

_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE: Final = (
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)


def compile_registered(name: str, schema: Mapping[str, object]) -> ArgsSchema:
    """Compile a schema that was registered under a name.

    It describes the whole of ``args``; a schema of objects describes the one argument of a job,
    as the documents show it. A list in ``items``, which is how drafts before 2020-12 wrote
    ``prefixItems``, is taken for that where the schema names no draft.

    :raises InvalidSchemaError: it is no schema, refers to anything but itself, or has a pattern
        that could take long.
    """
    compiler = Compiler({}, check_formats=True, is_guarded=True)
    wanted = schema if "$schema" in schema else cast("Schema", _modern(schema))
    if isinstance(wanted, Mapping) and wanted.get("type") == "object":
        wanted = _of_one_argument(wanted)
    return compiler.compile(name, wanted)


def _of_one_argument(schema: Mapping[str, Any]) -> Schema:
    """What describes the arguments, for a schema of the only one.

    It is a resource of its own, so that ``#`` means what it did.
    """
    inner = {"$id": "urn:ojs:argument", **schema}
    return {"type": "array", "prefixItems": [inner], "minItems": 1, "maxItems": 1}


def _modern(schema: object) -> object:
    """The schema with ``prefixItems`` where ``items`` is a list."""
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
