"""Encodes answers: values, and ready-made JSON text that stands among them.

What clients sent must come back exactly. So it goes into an answer as text, and is never rebuilt.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, Generic, TypeVar, cast, get_args

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import RawJson, encode

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class JsonOf(str, Generic[T_co]):
    """Holds the JSON text of a ``T_co``, which stands in an answer as it is."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Describe the text in the OpenAPI document as what it is the text of."""
        return handler(*get_args(source))


def json_of(value: T) -> JsonOf[T]:
    """Return the text of a value. Ready-made text within it stays as it is."""
    return value if isinstance(value, JsonOf) else JsonOf(_text(value))


def _text(value: object) -> str:
    """Encode a value: in one go, unless there is ready-made text in it."""
    if isinstance(value, JsonOf):
        return value
    if isinstance(value, dict) and _has_text(value.values()):
        return "{" + ",".join([f"{encode(key)}:{_text(each)}" for key, each in value.items()]) + "}"
    if isinstance(value, list) and _has_text(value):
        return "[" + ",".join(map(_text, value)) + "]"
    return encode(cast("JsonValue", value))


def _has_text(values: Collection[object]) -> bool:
    kinds = set(map(type, values))
    if JsonOf in kinds or kinds.isdisjoint(_CONTAINERS):
        return JsonOf in kinds
    return any(
        _has_text(each.values() if isinstance(each, dict) else each)
        for each in values
        if isinstance(each, dict | list)
    )


_CONTAINERS: Final = frozenset({dict, list})


def array_of(items: Iterable[JsonOf[T]]) -> JsonOf[list[T]]:
    """Return an array of texts."""
    return JsonOf("[" + ",".join(items) + "]")


def beside(value: T, more: Mapping[str, object]) -> T:
    """Return an object of an answer with members that its type does not declare."""
    return cast("T", {**cast("Mapping[str, object]", value), **more})


def beside_texts(value: T, texts: Mapping[str, RawJson]) -> T:
    """Return an object of an answer with members whose text is ready-made."""
    made: dict[str, JsonOf[object]] = {name: JsonOf(raw) for name, raw in texts.items()}
    return beside(value, made)
