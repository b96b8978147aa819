"""Compares jobs with what a test expects, and says in what they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final, TypeAlias
from unittest.mock import ANY

from ojs_aws.domain.attributes import check_queue
from ojs_aws.domain.timestamps import (
    duration_ms,
    format_duration,
    format_instant,
    instant_of,
    parse_timestamp,
)
from ojs_aws.testing.jobs import (
    EnqueuedJob,
    JobKind,
    arguments_of,
    declaration_of,
    expected_arguments,
    type_of,
)
from ojs_aws.typed_jobs.calls import JobCall

MISSING: Final = "nothing"
MAX_SHOWN: Final = 300
"""Characters of a value in the first line of a message."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Says in what a job differs from what was expected.

    :ivar place: the attribute, or the argument.
    """

    place: str
    expected: object
    actual: object


Check: TypeAlias = "Callable[[EnqueuedJob[Any]], Difference | None]"


@dataclass(frozen=True, kw_only=True)
class Criteria:
    """Says which jobs a test means.

    :ivar kind: the type, the typed job or the call.
    :ivar args: the arguments on the wire; None for any.
    :ivar meta: a part of the metadata.
    :ivar attributes: of the job, by name.
    :ivar check: returns in what else a job differs; None where it does not.
    """

    kind: JobKind[Any]
    args: Sequence[object] | None = None
    meta: Mapping[str, object] | None = None
    attributes: Mapping[str, object]
    check: Check | None = None

    def __post_init__(self) -> None:
        """Check what can be checked before there is a job.

        :raises TypeError: no job type, typed job or call; or ``args`` beside a call, or no list.
        """
        type_of(self.kind)
        if self.args is not None:
            if isinstance(self.kind, JobCall):
                raise TypeError("A call has its arguments: give the call, or args, and not both.")
            if isinstance(self.args, (str, Mapping)) or not isinstance(self.args, Sequence):
                given = type(self.args).__name__
                raise TypeError(f'args are a list, such as args=["a@b.c"], not a {given}.')
        if isinstance(queue := self.attributes.get("queue"), str):
            check_queue(queue)
        read = {
            name: _EXPECTED[name](value)
            for name, value in self.attributes.items()
            if name in _EXPECTED and value is not ANY
        }
        object.__setattr__(self, "attributes", {**self.attributes, **read})

    @property
    def type(self) -> str:
        """Return the job type."""
        return type_of(self.kind)

    @cached_property
    def _arguments(self) -> dict[str, Any] | None:
        return expected_arguments(self.kind) if isinstance(self.kind, JobCall) else None

    def differences(self, job: EnqueuedJob[Any]) -> list[Difference]:
        """Return in what a job differs; empty if it is meant."""
        found = []
        if job.type != self.type:
            found.append(Difference("type", self.type, job.type))
        else:
            found += self._argument_differences(job)
        for name, expected in self.attributes.items():
            actual = _ACTUAL[name](job) if name in _ACTUAL else job.get(name, _DEFAULTS.get(name))
            if not is_same(expected, actual):
                found.append(Difference(name, expected, actual))
        meta = job.meta
        for name, expected in (self.meta or {}).items():
            found += nested(f"meta[{name!r}]", expected, meta.get(name, Nothing()))
        if self.check is not None and (difference := self.check(job)) is not None:
            found.append(difference)
        return found

    def _argument_differences(self, job: EnqueuedJob[Any]) -> list[Difference]:
        declaration = declaration_of(self.kind)
        if self._arguments is not None and declaration is not None:
            try:
                actual = arguments_of(declaration, job)
            except TypeError as problem:
                return [Difference("args", _shown_call(self._arguments), f"{job.args} ({problem})")]
            return [
                difference
                for name, expected in self._arguments.items()
                for difference in nested(name, expected, actual.get(name, Nothing()))
            ]
        if self.args is None:
            return []
        return list(nested("args", list(self.args), job.args))

    def __str__(self) -> str:
        """Describe the jobs that are meant."""
        parts = [repr(self.type)]
        if self._arguments is not None:
            parts[0] += f"({_shown_call(self._arguments)})"
        if self.args is not None:
            parts.append(f"args={shortened(list(self.args))}")
        parts += [f"{name}={value!r}" for name, value in self.attributes.items()]
        if self.meta:
            parts.append(f"meta={shortened(dict(self.meta))}")
        return parts[0] + (f" with {', '.join(parts[1:])}" if parts[1:] else "")


class Nothing:
    """Stands for a value that is not there."""

    def __repr__(self) -> str:
        """Say so."""
        return MISSING


def is_same(expected: object, actual: object) -> bool:
    """Return whether a value is as expected; True and 1 are two values, as JSON has them."""
    if isinstance(expected, bool) or (isinstance(actual, bool) and isinstance(expected, int)):
        return expected is actual
    if isinstance(expected, (list, tuple)) and isinstance(actual, type(expected)):
        return len(expected) == len(actual) and all(map(is_same, expected, actual))
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(
            is_same(value, actual[name]) for name, value in expected.items()
        )
    return bool(expected == actual)  # ANY is on the left


def _scheduled_at(job: EnqueuedJob[Any]) -> str | None:
    """Return when a job becomes available, in UTC; None where it waits for nothing."""
    text = job.scheduled_at
    return None if text is None else format_instant(parse_timestamp(text, "scheduled_at"))


def _delay(job: EnqueuedJob[Any]) -> str:
    """Return how long a job waits from its creation on."""
    begun = parse_timestamp(job.get("created_at"), "created_at")
    until = job.scheduled_at
    moment = begun if until is None else parse_timestamp(until, "scheduled_at")
    return format_duration(max(0, moment - begun))


_ACTUAL: Final[Mapping[str, Callable[[EnqueuedJob[Any]], object]]] = {
    "queue": lambda job: job.queue,
    "scheduled_at": _scheduled_at,
    "delay": _delay,
}
"""How criteria are read that are not an attribute of the same name and form."""

_EXPECTED: Final[Mapping[str, Callable[[Any], object]]] = {
    "scheduled_at": lambda moment: format_instant(
        instant_of(moment)
        if isinstance(moment, datetime)
        else parse_timestamp(moment, "scheduled_at")
    ),
    "delay": lambda delay: format_duration(duration_ms(delay, "delay")),
    "tags": list,
}
"""How their expected values are written in the same form."""

_DEFAULTS: Final[Mapping[str, int]] = {"priority": 0, "attempt": 0}


def nested(place: str, expected: object, actual: object) -> Iterator[Difference]:
    """Yield in what a value differs, as deep within lists and objects as it can be said."""
    if is_same(expected, actual):
        return
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name in dict.fromkeys([*expected, *actual]):
            one, other = expected.get(name, Nothing()), actual.get(name, Nothing())
            yield from nested(f"{place}[{name!r}]", one, other)
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (one, other) in enumerate(zip(expected, actual, strict=True)):
            yield from nested(f"{place}[{index}]", one, other)
    else:
        yield Difference(place, expected, actual)


def _shown_call(arguments: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={shortened(value)}" for name, value in arguments.items())


def shortened(value: object) -> str:
    """Return a value for a message, without its middle if it is long."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN // 2]} ... {text[-40:]}"
