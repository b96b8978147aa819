"""Describe the arguments and the result of a typed job as JSON Schemas, draft 2020-12."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NotRequired

from pydantic import ConfigDict, PydanticUserError, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import TypedDict

from ojs_aws.domain.errors import JsonValue
from ojs_aws.middleware.results import RegistrationError

if TYPE_CHECKING:
    from ojs_aws.typed_jobs.declarations import JobDeclaration
    from ojs_aws.typed_jobs.signature import JobSignature

DIALECT: Final = GenerateJsonSchema.schema_dialect


def arguments_schema(declaration: JobDeclaration) -> dict[str, JsonValue]:
    """Return the schema of the array of arguments, as ``client.schemas.register`` takes it.

    :raises RegistrationError: a type is not defined, or has no schema.
    """
    signature = declaration.signature
    kinds = [_kind(signature, each.name) for each in signature.placed]
    if signature.named:
        kinds.append(_keywords(signature))
    made = _schema(tuple.__class_getitem__(tuple(kinds)), signature)
    titles = [each.name for each in signature.placed]
    items = made.get("prefixItems")
    for name, item in zip(titles, items if isinstance(items, list) else (), strict=False):
        if isinstance(item, dict):
            item["title"] = name
    if signature.rest:
        del made["maxItems"]
        made |= _rest(signature, made)
    made["minItems"] = _least(signature)
    return {"$schema": DIALECT, "title": declaration.type, **made}


def result_schema(declaration: JobDeclaration) -> dict[str, JsonValue]:
    """Return the schema of what the function returns.

    :raises RegistrationError: the type is not defined, or has no schema.
    """
    signature = declaration.signature
    made = _schema(_kind(signature, "return"), signature)
    return {"$schema": DIALECT, "title": f"{declaration.type} result", **made}


def _least(signature: JobSignature) -> int:
    """Return how many arguments a job has at least."""
    if any(each.is_required for each in signature.named):
        return len(signature.placed) + 1
    return sum(each.is_required for each in signature.placed)


def _kind(signature: JobSignature, name: str) -> Any:
    return signature.annotations.get(name, Any)


def _keywords(signature: JobSignature) -> Any:
    """Return a type of the object of keyword-only arguments, which has no other members."""
    kinds: dict[str, Any] = {
        each.name: _kind(signature, each.name)
        if each.is_required
        else NotRequired[_kind(signature, each.name)]
        for each in signature.named
    }
    make: Any = TypedDict  # type checkers know it as a class only
    return _without_others(make("Keywords", kinds))


def _without_others(kind: Any) -> Any:
    kind.__pydantic_config__ = ConfigDict(extra="forbid")
    return kind


def _rest(signature: JobSignature, made: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return what describes the items of ``*args``."""
    inner = _schema(_kind(signature, signature.rest), signature)
    inner_definitions = inner.pop("$defs", {})
    known = made.get("$defs", {})
    merged = {
        **(known if isinstance(known, dict) else {}),
        **(inner_definitions if isinstance(inner_definitions, dict) else {}),
    }
    described: dict[str, JsonValue] = {"items": inner}
    return described | ({"$defs": merged} if merged else {})


def _schema(kind: Any, signature: JobSignature) -> dict[str, JsonValue]:
    try:
        made: dict[str, JsonValue] = TypeAdapter(kind).json_schema(by_alias=True)
    except (PydanticUserError, TypeError) as problem:
        shown = str(problem).partition("\n")[0]
        raise RegistrationError(f"The types of {signature.name} have no schema: {shown}") from None
    return made
