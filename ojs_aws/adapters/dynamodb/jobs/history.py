"""Stores a job's failed attempts as one bounded attribute of its item."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

from ojs_aws.adapters.dynamodb.columns import Value, packed, stored_bytes, unpacked
from ojs_aws.domain.job import Failure
from ojs_aws.domain.json_text import RawJson

MAX_HISTORY_BYTES: Final = 32_768
"""Each history of failures, compressed: every transition pays for it."""

SHORT_MESSAGE: Final = 500
"""Characters that are left of the message of a failure that was shortened."""

_LETTERS: Final = {
    "t": "type",
    "m": "message",
    "a": "attempt",
    "o": "occurred_at",
    "c": "code",
    "r": "retryable",
    "b": "backtrace",
    "e": "error_class",
}
"""Members of a failure; items of earlier versions have fewer."""


def history_value(failures: tuple[Failure, ...]) -> Value:
    """Return the failures as text; if they are too large, the oldest lose details first."""
    value = packed(_text(failures))
    for count in range(1, len(failures) + 1):
        if stored_bytes(value) <= MAX_HISTORY_BYTES:
            break
        short = tuple(_shortened(failure) for failure in failures[:count])
        value = packed(_text(short + failures[count:]))
    return value


def _shortened(failure: Failure) -> Failure:
    return replace(failure, message=failure.message[:SHORT_MESSAGE], backtrace=(), extra={})


def _text(failures: tuple[Failure, ...]) -> str:
    rows = [
        {letter: getattr(failure, name) for letter, name in _LETTERS.items()}
        | {"x": dict(failure.extra)}
        for failure in failures
    ]
    return json.dumps(rows, separators=(",", ":"))


def read_history(value: Value) -> tuple[Failure, ...]:
    """Read what :func:`history_value` wrote."""
    return tuple(
        Failure(
            **{name: entry[letter] for letter, name in _LETTERS.items() if letter in entry}
            | {
                "backtrace": tuple(entry.get("b", ())),
                "extra": {key: RawJson(raw) for key, raw in entry.get("x", {}).items()},
            }
        )
        for entry in json.loads(unpacked(value))
    )
