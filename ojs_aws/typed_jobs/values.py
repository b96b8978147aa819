"""Checks values of the types that JSON has, and chooses how values of other types become JSON.

These need no library: a worker whose jobs have such types alone starts without pydantic.
"""

from __future__ import annotations

import collections.abc
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeGuard, Union

from ojs_aws.domain.errors import InvalidPayloadError, JsonValue
from ojs_aws.domain.json_members import check_native
from ojs_aws.domain.json_text import Member

Check: TypeAlias = Callable[[object, str], JsonValue]
"""Returns a value that fits, and raises WrongValueError for another one, naming its place."""

_ATOMS: Final = frozenset({str, int, float, bool, type(None)})
_MOST_EXACT: Final = 2**63
_LISTS: Final = (list, collections.abc.Sequence)
_OBJECTS: Final = (dict, collections.abc.Mapping)
UNIONS: Final = (Union, types.UnionType)


class WrongValueError(TypeError):
    """Reports a value that does not have its declared type; never shows the value.

    :ivar field: where it stands, such as ``order.lines[0].price``.
    :ivar expected: what would fit.
    """

    def __init__(self, field: str, expected: str, job_type: str = "") -> None:
        """Name the field, and the type of the job if known."""
        self.field = field
        self.expected = expected
        of = f" of {job_type!r}" if job_type else ""
        super().__init__(f"{field!r}{of} must be {expected}.")


def plain_check(kind: object) -> Check | None:
    """Return the check of a type that JSON has; None for any other type.

    :param kind: an annotation, with all names resolved.
    """
    kind = written_out(kind)
    try:
        simple = _SIMPLE.get(kind)
    except TypeError:  # an annotation with a part that has no hash
        return None
    return simple or _check_of_parts(kind)


def _check_of_parts(kind: object) -> Check | None:
    """Return the check of a type that is made of others."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return _literal(arguments)
    if origin in UNIONS:
        return _either(arguments)
    if origin in _LISTS and len(arguments) == 1:
        return _list_of(arguments[0])
    if origin in _OBJECTS and arguments[:1] == (str,):
        return _object_of(arguments[1])
    return None


def json_value(value: object, field: str) -> JsonValue:
    """Return a copy of any value that JSON can say.

    :raises WrongValueError: JSON cannot say it.
    """
    try:
        check_native(value, field)
    except InvalidPayloadError as problem:
        place = str(problem.details.get("field") or field)
        raise WrongValueError(place, "a JSON value") from None
    copy: JsonValue = unshared(value)
    return copy


def written_out(kind: object) -> object:
    """Return the type that a NewType stands for."""
    while (inner := getattr(kind, "__supertype__", None)) is not None:
        kind = inner
    return kind


def _is_scalar(value: object) -> TypeGuard[str | int | None]:
    return value is None or type(value) in {str, int, bool}


# ------------------------------------------------------------------------------------ scalars
def _text(value: object, field: str) -> JsonValue:
    if type(value) is str:
        return value
    if isinstance(value, str):  # such as a member of a StrEnum
        return str.__str__(value)
    raise WrongValueError(field, "a string")


def _integer(value: object, field: str) -> JsonValue:
    if isinstance(value, int) and not isinstance(value, bool):
        if -_MOST_EXACT < value < _MOST_EXACT:
            return int(value)
        return json_value(int(value), field)
    raise WrongValueError(field, "an integer")


def _number(value: object, field: str) -> JsonValue:
    if isinstance(value, float):
        if isfinite(value):
            return float(value)
        raise WrongValueError(field, "a finite number")
    if isinstance(value, int) and not isinstance(value, bool):
        return _integer(value, field)
    raise WrongValueError(field, "a number")


def _truth(value: object, field: str) -> JsonValue:
    if value is True or value is False:
        return value
    raise WrongValueError(field, "true or false")


def _nothing(value: object, field: str) -> JsonValue:
    if value is None:
        return None
    raise WrongValueError(field, "null")


def _literal(values: Sequence[object]) -> Check | None:
    if not all(map(_is_scalar, values)):  # bytes, or a member of an Enum
        return None
    known = {(type(value), value) for value in values}
    expected = "one of " + ", ".join(map(repr, values))

    def check(value: object, field: str) -> JsonValue:
        if _is_scalar(value) and (type(value), value) in known:
            return value
        raise WrongValueError(field, expected)

    return check


# --------------------------------------------------------------------------------- containers
def _either(kinds: Sequence[object]) -> Check | None:
    checks = [plain_check(kind) for kind in kinds]
    found = [check for check in checks if check is not None]
    if len(found) < len(checks):
        return None

    def check(value: object, field: str) -> JsonValue:
        problems: list[WrongValueError] = []
        for each in found:
            try:
                return each(value, field)
            except WrongValueError as problem:
                problems.append(problem)
        inside = next((problem for problem in problems if problem.field != field), None)
        if inside is not None:
            raise inside
        raise WrongValueError(field, " or ".join(problem.expected for problem in problems))

    return check


def _list_of(kind: object) -> Check | None:
    item = plain_check(kind)
    if item is None:
        return None

    def check(value: object, field: str) -> JsonValue:
        if not isinstance(value, (list, tuple)):
            raise WrongValueError(field, "a list")
        return [item(each, f"{field}[{place}]") for place, each in enumerate(value)]

    return check


def _object_of(kind: object) -> Check | None:
    item = plain_check(kind)
    if item is None:
        return None

    def check(value: object, field: str) -> JsonValue:
        if not isinstance(value, Mapping):
            raise WrongValueError(field, "an object")
        if not all(isinstance(key, str) for key in value):
            raise WrongValueError(field, "an object whose keys are strings")
        return {str(key): item(each, f"{field}[...]") for key, each in value.items()}

    return check


def _any_list(value: object, field: str) -> JsonValue:
    if isinstance(value, (list, tuple)):
        return json_value(value, field)
    raise WrongValueError(field, "a list")


def _any_object(value: object, field: str) -> JsonValue:
    if isinstance(value, Mapping):
        return json_value(dict(value), field)
    raise WrongValueError(field, "an object")


def unshared(value: object) -> Any:
    """Return a copy of a JSON value whose lists and objects nobody else has."""
    if isinstance(value, (list, tuple)):
        return [each if type(each) in _ATOMS else unshared(each) for each in value]
    if isinstance(value, dict):
        return {key: unshared(each) for key, each in value.items()}
    return value


_SIMPLE: Final[Mapping[object, Check]] = {
    str: _text,
    int: _integer,
    float: _number,
    bool: _truth,
    None: _nothing,
    type(None): _nothing,
    Any: json_value,
    object: json_value,
    list: _any_list,
    dict: _any_object,
}
"""Checks of the types that have no arguments."""


class Codec(Protocol):
    """Translates the values of one type. Both methods raise WrongValueError, naming the field."""

    def encode(self, value: object, field: str) -> JsonValue:
        """Return a value as JSON has it."""

    def decode(self, member: Member, field: str) -> object:
        """Return the value that some JSON stands for."""


@dataclass(frozen=True, slots=True)
class PlainCodec:
    """Carries values that JSON has as they are."""

    check: Check

    def encode(self, value: object, field: str) -> JsonValue:
        """Return the value, checked."""
        return self.check(value, field)

    def decode(self, member: Member, field: str) -> object:
        """Return the value, checked."""
        return self.check(member.value, field)
