"""Compile JSON Schemas of job arguments once, and apply them with bounded work.

Imports jsonschema: import this module only where a schema is compiled.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from referencing import Registry, Resource
from referencing.exceptions import NoSuchResource, Unresolvable
from referencing.jsonschema import DRAFT202012, EMPTY_REGISTRY

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import json_type
from ojs_aws.domain.unique.canonical import canonical_json
from ojs_aws.middleware.builtin.validation import Schema
from ojs_aws.middleware.builtin.validation.keywords import (
    BOUNDED,
    FORMATS,
    GUARDED,
    MAX_MATCHED_CHARACTERS,
    TooMuchWorkError,
    Work,
    work_left,
)
from ojs_aws.middleware.builtin.validation.pattern_cost import max_length
from ojs_aws.middleware.results import InvalidSchemaError

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
MAX_PATTERN_CHARACTERS: Final = 1024
_SHOWN: Final = 200
_EXAMPLES: Final = {
    "duration": "PT30S",
    "date-time": "2026-02-12T10:30:00Z",
    "date": "2026-02-12",
    "time": "10:30:00Z",
}
"""Of formats that are often taken for another one; a schema's duration has only this form."""

_RUNAWAY: Final = re.compile(r"\((?:\?:)?(?:\[[^\]]*\]|\\.|[^\\()\[\]])[+*]\)(?:[+*]|\{\d*,\})")
"""A repeated group around one repetition, as in ``(a+)+``: its matching takes exponential time."""


@dataclass(frozen=True, slots=True)
class ArgsSchema:
    """Checks arguments against a compiled schema. Any number of threads may use it.

    :ivar name: the job type, with the version if it has one.
    :ivar max_key: how long a key may be that patterns are matched with.
    """

    name: str
    validator: Validator
    max_key: int | None

    def errors(
        self, args: JsonValue, limit: int, work: Work | None = None
    ) -> tuple[list[dict[str, JsonValue]], bool]:
        """Return at most ``limit`` errors of the arguments, and True if there are more.

        No error holds a value of the arguments, which may be secret; only names of members.

        :param work: what the check may spend; None: ``MAX_WORK`` steps, and any time.
        :raises OutOfTimeError: the time of ``work`` is used up.
        """
        if self.max_key is not None and (long := _longest_key(args)) > self.max_key:
            return _unchecked(f"a key of {long} characters; at most {self.max_key} are accepted")
        token = work_left.set(work or Work())
        try:
            found = list(itertools.islice(self.validator.iter_errors(args), limit + 1))
        except (RecursionError, OverflowError):
            return _unchecked("nested too deeply, or a number too large, to be checked")
        except Unresolvable:
            return _unchecked("not to be checked: the schema refers to what cannot be found")
        except TooMuchWorkError:
            return _unchecked("too large, or the schema too involved, to be checked")
        finally:
            work_left.reset(token)
        return [_described(error) for error in found[:limit]], len(found) > limit


def _unchecked(text: str) -> tuple[list[dict[str, JsonValue]], bool]:
    """Return the one error of arguments that could not be checked."""
    return [_entry("$.args", "", text, "#")], False


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

    def __init__(
        self,
        resources: Mapping[str, Schema],
        *,
        check_formats: bool,
        is_guarded: bool = False,
    ) -> None:
        """Take further schemas by their URI.

        :param is_guarded: the schemas come from strangers: patterns are matched only with texts
            that they cannot take long for (see ``patterns``).
        :raises InvalidSchemaError: one of them is no schema, or refers to what is not here.
        """
        self._formats = FORMATS if check_formats else None
        self._is_guarded = is_guarded
        named = [(uri, DRAFT202012.create_resource(schema)) for uri, schema in resources.items()]
        self._known: Registry[Any] = EMPTY_REGISTRY.with_resources(named).crawl()
        self._keywords: set[str] = set()
        self._max_key = MAX_MATCHED_CHARACTERS
        for uri, resource in named:
            self._check(uri, resource.contents)
            self._keywords |= self._walk(uri, resource, self._known.resolver(base_uri=uri))

    def compile(self, name: str, schema: Schema, *, is_known: bool = False) -> ArgsSchema:
        """Compile the schema of a job type.

        :param is_known: it was compiled before, so that it is a schema: most of the time goes into
            the check of that.
        :raises InvalidSchemaError: naming the type and what is wrong with its schema.
        """
        if not is_known:
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
        keywords = self._keywords | self._walk(name, resource, resolver)
        kind = GUARDED if self._is_guarded else BOUNDED
        validator = kind(schema, registry=registry, format_checker=self._formats)
        return ArgsSchema(
            name, validator, self._max_key if "patternProperties" in keywords else None
        )

    def _check(self, name: str, schema: Schema) -> None:
        """Refuse what is no schema, or is written for another draft."""
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

    def _walk(self, name: str, resource: Resource[Any], resolver: Any) -> set[str]:
        """Check every reference and pattern, and return the keywords that are used."""
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
            _check_patterns(name, part.contents, is_guarded=self._is_guarded)
            if self._is_guarded:
                keys = map(max_length, part.contents.get("patternProperties", ()))
                self._max_key = min(self._max_key, *keys, MAX_MATCHED_CHARACTERS)
        return keywords


def _look_up(name: str, reference: str, resolver: Any) -> None:
    try:
        resolver.lookup(reference)
    except (Unresolvable, NoSuchResource) as problem:
        raise InvalidSchemaError(
            f"The schema of {name} refers to {reference!r}, which is not here. Nothing is "
            "downloaded: put it into '$defs', or pass it in 'resources'."
        ) from problem


def _check_patterns(name: str, schema: Mapping[str, Any], *, is_guarded: bool) -> None:
    patterns = [schema["pattern"]] if "pattern" in schema else []
    for pattern in (*patterns, *schema.get("patternProperties", {})):
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as problem:
            raise InvalidSchemaError(
                f"The schema of {name} has the pattern {pattern[:_SHOWN]!r}, which Python does not "
                f"understand: {problem}."
            ) from problem
        is_runaway = not max_length(pattern) if is_guarded else _RUNAWAY.search(pattern)
        if len(pattern) > MAX_PATTERN_CHARACTERS or is_runaway:
            raise InvalidSchemaError(
                f"The schema of {name} has the pattern {pattern[:_SHOWN]!r}, which could take very "
                "long to match: do not repeat a repetition, and stay under "
                f"{MAX_PATTERN_CHARACTERS} characters."
            )


# ---------------------------------------------------------------------------------- the errors
def _described(error: ValidationError) -> dict[str, JsonValue]:
    steps = "".join(
        f"[{step}]" if isinstance(step, int) else f".{step[:80]}" for step in error.absolute_path
    )
    schema_path = "/".join(["#", *(_escaped(str(step)) for step in error.absolute_schema_path)])
    return _entry(f"$.args{steps}", _pointer(error), _message(error), schema_path)


def _entry(path: str, pointer: str, message: str, schema_path: str) -> dict[str, JsonValue]:
    """Return one error as the JSON format has it (section 12.4), with a pointer into ``args``."""
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
    """Return what the schema expects, and never a value of the arguments."""
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
    limit = error.message if keyword == "pattern" else ""
    if keyword == "format" and wanted in _EXAMPLES:
        limit = f", such as {_EXAMPLES[wanted]}"
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
