"""Apply the keywords of JSON Schema with bounded work: refuse what would stall the library.

Imports jsonschema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from ojs_aws.domain.attributes import is_uri
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.timestamps import parse_duration, read_date_time
from ojs_aws.domain.unique.canonical import canonical_json
from ojs_aws.middleware.builtin.validation.pattern_cost import max_length, steps

MAX_MATCHED_CHARACTERS: Final = 4096
"""Longer strings fail a ``pattern``: matching can take time that grows faster than the text."""
MAX_WORK: Final = 400_000
"""Of one check: keywords applied, and members of the lists and objects that they go through."""

STEP_S: Final = 1e-5
"""Processor time of one step, about."""

_STEPS_PER_WORK: Final = 1024
_CHARACTERS_PER_WORK: Final = 64


class TooMuchWorkError(Exception):
    """Raised when a check would take too long."""


class OutOfTimeError(Exception):
    """Raised when the processor time that checks may take is used up, or would be by one step."""


@dataclass(slots=True)
class Work:
    """Says what a check may still spend.

    :ivar steps: so many.
    :ivar left_s: returns the processor time that is left, in seconds; None: any.
    """

    steps: int = MAX_WORK
    left_s: Callable[[], float] | None = None

    def spend(self, steps: int) -> None:
        """Count steps before they are done.

        :raises TooMuchWorkError: there are not so many left.
        :raises OutOfTimeError: there is not so much time left.
        """
        self.steps -= steps
        if self.steps < 0:
            raise TooMuchWorkError
        if self.left_s is not None and self.left_s() < steps * STEP_S:
            raise OutOfTimeError


_NONE: Final = Work(0)
work_left: ContextVar[Work] = ContextVar("work", default=_NONE)
"""What the check of this thread or task may still spend."""


def _spend(steps: int) -> None:
    work_left.get().spend(steps)


def _unique_items(
    validator: Any, wanted: Any, instance: Any, _schema: Any
) -> Iterator[ValidationError]:
    """Find repeated items in linear time; the library compares objects pair by pair."""
    if wanted and validator.is_type(instance, "array"):
        distinct = set()
        for item in instance:
            text = canonical_json(item)
            _spend(1 + len(text) // _CHARACTERS_PER_WORK)
            distinct.add(text)
        if len(distinct) != len(instance):
            yield ValidationError("items repeat")


def _matching(
    validator: Any, pattern: Any, instance: Any, _schema: Any
) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "string"):
        return
    if len(instance) > MAX_MATCHED_CHARACTERS:
        yield ValidationError(f" in at most {MAX_MATCHED_CHARACTERS} characters")
    elif not re.search(pattern, instance):
        yield ValidationError("")


def _matching_guarded(
    validator: Any, pattern: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "string"):
        return
    limit = max_length(pattern)
    if len(instance) > limit:
        yield ValidationError(f" in at most {limit} characters")
        return
    _spend(steps(pattern, len(instance)) // _STEPS_PER_WORK)
    yield from _matching(validator, pattern, instance, schema)


def _matching_keys_guarded(
    validator: Any, patterns: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if validator.is_type(instance, "object"):
        for pattern in patterns:
            _spend(sum(1 + steps(pattern, len(key)) // _STEPS_PER_WORK for key in instance))
        yield from _STANDARD["patternProperties"](validator, patterns, instance, schema) or ()


Keyword = Callable[[Any, Any, Any, Any], Any]
_STANDARD: Final[Mapping[str, Keyword]] = Draft202012Validator.VALIDATORS


def _counted(keyword: str, check: Keyword) -> Keyword:
    cost = _COSTS.get(keyword, _cost_of_nothing)

    def counted(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        _spend(_size_of(wanted) + cost(wanted, instance))
        yield from check(validator, wanted, instance, schema) or ()

    return counted


def _cost_of_nothing(_wanted: Any, _instance: Any) -> int:
    return 0


def _cost_of_each(_wanted: Any, instance: Any) -> int:
    """Return the steps of going through a list or an object, whatever is done with its members."""
    return len(instance) // 2 if isinstance(instance, (list, tuple, dict)) else 0


def _cost_of_pairs(_wanted: Any, instance: Any) -> int:
    """Return the steps of keywords that look each member up in a list of the others."""
    is_container = isinstance(instance, (list, tuple, dict))
    return len(instance) // 2 + len(instance) ** 2 // 800 if is_container else 0


def _cost_of_format(wanted: Any, instance: Any) -> int:
    is_slow = wanted in _SLOW_FORMATS and isinstance(instance, str)
    return len(instance) // 5 if is_slow else 0


_SLOW_FORMATS: Final = frozenset({"regex", "relative-json-pointer"})
_COSTS: Final[Mapping[str, Callable[[Any, Any], int]]] = {
    **dict.fromkeys(
        ("items", "contains", "additionalProperties", "patternProperties", "propertyNames"),
        _cost_of_each,
    ),
    "unevaluatedItems": _cost_of_pairs,
    "unevaluatedProperties": _cost_of_pairs,
    "format": _cost_of_format,
}
"""What keywords cost beside the schema's own size, by measured times in steps of ``STEP_S``."""


def _size_of(wanted: Any) -> int:
    if isinstance(wanted, list):
        return 1 + len(wanted)
    if isinstance(wanted, dict):
        return 1 + len(wanted) + sum(len(v) for v in wanted.values() if isinstance(v, list))
    return 1


def _validator_kind(keywords: Mapping[str, Keyword]) -> Any:
    counted = {name: _counted(name, check) for name, check in {**_STANDARD, **keywords}.items()}
    return extend(  # type: ignore[no-untyped-call]
        Draft202012Validator,
        counted,
        type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
            "array",
            lambda _, value: isinstance(value, (list, tuple)),  # Python callers may pass tuples
        ),
    )


BOUNDED: Final[Any] = _validator_kind({"uniqueItems": _unique_items, "pattern": _matching})
GUARDED: Final[Any] = _validator_kind(
    {
        "uniqueItems": _unique_items,
        "pattern": _matching_guarded,
        "patternProperties": _matching_keys_guarded,
    }
)


def _formats() -> FormatChecker:
    """Return the formats of the library that need no further package, and those of the domain."""
    checker = FormatChecker(())
    checker.checkers = dict(Draft202012Validator.FORMAT_CHECKER.checkers)

    def adding(name: str, is_right: Any) -> None:
        checker.checks(name, raises=InvalidRequestError)(
            lambda value: not isinstance(value, str) or is_right(value) is not False
        )

    adding("date-time", lambda text: read_date_time(text, "date-time") is not None)
    adding("duration", lambda text: text.startswith("P") and parse_duration(text, "") is not None)
    adding("uri", is_uri)
    return checker


FORMATS: Final = _formats()
