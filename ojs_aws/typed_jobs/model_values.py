"""Translate values that JSON does not have, such as models and dates, and describe their types.

pydantic does it. It drops and changes some values without an error: the fields of a subclass,
NaN, secrets. So what is encoded is read back at once, and refused where it is not the same. The
types of a job's arguments and result are described as JSON Schemas, draft 2020-12.
"""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NotRequired

from pydantic import BaseModel, ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails, PydanticSerializationError, from_json
from pydantic_core.core_schema import ErrorType
from typing_extensions import TypedDict

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import Member, RawJson
from ojs_aws.middleware.results import RegistrationError
from ojs_aws.typed_jobs.signature import JobSignature
from ojs_aws.typed_jobs.values import WrongValueError

DIALECT: Final = GenerateJsonSchema.schema_dialect

_KINDS: Final = frozenset(typing.get_args(ErrorType))
"""Pydantic's own kinds of errors; the words of others are the application's."""

_TELLING: Final = frozenset({"error", "tag"})
"""Parts of messages that may show the value: the application's own words, for one."""

_SHOULD_BE: Final = "Input should be "
_SILENT: Final = "a value that JSON can carry without loss"


class ModelCodec:
    """Translates the values of one type by pydantic."""

    def __init__(self, kind: Any) -> None:
        """Translate the values of this type.

        :raises PydanticUserError: pydantic does not know such values.
        """
        self.adapter: TypeAdapter[Any] = TypeAdapter(kind)
        self._kind = kind if typing.get_origin(kind) is None else None
        self._dump = self.adapter.serializer.to_json
        self._load = self.adapter.validator.validate_json

    def text_of(self, value: object) -> RawJson | None:
        """Return the JSON text of a value; None if it might not come back as it is."""
        try:
            text = self._dump(value, by_alias=True, warnings=False)
            again = self._load(text, strict=True)
        except (PydanticSerializationError, ValidationError):
            return None
        return RawJson(text.decode()) if again == value else None

    def encode(self, value: object, field: str) -> JsonValue:
        """Return a value as JSON has it."""
        try:
            text = self._dump(value, by_alias=True, warnings=False)
            again = self._load(text, strict=True)
        except (PydanticSerializationError, ValidationError):
            raise self._wrong(value, field) from None
        if lost := _difference(value, again, field):
            raise lost
        native: JsonValue = from_json(text)
        return native

    def decode(self, member: Member, field: str) -> object:
        """Return the value of a JSON text, strictly: a number is no string, nor the other way."""
        try:
            value: object = self._load(member.raw, strict=True)
        except ValidationError as problem:
            raise self.wrong_value(problem, field) from None
        return value

    def wrong_value(self, problem: ValidationError, field: str) -> WrongValueError:
        """Return the first error of pydantic's without the value."""
        first = problem.errors(include_url=False, include_input=False)[0]
        return WrongValueError(_field(field, first, self._names()), _expected(first))

    def _wrong(self, value: object, field: str) -> WrongValueError:
        """Return what is wrong with a value that could not be encoded."""
        if isinstance(self._kind, type) and not _is_instance(value, self._kind):
            expected = f"{_article(self._kind)}, not {type(value).__name__}"
            return WrongValueError(field, expected)
        try:
            self.adapter.validate_python(value, strict=True)
            # An object of the right class may have fields that are wrong: it was changed later.
            self._load(self._dump(value, by_alias=True, warnings=False), strict=True)
        except ValidationError as found:
            return self.wrong_value(found, field)
        except PydanticSerializationError:
            pass
        return WrongValueError(field, _SILENT)

    def _names(self) -> frozenset[str]:
        """Return the names of all fields in the type; other names in a value are data."""
        try:
            return frozenset(_properties(self.adapter.json_schema()))
        except PydanticUserError:  # a type that has no schema
            return frozenset()


def tuple_of(kinds: Iterable[Any]) -> Any:
    """Return the type of a tuple whose items have these types."""
    made: Any = tuple  # type checkers know no computed types
    return made[tuple(kinds)]


def model_codec(kind: Any, place: str) -> ModelCodec:
    """Return the codec of a type.

    :raises RegistrationError: pydantic does not know such values.
    """
    try:
        return ModelCodec(kind)
    except (PydanticUserError, TypeError) as problem:
        shown = str(problem).partition("\n")[0]
        raise RegistrationError(f"{place} has a type that JSON cannot carry: {shown}") from None


def _expected(error: ErrorDetails) -> str:
    """Return what pydantic expected, without any part that may show the value."""
    kind = error["type"]
    if kind not in _KINDS or _TELLING & error.get("ctx", {}).keys():
        return f"valid ({kind})"
    if kind == "missing":
        return "there"
    said = error["msg"]
    expected = said.removeprefix(_SHOULD_BE)
    return expected if expected != said else f"valid: {said[:1].lower()}{said[1:]}"


def _field(field: str, error: ErrorDetails, names: frozenset[str]) -> str:
    """Return the place of an error: a name only where the type has a field of that name."""
    for part in error["loc"]:
        if isinstance(part, int):
            field += f"[{part}]"
        elif part in names:
            field += f".{part}"
        else:
            field += "[...]"
    return field


def _properties(schema: Any) -> set[str]:
    found: set[str] = set()
    if isinstance(schema, dict):
        found |= set(schema.get("properties", ()))
        for inner in schema.values():
            found |= _properties(inner)
    elif isinstance(schema, list):
        for inner in schema:
            found |= _properties(inner)
    return found


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _is_same(given: object, again: object) -> bool:
    """Return whether two values are equal, but for what Python finds equal to nothing.

    That is NaN, which nothing else is read back as, and a time at which the clocks of a zone are
    put forward or back (PEP 495).
    """
    if isinstance(given, datetime) and isinstance(again, datetime):
        return given.isoformat() == again.isoformat()
    return given == again or _is_nan(again)


def _difference(given: object, again: object, field: str) -> WrongValueError | None:
    """Return where a value differs from what was read back; None where it does not.

    Objects are compared field by field: they need no ``__eq__`` of their own.
    """
    if _is_same(given, again):
        return None
    if type(given) is not type(again):
        expected, came = _article(type(again)), type(given).__name__
        lost = f": what {came} adds would be lost" if isinstance(given, type(again)) else ""
        return WrongValueError(field, f"{expected}, not {came}{lost}")
    parts, others = _parts(given), _parts(again)
    if parts is None or others is None or parts.keys() != others.keys():
        return WrongValueError(field, _SILENT)
    inner = (_difference(parts[key], others[key], field + _step(given, key)) for key in parts)
    return next((each for each in inner if each is not None), None)


def _parts(value: object) -> Mapping[Any, object] | None:
    """Return what a value is made of, by names, places or keys; None if it has no parts."""
    if isinstance(value, BaseModel):
        fields = {name: getattr(value, name) for name in type(value).model_fields}
        return {**fields, **(value.model_extra or {})}
    if dataclasses.is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return dict(enumerate(value))
    return value if isinstance(value, dict) else None


def _article(kind: type) -> str:
    """Return the name of a type with its article."""
    return f"{'an' if kind.__name__[:1] in 'AEIOUaeiou' else 'a'} {kind.__name__}"


def _is_instance(value: object, kind: type) -> bool:
    """Return whether a value is of a class; True for a class that has no instances of its own."""
    try:
        return isinstance(value, kind)
    except TypeError:  # a TypedDict: its values are dictionaries
        return True


def _step(value: object, key: object) -> str:
    """Return how a message leads to a part; keys of an object are data."""
    if isinstance(value, dict):
        return "[...]"
    return f"[{key}]" if isinstance(value, (list, tuple)) else f".{key}"


def arguments_schema(job_type: str, signature: JobSignature) -> dict[str, JsonValue]:
    """Return the schema of the array of arguments, as ``client.schemas.register`` takes it.

    :raises RegistrationError: a type is not defined, or has no schema.
    """
    kinds = [_kind(signature, each.name) for each in signature.placed]
    if signature.named:
        kinds.append(_keywords(signature))
    made = _schema(tuple_of(kinds), signature)
    items = made.get("prefixItems")
    for each, item in zip(signature.placed, items if isinstance(items, list) else (), strict=False):
        if isinstance(item, dict):
            item["title"] = each.name
    if signature.rest:
        del made["maxItems"]
        made |= _rest(signature, made)
    made["minItems"] = _fewest(signature)
    return {"$schema": DIALECT, "title": job_type, **made}


def result_schema(job_type: str, signature: JobSignature) -> dict[str, JsonValue]:
    """Return the schema of what the function returns.

    :raises RegistrationError: the type is not defined, or has no schema.
    """
    made = _schema(_kind(signature, "return"), signature)
    return {"$schema": DIALECT, "title": f"{job_type} result", **made}


def _fewest(signature: JobSignature) -> int:
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
    made = make("Keywords", kinds)
    made.__pydantic_config__ = ConfigDict(extra="forbid")
    return made


def _rest(signature: JobSignature, made: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return what describes the items of ``*args``."""
    inner = _schema(_kind(signature, signature.rest), signature)
    found = made.get("$defs"), inner.pop("$defs", None)
    merged = {name: each for some in found if isinstance(some, dict) for name, each in some.items()}
    described: dict[str, JsonValue] = {"items": inner}
    return described | ({"$defs": merged} if merged else {})


def _schema(kind: Any, signature: JobSignature) -> dict[str, JsonValue]:
    try:
        made: dict[str, JsonValue] = TypeAdapter(kind).json_schema(by_alias=True)
    except (PydanticUserError, TypeError) as problem:
        shown = str(problem).partition("\n")[0]
        raise RegistrationError(f"The types of {signature.name} have no schema: {shown}") from None
    return made
