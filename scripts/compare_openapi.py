"""Compare the specification's OpenAPI document with ours, field by field.

``python scripts/compare_openapi.py openapi.yaml`` prints every difference in the requests and the
successful answers of their operations: what they have and we lack, another type, values that we do
not name, and fields of requests that only we require. What we have beside theirs is no difference.
``docs/openapi-differences.json`` explains those that stay; differences that it does not explain,
and explanations of none, end the command with 1.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml  # type: ignore[import-untyped]

Schema: TypeAlias = Mapping[str, Any]

EXPLAINED: Final = Path(__file__).resolve().parents[1] / "docs" / "openapi-differences.json"
MAX_DEPTH: Final = 6
_METHODS: Final = frozenset({"get", "post", "put", "patch", "delete"})
_PARAMETER: Final = re.compile(r"\{[^}]*\}")
_WHOLE_NUMBERS: Final = frozenset({"integer", "number"})


def differences(theirs: Schema, ours: Schema) -> list[str]:
    """Return every difference, as ``METHOD PATH request|STATUS: field: what differs``."""
    known = {_place(method, path): each for method, path, each in operations(ours)}
    found: list[str] = []
    for method, path, operation in operations(theirs):
        place = _place(method, path)
        if place not in known:
            found.append(f"{place}: there is no such operation")
            continue
        mine = known[place]
        asked = (_body(theirs, operation), _body(ours, mine))
        found += [f"{place} request: {each}" for each in _compared(theirs, ours, *asked)]
        answered = (_answer(theirs, operation), _answer(ours, mine))
        for each in _compared(theirs, ours, *answered, is_answer=True):
            found.append(f"{place} answer: {each}")
    return list(dict.fromkeys(found))


def operations(document: Schema) -> Iterator[tuple[str, str, Schema]]:
    """Yield each operation of a document with its method and path."""
    for path, entry in document["paths"].items():
        for method, operation in entry.items():
            if method in _METHODS:
                yield method.upper(), path, operation


def _place(method: str, path: str) -> str:
    """Name an operation, whatever its parameters are called."""
    return f"{method} {_PARAMETER.sub('{}', path)}"


def _body(document: Schema, operation: Schema) -> Schema | None:
    return _content(document, _resolved(document, operation.get("requestBody") or {}))


def _answer(document: Schema, operation: Schema) -> Schema | None:
    for status, answer in sorted(operation.get("responses", {}).items(), key=str):
        if str(status).startswith("2"):
            return _content(document, _resolved(document, answer))
    return None


def _content(document: Schema, holder: Schema) -> Schema | None:
    for media in (holder.get("content") or {}).values():
        if "schema" in media:
            return _resolved(document, media["schema"])
    return None


def _resolved(document: Schema, schema: Schema) -> Schema:
    """Follow references, and join what ``allOf`` puts together."""
    while "$ref" in schema:
        target: Any = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        schema = target
    for several in ("oneOf", "anyOf"):
        if several in schema:
            kinds = [_resolved(document, each) for each in schema[several]]
            kinds = [each for each in kinds if each.get("type") != "null"]
            rest = {name: value for name, value in schema.items() if name != several}
            return {**rest, **_joined(kinds, is_any=True)}
    if "allOf" in schema:
        parts = [_resolved(document, each) for each in schema["allOf"]]
        return _joined([*parts, {k: v for k, v in schema.items() if k != "allOf"}], is_any=False)
    return schema


def _joined(parts: Sequence[Schema], *, is_any: bool) -> Schema:
    properties: dict[str, Any] = {}
    types: list[str] = []
    required: list[set[str]] = []
    joined: dict[str, Any] = {}
    for part in parts:
        properties |= part.get("properties", {})
        types += _types(part)
        required.append(set(part.get("required", ())))
        joined |= {k: part[k] for k in ("items", "enum") if k in part}
    if is_any and any("enum" not in part for part in parts):
        joined.pop("enum", None)
    needed = set.intersection(*required) if is_any and required else set().union(*required)
    if types:
        joined["type"] = sorted(set(types))
    return {**joined, "properties": properties, "required": sorted(needed)}


def _types(schema: Schema) -> list[str]:
    given = schema.get("type", [])
    types = [given] if isinstance(given, str) else [*given]
    return [*types, "null"] if schema.get("nullable") else types


def _compared(
    theirs: Schema,
    ours: Schema,
    wanted: Schema | None,
    have: Schema | None,
    *,
    is_answer: bool = False,
) -> list[str]:
    if wanted is None:
        return []
    if have is None:
        return ["(whole): we describe none"]
    return [*_fields(theirs, ours, wanted, have, "", is_answer=is_answer)]


def _fields(
    theirs: Schema, ours: Schema, wanted: Schema, have: Schema, path: str, *, is_answer: bool
) -> Iterator[str]:
    """Yield what differs below a field."""
    if path.count(".") >= MAX_DEPTH:
        return
    yield from _kinds(wanted, have, path)
    if "items" in wanted and "items" in have:
        item = (_resolved(theirs, wanted["items"]), _resolved(ours, have["items"]))
        yield from _fields(theirs, ours, *item, f"{path}[]", is_answer=is_answer)
    known = have.get("properties") or {}
    if not known and path:
        return  # any object
    for name, schema in (wanted.get("properties") or {}).items():
        inner = f"{path}.{name}" if path else name
        if name not in known:
            yield f"{inner}: missing"
            continue
        field = (_resolved(theirs, schema), _resolved(ours, known[name]))
        yield from _fields(theirs, ours, *field, inner, is_answer=is_answer)
    needed, given = set(wanted.get("required", ())), set(have.get("required", ()))
    if is_answer:
        missing = {name for name in needed - given if name in known}
        yield from (f"{_below(path, name)}: may be absent" for name in sorted(missing))
    else:
        yield from (f"{_below(path, name)}: required by us only" for name in sorted(given - needed))


def _kinds(wanted: Schema, have: Schema, path: str) -> Iterator[str]:
    """Yield a differing type, and values that we do not name."""
    mine, others = {*_types(have)}, {*_types(wanted)}
    if "number" in mine:
        mine |= _WHOLE_NUMBERS
    if mine and others and not others <= mine | {"null"}:
        yield f"{path or '(whole)'}: {'/'.join(sorted(others))}, ours {'/'.join(sorted(mine))}"
    if "enum" in wanted and "enum" in have:
        unknown = [str(each) for each in wanted["enum"] if each not in have["enum"]]
        if unknown:
            yield f"{path}: values that ours has not: {', '.join(unknown)}"


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def explained(found: Sequence[str], reasons: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the differences without an explanation, and the explanations of none.

    :param reasons: by a difference; by what several begin with and ``*``; or by ``*`` and their
        end.
    """

    def explains(name: str, difference: str) -> bool:
        if name.startswith("*"):
            return difference.endswith(name[1:])
        return difference.startswith(name[:-1]) if name.endswith("*") else difference == name

    bare = [each for each in found if not any(explains(name, each) for name in reasons)]
    idle = [name for name in reasons if not any(explains(name, each) for each in found)]
    return bare, idle


def compare(path: Path) -> tuple[list[str], Mapping[str, str]]:
    """Compare a file with our document: the differences, and the reasons that are checked in."""
    from ojs_aws.transport.http.openapi import openapi_document  # noqa: PLC0415 - slow to import

    theirs = yaml.safe_load(path.read_text(encoding="utf-8"))
    reasons: Mapping[str, str] = json.loads(EXPLAINED.read_text(encoding="utf-8"))
    return differences(theirs, openapi_document()), reasons


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the differences; return 1 if one is not explained, or an explanation explains none."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="the specification's openapi.yaml")
    found, reasons = compare(parser.parse_args(arguments).path)
    bare, idle = explained(found, reasons)
    for each in found:
        print(f"{'NOT EXPLAINED ' if each in bare else 'explained     '}{each}")
    for name in idle:
        print(f"EXPLAINS NONE {name}")
    print(f"{len(found)} differences, {len(bare)} not explained, {len(idle)} explanations of none")
    return 1 if bare or idle else 0


if __name__ == "__main__":
    sys.exit(main())
