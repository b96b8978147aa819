"""Declares the attributes of a job: those of callers, and those that the system sets.

This module says once what each attribute is called, in Python and on the wire, and which check it
passes. A duration may also be given by another parameter, as seconds or as an instant.

One row of ``SHOWN`` adds an attribute of the job's record to all answers, and keeps
clients from sending it (core, section 5.3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, TypeAlias, TypedDict

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.jobs import arguments as given
from ojs_aws.domain.timestamps import duration_ms, format_duration

Duration: TypeAlias = str | timedelta
"""``"30s"``, ``"10m"``, ``"PT1H"``, or a timedelta."""


class JobDurations(TypedDict, total=False):
    """Lists the attributes of a job that are durations: ``"30s"``, ``"10m"``, or a timedelta.

    :ivar delay: how long the job waits before it may run; instead of ``scheduled_at``.
    :ivar timeout: execution timeout in whole seconds; instead of ``timeout_s``.
    :ivar visibility_timeout: reservation length; instead of ``visibility_timeout_s``.
    :ivar result_ttl: how long the result is kept; instead of ``result_ttl_s``.
    """

    delay: Duration
    timeout: Duration
    visibility_timeout: Duration
    result_ttl: Duration


INSTEAD_OF: Final[Mapping[str, str]] = {
    "delay": "scheduled_at",
    "timeout": "timeout_s",
    "visibility_timeout": "visibility_timeout_s",
    "result_ttl": "result_ttl_s",
}
"""The parameter whose place each of them takes."""
_WHOLE: Final = frozenset({"timeout", "result_ttl"})
"""Those that the specification has in whole seconds."""


def without_durations(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes that a caller gave, each duration as the parameter that it replaces.

    :raises TypeError: both forms of an attribute are given.
    :raises InvalidRequestError: a value that is no duration, or not whole seconds.
    """
    named = dict(attributes)
    for name, parameter in INSTEAD_OF.items():
        value = named.pop(name, None)
        _check_seconds(name, parameter, named.get(parameter))
        if value is None:
            continue
        if named.get(parameter) is not None:
            raise TypeError(f"A job is given {name} or {parameter}, and not both.")
        milliseconds = duration_ms(value, name)
        if name in _WHOLE:
            named[parameter] = _whole_seconds(milliseconds, name)
        elif name == "delay":
            named[parameter] = f"+{format_duration(milliseconds)}"
        else:
            named[parameter] = milliseconds / 1000
    return named


def _check_seconds(name: str, parameter: str, value: object) -> None:
    """Refuse a duration where a whole number of seconds is taken.

    :raises InvalidRequestError: naming the parameter that takes it.
    """
    if isinstance(value, (str, timedelta)) and name in _WHOLE:
        expected = f'a whole number of seconds; {name}="30s" takes a duration'
        received = type(value).__name__
        message = f"The '{parameter}' attribute must be {expected}."
        raise field_error(parameter, message, expected=expected, received=received)


def _whole_seconds(milliseconds: int, name: str) -> int:
    """Return the seconds of an attribute that has no smaller unit.

    :raises InvalidRequestError: they are not whole.
    """
    seconds, rest = divmod(milliseconds, 1000)
    if not rest:
        return seconds
    expected = 'whole seconds, such as "30s"'
    message = f"The '{name}' attribute must be {expected}; received {milliseconds} ms."
    raise field_error(name, message, expected=expected, received=f"{milliseconds} ms")


def replaced(attributes: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes with others in their place, in whichever form either has a duration."""
    kept = dict(attributes)
    for name, parameter in INSTEAD_OF.items():
        if name in others or parameter in others:
            kept.pop(name, None)
            kept.pop(parameter, None)
    return kept | dict(others)


class JobAttributes(JobDurations, total=False):
    """Lists the attributes of a job beside its type and arguments, in the order of the envelope.

    What is left out takes the specification's default. ``timeout="10m"`` and the other durations of
    :class:`~ojs_aws.domain.jobs.attributes.JobDurations` are written with their unit; a name that
    ends in ``_s`` takes a number of seconds.

    :ivar id: a lowercase UUIDv7; the client makes one when it is left out.
    :ivar priority: -100 to 100, or ``"high"``, ``"normal"``, ``"low"``.
    :ivar timeout_s: execution timeout in whole seconds.
    :ivar scheduled_at: when it becomes available: aware datetime, RFC 3339, or ``+10s``.
    :ivar expires_at: when it is no longer worth executing; the same forms.
    :ivar retry: retry policy; a partial one keeps the other defaults.
    :ivar unique: unique policy; None takes that of a typed job's declaration away.
    :ivar pending: hold the job back until it is activated.
    :ivar result_ttl_s: seconds that the result is kept: 0 for none, -1 for ever.
    :ivar result_size_limit: the largest result in bytes that is kept.
    :ivar version: of the form of the arguments, such as ``"2.0"``; also written behind the type:
        ``"invoice.generate@2.0"``.
    :ivar rate_limit: how many of such jobs may run, or how fast.
    :ivar sequence: key of jobs that run one after another, or ``{"key": ..., "on_discard": ...}``.
    :ivar fairness: whose share of the queue's starts it uses: ``{"key": ..., "weight": ...}``.
    :ivar visibility_timeout_s: reservation length in seconds.
    :ivar custom_attributes: attributes that the specification does not name, carried as they are;
        read them by ``job["name"]``.
    """

    id: str
    queue: str
    meta: Mapping[str, JsonValue]
    priority: int | str
    timeout_s: int
    scheduled_at: datetime | str
    expires_at: datetime | str
    retry: Mapping[str, JsonValue]
    unique: Mapping[str, JsonValue] | None
    schema: str
    tags: Sequence[str]
    pending: bool
    result_ttl_s: int
    result_size_limit: int
    version: str
    rate_limit: Mapping[str, JsonValue]
    sequence: str | Mapping[str, JsonValue]
    fairness: Mapping[str, JsonValue]
    visibility_timeout_s: float
    custom_attributes: Mapping[str, JsonValue]


class EnvelopeAttributes(JobAttributes, total=False):
    """Lists what :class:`~ojs_aws.Job` takes by name."""

    specversion: str


_UNITS: Final = "_s"
"""Ends the parameters whose attribute has no unit in its name."""
_CHECKS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "meta": given.metadata,
    "priority": given.priority,
    "scheduled_at": given.timestamp,
    "expires_at": given.timestamp,
    "retry": given.retry_policy,
    "unique": given.unique_policy,
    "tags": given.tag_list,
    "rate_limit": partial(given.mapping, "rate_limit", '{"key": "crm", "concurrency": 5}'),
    "fairness": partial(given.mapping, "fairness", '{"key": "customer-7"}'),
}
"""Checks of the parameters that have one; each returns the attribute's value."""
PARAMETERS: Final[Mapping[str, str]] = {
    name.removesuffix(_UNITS): name
    for name in ("type", "args", *EnvelopeAttributes.__annotations__)
    if name not in {"custom_attributes", *JobDurations.__annotations__}
}
"""The parameter of :class:`~ojs_aws.Job` for each attribute of the envelope."""


def read_attributes(attributes: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Return the attributes of the envelope that a caller gave as parameters, checked.

    :raises TypeError: an attribute that a job does not have, or a value of another type.
    :raises ValueError: a policy has a member that there is not.
    """
    for name in attributes:
        if name not in EnvelopeAttributes.__annotations__:
            names = (*PARAMETERS.values(), *JobDurations.__annotations__)
            raise given.unknown_attribute(name, names)
    attributes = without_durations(attributes)
    values: dict[str, JsonValue] = {}
    for attribute, parameter in PARAMETERS.items():
        value: Any = attributes.get(parameter)
        if value is None:
            continue
        if parameter == "visibility_timeout_s":
            values |= given.visibility_timeout(value)
        else:
            check = _CHECKS.get(parameter)
            values[attribute] = value if check is None else check(value)
    if (custom := attributes.get("custom_attributes")) is not None:
        values |= given.custom_attributes(custom, PARAMETERS)
    return values


@dataclass(frozen=True, slots=True)
class ShownAttribute:
    """Says where answers show a field of the job's record; one that is None or empty is left out.

    :ivar name: the member of the answers.
    :ivar field: of the record; empty: named like the member.
    :ivar is_instant: its value is an instant, which is shown as a timestamp.
    :ivar is_in_jobs: answers about one job show it, and only the system sets it.
    :ivar is_in_lists: lists of jobs show it.
    """

    name: str
    field: str = ""
    is_instant: bool = True
    is_in_jobs: bool = True
    is_in_lists: bool = True


SHOWN: Final = (
    ShownAttribute("created_at"),
    ShownAttribute("scheduled_at", is_in_jobs=False),  # clients send it: part of the document
    ShownAttribute("enqueued_at"),
    ShownAttribute("activated_at", is_in_lists=False),
    ShownAttribute("started_at"),
    ShownAttribute("completed_at"),
    ShownAttribute("cancelled_at"),
    ShownAttribute("discarded_at"),
    ShownAttribute("next_attempt_at"),
    ShownAttribute("next_retry_at", field="next_attempt_at", is_in_lists=False),
    ShownAttribute("retry_delay_ms", is_instant=False, is_in_lists=False),
    ShownAttribute("expires_at", is_in_jobs=False),  # clients send it, too
)

ShownField = tuple[str, str, bool]
"""A member of an answer, the field of the record, and whether that is an instant."""


def _fields(rows: tuple[ShownAttribute, ...]) -> tuple[ShownField, ...]:
    return tuple((row.name, row.field or row.name, row.is_instant) for row in rows)


IN_JOBS: Final = _fields(tuple(row for row in SHOWN if row.is_in_jobs))
IN_LISTS: Final = _fields(tuple(row for row in SHOWN if row.is_in_lists))

OWN_ATTRIBUTES: Final = frozenset(
    {"x_aws_past_errors", "x_aws_sequence_position", "x_aws_uncounted_attempts"}
)
"""Attributes of this system's own, which only it sets; a client's values are refused."""

SYSTEM_ATTRIBUTES: Final = frozenset(
    {
        *OWN_ATTRIBUTES,
        *(name for name, _, _ in IN_JOBS),
        "state",
        "attempt",
        "reservation_id",
        "max_attempts",
        "error",
        "errors",
        "result",
        "result_stored_at",
        "result_expires_at",
        "result_size_bytes",
        "checkpoint",
        "last_checkpoint",
    }
)
"""Attributes that only the system sets; a client's values are not stored."""
