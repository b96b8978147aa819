"""Reads the members of bodies that have no model: texts, numbers, times and filters."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

from ojs_aws.domain.attributes import field_error, invalid
from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.job import JobState
from ojs_aws.domain.json_text import Member, json_type
from ojs_aws.domain.timestamps import Instant, parse_timestamp

Values: TypeAlias = Mapping[str, JsonValue]


def malformed(name: str, expected: str, member: Member | None) -> InvalidRequestError:
    """Return the error for a member that is missing or of another type; its value is not shown."""
    received = "nothing" if member is None else json_type(member.value)
    message = f"The '{name}' attribute must be {expected}; received {received}."
    return field_error(name, message, expected=expected, received=received)


def text_in(values: Values, name: str) -> str:
    """Return a text; an empty one when it is not given.

    :raises InvalidRequestError: it is something else.
    """
    value = values.get(name, "")
    if not isinstance(value, str):
        raise invalid(name, "a text", value)
    return value


def object_in(values: Values, name: str) -> dict[str, JsonValue] | None:
    """Return an object; None when it is not given.

    :raises InvalidRequestError: it is something else.
    """
    value = values.get(name)
    if value is not None and not isinstance(value, dict):
        raise invalid(name, "an object", value)
    return value


def flag_in(values: Values, name: str) -> bool:
    """Return true or false; False when it is not given.

    :raises InvalidRequestError: it is something else.
    """
    value = values.get(name, False)
    if not isinstance(value, bool):
        raise invalid(name, "true or false", value)
    return value


def number_in(values: Values, name: str, default: int, expected: str = "a whole number") -> int:
    """Return a whole number.

    :raises InvalidRequestError: it is something else.
    """
    value = values.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise invalid(name, expected, value)
    return value


def instant_in(values: Values, name: str) -> Instant | None:
    """Return an instant; None when it is not given.

    :raises InvalidRequestError: it is no timestamp.
    """
    return None if values.get(name) is None else parse_timestamp(values[name], name)


def states_in(named: JsonValue, field: str, expected: str) -> frozenset[JobState]:
    """Return the job states that a name, or an array of names, stands for.

    :param expected: goes before the states in the error.
    :raises InvalidRequestError: there is no such state.
    """
    for name in (states := named if isinstance(named, list) else [named]):
        if not isinstance(name, str) or name not in set(JobState):
            raise invalid(field, f"{expected} {', '.join(JobState)}", name)
    return frozenset(JobState(str(name)) for name in states)


def check_known(
    values: Values, known: Collection[str], subject: str = "A filter", *, is_listed: bool = True
) -> None:
    """Refuse an unknown attribute of a filter, because without it the filter matches too much.

    :param is_listed: whether the details of the error list what there is.
    :raises InvalidRequestError: there is one.
    """
    unknown = sorted(set(values) - {*known})
    if unknown:
        name = unknown[0][:40]
        raise InvalidRequestError(
            f"{subject} knows {', '.join(known)}; received '{name}'.",
            details={"field": f"filter.{name}"} | ({"allowed": [*known]} if is_listed else {}),
        )


def check_confirmed(
    subject: str = "An operation on many jobs", *, is_confirmed: bool, has_dry_run: bool = False
) -> None:
    """Refuse an operation on many jobs that is not confirmed (ojs-admin-api, section 4).

    :raises InvalidRequestError: it is not.
    """
    if not is_confirmed:
        dry = ', or "dry_run": true to see what it would change' if has_dry_run else ""
        message = f"{subject} must be confirmed."
        raise field_error("confirm", message, f'Send "confirm": true{dry}.', expected="true")
