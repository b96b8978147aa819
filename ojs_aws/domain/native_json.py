"""Checks that Python values are exactly what JSON can say, before a client sends them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Final

from ojs_aws.domain.errors import InvalidPayloadError
from ojs_aws.domain.json_text import MAX_INTEGER_DIGITS

MAX_NATIVE_DEPTH: Final = 500
"""Nesting that no setting of the server accepts more of, nor the interpreter's stack."""

_INTEGER_LIMIT: Final = 10**MAX_INTEGER_DIGITS


def check_native(value: object, path: str, *, max_depth: int = MAX_NATIVE_DEPTH) -> None:
    """Refuse what JSON cannot say exactly: other types, keys that are no strings, NaN.

    Integers of more than 4300 digits, and values nested too deeply or within themselves, are
    refused too: no server takes them.

    :param path: where the value stands, for the message (``args[0].when``).
    :raises InvalidPayloadError: naming the place and the type.
    """
    if isinstance(value, (list, tuple, dict)):
        if max_depth <= 0:
            raise InvalidPayloadError(f"{path[:80]} ... is nested too deeply, or contains itself.")
        for step, item in _items(value, path):
            check_native(item, path + step, max_depth=max_depth - 1)
    else:
        _check_scalar(value, path)


def _items(value: Iterable[object], path: str) -> Iterator[tuple[str, object]]:
    """Yield the items of an array or object, with the step that leads to each."""
    if not isinstance(value, dict):
        yield from ((f"[{position}]", item) for position, item in enumerate(value))
        return
    for key, item in value.items():
        if not isinstance(key, str):
            raise InvalidPayloadError(
                f"{path} has the key {key!r}: keys of JSON objects are strings.",
            )
        yield f".{key}", item


def _check_scalar(value: object, path: str) -> None:
    if value is None or isinstance(value, (str, bool)):
        return
    if isinstance(value, int):
        if not -_INTEGER_LIMIT < value < _INTEGER_LIMIT:
            raise InvalidPayloadError(
                f"{path} is an integer of more than {MAX_INTEGER_DIGITS} digits.",
                hint="Send very long numbers as strings.",
            )
        return
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidPayloadError(f"{path} is {value}, which is not JSON.")
        return
    raise InvalidPayloadError(
        f"{path} is {_kind_of(value)}, which JSON does not have.",
        details={"field": path, "received": type(value).__name__},
        hint="Use strings, numbers, booleans, None, lists and dicts; dates as RFC 3339 strings.",
    )


def _kind_of(value: object) -> str:
    """Return the type of a value with its article."""
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"
