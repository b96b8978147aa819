"""JSON Schemas of job arguments, compiled once and applied with bounded work.

Imports jsonschema: import this module only where a schema is compiled.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing import Registry, Resource
from referencing.exceptions import NoSuchResource, Unresolvable
from referencing.jsonschema import DRAFT202012, EMPTY_REGISTRY

from ojs_aws.domain.canonical import canonical_json
from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.json_text import json_type
from ojs_aws.domain.timestamps import parse_duration, parse_timestamp
from ojs_aws.domain.validation import URI_PATTERN
from ojs_aws.middleware.errors import InvalidSchemaError
from ojs_aws.middleware.validation import Schema

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
MAX_MATCHED_CHARACTERS: Final = 4096
"""Longer strings fail a ``pattern``: matching can take time that grows faster than the text."""
MAX_PATTERN_CHARACTERS: Final = 1024
_SHOWN: Final = 200

_RUNAWAY: Final = re.compile(r"\((?:\?:)?(?:\[[^\]]*\]|\\.|[^\\()\[\]])[+*]\)(?:[+*]|\{\d*,\})")
"""A repeated group around one repetition, as in ``(a+)+``: its matching takes exponential time."""


class ArgsSchema:
    """A schema that arguments can be checked against. For any number of threads.

    :ivar name: the job type, with the version if it has one.
    """

    def __init__(self, name: str, validator: Validator, *, matches_keys: bool) -> None:
        """Keep the compiled schema."""
        self.name = name
        self._validator = validator
        self._matches_keys = matches_keys

    def errors(self, args: JsonValue, limit: int) -> tuple[list[dict[str, JsonValue]], bool]:
        """What is wrong with the arguments: at most ``limit`` errors, and whether there are more.

        No error holds a value of the arguments, which may be secret; only names of members.
        """
        if self._matches_keys and (long := _longest_key(args)) > MAX_MATCHED_CHARACTERS:
            text = f"a key of {long} characters; at most {MAX_MATCHED_CHARACTERS} are accepted"
            return [_entry("$.args", "", text, "#")], False
        try:
            found = list(itertools.islice(self._validator.iter_errors(args), limit + 1))
        except (RecursionError, OverflowError):
            text = "nested too deeply, or a number too large, to be checked"
            return [_entry("$.args", "", text, "#")], False
        return [_described(error) for error in found[:limit]], len(found) > limit


def _longest_key(value: JsonValue) -> int:
    longest, pending = 0, [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            longest = max(longest, *map(len, item), 0)
            pending.extend(item.values())
        elif isinstance(item, (list, tuple)):
            pending.extend(item)
    return longest


class Compiler:
    """Compiles schemas that refer to nothing but themselves and some named resources."""

    def __init__(self, resources: Mapping[str, Schema], *, check_formats: bool) -> None:
        """Take further schemas by their URI.

        :raises InvalidSchemaError: one of them is no schema, or refers to what is not here.
        """
        self._formats = _FORMATS if check_formats else None
        named = [(uri, DRAFT202012.create_resource(schema)) for uri, schema in resources.items()]
        self._known: Registry[Any] = EMPTY_REGISTRY.with_resources(named).crawl()
        self._keywords: set[str] = set()
        for uri, resource in named:
            self._check(uri, resource.contents)
            self._keywords |= _walk(uri, resource, self._known.resolver(base_uri=uri))

    def compile(self, name: str, schema: Schema) -> ArgsSchema:
        """Compile the schema of a job type.

        :raises InvalidSchemaError: naming the type and what is wrong with its schema.
        """
        self._check(name, schema)
        if isinstance(schema, Mapping):
            allowed = schema.get("type", "array")
            if "array" not in (allowed if isinstance(allowed, list) else [allowed]):
                raise InvalidSchemaError(
                    f"The schema of {name} is of type {allowed}, but it describes the whole of "
                    "'args', which is an array: describe the arguments in 'prefixItems'."
                )
        resource = DRAFT202012.create_resource(schema)
        registry = self._known.with_resource(resource.id() or "", resource).crawl()
        resolver = registry.resolver_with_root(resource)
        keywords = self._keywords | _walk(name, resource, resolver)
        validator = _BoundedValidator(schema, registry=registry, format_checker=self._formats)
        return ArgsSchema(name, validator, matches_keys="patternProperties" in keywords)

    def _check(self, name: str, schema: Schema) -> None:
        """Refuse what is no schema of the one draft."""
        if not isinstance(schema, (Mapping, bool)):
            raise InvalidSchemaError(
                f"The schema of {name} must be an object or a boolean, not a {json_type(schema)}."
            )
        dialect = DIALECT if isinstance(schema, bool) else schema.get("$schema", DIALECT)
        if str(dialect).rstrip("#") != DIALECT:
            raise InvalidSchemaError(
                f"The schema of {name} is written for {dialect}; only {DIALECT} is understood."
            )
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as problem:
            raise InvalidSchemaError(
                f"The schema of {name} is not valid: at {_pointer(problem)}: {problem.message}"
            ) from problem


def _walk(name: str, resource: Resource[Any], resolver: Any) -> set[str]:
    """Look up every reference and look over every pattern; the keywords that are used."""
    keywords: set[str] = set()
    pending = [(resource, resolver)]
    while pending:
        part, within = pending.pop()
        pending += [(sub, within.in_subresource(sub)) for sub in part.subresources()]
        if not isinstance(part.contents, Mapping):
            continue
        keywords |= part.contents.keys()
        for keyword in ("$ref", "$dynamicRef"):
            if keyword in part.contents:
                _look_up(name, part.contents[keyword], within)
        _check_patterns(name, part.contents)
    return keywords


def _look_up(name: str, reference: str, resolver: Any) -> None:
    try:
        resolver.lookup(reference)
    except (Unresolvable, NoSuchResource) as problem:
        raise InvalidSchemaError(
            f"The schema of {name} refers to {reference!r}, which is not here. Nothing is "
            "downloaded: put it into '$defs', or pass it in 'resources'."
        ) from problem


def _check_patterns(name: str, schema: Mapping[str, Any]) -> None:
    patterns = [schema["pattern"]] if "pattern" in schema else []
    for pattern in (*patterns, *schema.get("patternProperties", {})):
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as problem:
            raise InvalidSchemaError(
                f"The schema of {name} has the pattern {pattern[:_SHOWN]!r}, which Python does not "
                f"understand: {problem}."
            ) from problem
        if len(pattern) > MAX_PATTERN_CHARACTERS or _RUNAWAY.search(pattern):
            raise InvalidSchemaError(
                f"The schema of {name} has the pattern {pattern[:_SHOWN]!r}, which could take very "
                "long to match: do not repeat a repetition, and stay under "
                f"{MAX_PATTERN_CHARACTERS} characters."
            )


# -------------------------------------------------------------------------------- bounded keywords
def _unique_items(
    validator: Any, wanted: Any, instance: Any, _schema: Any
) -> Iterator[ValidationError]:
    """Distinct items, in a time that is linear: the library compares objects pair by pair."""
    if wanted and validator.is_type(instance, "array"):
        distinct = {canonical_json(item) for item in instance}
        if len(distinct) != len(instance):
            yield ValidationError("items repeat")


def _matching(
    validator: Any, pattern: Any, instance: Any, _schema: Any
) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "string"):
        return
    if len(instance) > MAX_MATCHED_CHARACTERS or not re.search(pattern, instance):
        yield ValidationError("no match")


_BoundedValidator: Final[Any] = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {"uniqueItems": _unique_items, "pattern": _matching},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "array",
        lambda _, value: isinstance(value, (list, tuple)),  # Python callers may pass tuples
    ),
)


def _formats() -> FormatChecker:
    """The library's own formats that need no further package, and those of the domain."""
    checker = FormatChecker(())
    checker.checkers = dict(Draft202012Validator.FORMAT_CHECKER.checkers)

    def adding(name: str, is_right: Any) -> None:
        checker.checks(name, raises=InvalidRequestError)(
            lambda value: not isinstance(value, str) or is_right(value) is not False
        )

    adding("date-time", lambda text: parse_timestamp(text, "date-time"))
    adding("duration", lambda text: text.startswith("P") and parse_duration(text, "") is not None)
    adding("uri", lambda text: re.fullmatch(URI_PATTERN, text, re.ASCII) is not None)
    return checker


_FORMATS: Final = _formats()


# ----------------------------------------------------------------------------------- what is said
def _described(error: ValidationError) -> dict[str, JsonValue]:
    steps = "".join(
        f"[{step}]" if isinstance(step, int) else f".{step[:80]}" for step in error.absolute_path
    )
    schema_path = "/".join(["#", *(_escaped(str(step)) for step in error.absolute_schema_path)])
    return _entry(f"$.args{steps}", _pointer(error), _message(error), schema_path)


def _entry(path: str, pointer: str, message: str, schema_path: str) -> dict[str, JsonValue]:
    """One error as the JSON format has it (section 12.4), with a pointer into ``args`` besides."""
    return {
        "path": path,
        "pointer": f"/args{pointer}",
        "message": message,
        "schema_path": schema_path[:1000],
    }


def _pointer(error: ValidationError | SchemaError) -> str:
    return "".join(f"/{_escaped(str(step)[:80])}" for step in error.absolute_path)


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


def _message(error: ValidationError) -> str:
    """What was expected: from the schema, and never with a value of the arguments."""
    keyword: Any = error.validator
    wanted: Any = error.validator_value
    if keyword is None:
        return "nothing is allowed here"
    if keyword == "type":
        kinds = " or ".join(wanted) if isinstance(wanted, list) else wanted
        return f"expected {kinds}, got {json_type(error.instance)}"
    if keyword in {"required", "dependentRequired"}:
        return error.message[:_SHOWN]  # names of the schema only
    if keyword in {"additionalProperties", "unevaluatedProperties"}:
        return f"members that are not expected{_unknown(error)}"
    if keyword in {"items", "unevaluatedItems"}:
        return "more items than expected"
    too_long = keyword == "pattern" and len(str(error.instance)) > MAX_MATCHED_CHARACTERS
    limit = f" in at most {MAX_MATCHED_CHARACTERS} characters" if too_long else ""
    simple = isinstance(wanted, (str, int, float, bool)) or keyword in {"enum", "const"}
    return f"expected {keyword} {_short(wanted)}{limit}" if simple else f"does not fit '{keyword}'"


def _unknown(error: ValidationError) -> str:
    schema: Any = error.schema
    if "patternProperties" in schema or not isinstance(error.instance, dict):
        return ""
    names = sorted(set(error.instance) - set(schema.get("properties", ())))
    return ": " + ", ".join(repr(name[:80]) for name in names[:5]) if names else ""


def _short(value: JsonValue) -> str:
    text = canonical_json(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
