"""Decide what of a job's arguments may be shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, TypeAlias

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import decode, encode

MASKED: Final = "***"

Redaction: TypeAlias = Callable[[list[JsonValue]], Sequence[JsonValue]]
"""From a copy of the arguments to what may be shown of them."""


def masking(names: Collection[str]) -> Redaction:
    """Return a redaction that masks the values of these keys, at any depth, ignoring case.

    :raises ValueError: a text where a collection of names belongs.
    """
    if isinstance(names, str):
        raise ValueError(f"a collection of names, such as {{{names!r}}}, not the text {names!r}")
    wanted = frozenset(name.casefold() for name in names)
    return lambda args: [_masked(item, wanted) for item in args]


def show_all(args: list[JsonValue]) -> Sequence[JsonValue]:
    """Return the arguments as they are: the redaction that hides nothing."""
    return args


def redacted(args: Sequence[JsonValue], redaction: Redaction) -> Sequence[JsonValue]:
    """Apply a redaction to a deep copy; where it fails, nothing is shown."""
    try:
        return redaction([decode(encode(item)) for item in args])
    except Exception as problem:  # noqa: BLE001 - showing less is no reason to fail a job
        return [f"not shown: the redaction raised {type(problem).__name__}"]


def _masked(value: JsonValue, names: frozenset[str]) -> JsonValue:
    if isinstance(value, list):
        return [_masked(item, names) for item in value]
    if isinstance(value, dict):
        return {
            key: MASKED if key.casefold() in names else _masked(item, names)
            for key, item in value.items()
        }
    return value
