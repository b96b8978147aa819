"""Reads the attributes of a job that are durations in Python: ``"30s"``, ``"10m"``, a timedelta.

Each takes the place of a parameter that says the same in another form, as seconds or as an instant.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, TypeAlias, TypedDict

from ojs_aws.domain.error_details import field_error
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
