"""Reads cron expressions (ojs-cron, sections 3 and 4).

`cronsim` reads the fields. Added around it: the special expressions, the nearest weekday (``15W``),
and messages that point at the field.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple

from ojs_aws.domain.cron.occurrences import Calendar, Interval, Schedule
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.timestamps import Instant

MAX_EXPRESSION_LENGTH: Final = 255
MAX_INTERVAL_MS: Final = 366 * 86_400_000
SPECIAL: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
"""The aliases of section 4."""


class _Field(NamedTuple):
    name: str
    expected: str
    pattern: re.Pattern[str]


def _field(name: str, values: str, value: str, extra: str = "") -> _Field:
    item = rf"(?:(?:\*|{value}(?:-{value})?)(?:/\d{{1,3}})?{extra})"
    pattern = re.compile(rf"{item}(?:,{item})*", re.ASCII | re.IGNORECASE)
    return _Field(name, f"{values}; lists (1,5), ranges (1-5) and steps (*/5) of them", pattern)


_N: Final = r"\d{1,2}"
_NAMED: Final = rf"(?:{_N}|[A-Z]{{3}})"
_FIELDS: Final = (
    _field("second", "0-59", _N),
    _field("minute", "0-59", _N),
    _field("hour", "0-23", _N),
    _field("day-of-month", "1-31, L, LW or 15W", _N, rf"|LW?|{_N}W"),
    _field("month", "1-12 or JAN-DEC", _NAMED),
    _field("day-of-week", "0-7, SUN-SAT, 5L or 5#3", _NAMED, rf"|{_NAMED}(?:L|#[1-5])"),
)
_WITHOUT_SECONDS: Final = 5
_DAY: Final = 3
_WEEKDAY: Final = 5
_WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_NEAREST: Final = re.compile(r"(\d{1,2})W", re.ASCII)
_BIGGEST_DAY: Final = 31
_SHORTEST_MONTH: Final = 28
_PLAIN_DAY: Final = re.compile(r"(\d{1,2})W?", re.ASCII | re.IGNORECASE)

_PART: Final = r"(\d{1,12}(?:\.\d{1,9})?)(ms|s|m|h)"
_INTERVAL: Final = re.compile(rf"(?:{_PART})+", re.ASCII)
_UNIT_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}


@lru_cache(maxsize=1024)
def parse_schedule(expression: str, timezone: str) -> Schedule:
    """Read an expression.

    :param timezone: one that :func:`~ojs_aws.domain.cron.occurrences.check_timezone` accepts.
    :raises InvalidRequestError: naming the field of the expression, what it holds and what it may.
    """
    text = expression.strip()
    if not text:
        raise _invalid(expression, "it is empty")
    if len(text) > MAX_EXPRESSION_LENGTH:
        raise _invalid(expression, f"it has more than {MAX_EXPRESSION_LENGTH} characters")
    if not text.startswith("@"):
        return _calendar(text, text.split(), timezone)
    name, *rest = text.split()
    if name.lower() == "@every" and len(rest) == 1:
        return Interval(_interval(text, rest[0]))
    if name.lower() not in SPECIAL or rest:
        known = ", ".join((*SPECIAL, "@every 30m"))
        raise _invalid(expression, f"special expressions are {known}")
    return _calendar(text, SPECIAL[name.lower()].split(), timezone)


def check_schedule(value: object, timezone: str, now: Instant) -> Schedule:
    """Read the expression of a registration; refuse one that never fires.

    :raises InvalidRequestError: it is no expression, or there is no such date in fifty years.
    """
    if not isinstance(value, str):
        raise _invalid(f"a value of the type {type(value).__name__}", "it must be a string")
    schedule = parse_schedule(value, timezone)
    if schedule.after(now, now).at is None:
        raise _invalid(value, "there is no such date, so it would never fire")
    return schedule


def rare_days(expression: str) -> str:
    """Return a warning about days that not every month has (section 3.5); empty for none.

    :param expression: a valid one.
    """
    fields = expression.split()
    if expression.lstrip().startswith("@"):
        return ""
    days = fields[_DAY if len(fields) == len(_FIELDS) else _DAY - 1].split(",")
    numbers = [int(m[1]) for day in days if (m := _PLAIN_DAY.fullmatch(day))]
    if len(numbers) < len(days) or min(numbers) <= _SHORTEST_MONTH:
        return ""
    return f"The cron job does not fire in months without day {min(numbers)}."


def _calendar(text: str, fields: list[str], timezone: str) -> Calendar:
    if len(fields) == _WITHOUT_SECONDS:
        fields = ["0", *fields]
    if len(fields) != len(_FIELDS):
        count = len(fields)
        raise _invalid(text, f"it has {count} fields; expected 5, or 6 with seconds first")
    for field, given in zip(_FIELDS, fields, strict=True):
        if not field.pattern.fullmatch(given):
            raise _bad_field(text, field, given)
    days = fields[_DAY].split(",")
    nearest = frozenset(int(m[1]) for day in days if (m := _NEAREST.fullmatch(day.upper())))
    if any(not 0 < day <= _BIGGEST_DAY for day in nearest):
        raise _bad_field(text, _FIELDS[_DAY], fields[_DAY])
    plain = [day for day in days if not _NEAREST.fullmatch(day.upper())]
    kept = ",".join(plain) or "L"  # in the place of nothing; not matched when there is only W
    fields = [*fields[:_DAY], kept, fields[_DAY + 1], _last_by_number(fields[_WEEKDAY])]
    _check_by_cronsim(text, fields)
    return Calendar(" ".join(fields), timezone, nearest, only_nearest=not plain)


def _last_by_number(weekdays: str) -> str:
    """Return ``FRIL`` as ``5L``, which is the form that cronsim reads."""

    def number(match: re.Match[str]) -> str:
        name = match[1].upper()
        return f"{_WEEKDAYS.index(name)}L" if name in _WEEKDAYS else match[0]

    return re.sub(r"([A-Za-z]{3})[lL]\b", number, weekdays)


def _check_by_cronsim(text: str, fields: list[str]) -> None:
    """Let cronsim refuse what the patterns miss: ranges, names, dates that never come."""
    from cronsim import CronSim, CronSimError

    try:
        CronSim(" ".join(fields), datetime(2000, 1, 1))  # noqa: DTZ001 - local, of no zone
    except CronSimError as problem:
        bad = next((f for f in _FIELDS if str(problem) == f"Bad {f.name}"), None)
        if bad is None:
            raise _invalid(text, str(problem)) from problem
        raise _bad_field(text, bad, fields[_FIELDS.index(bad)]) from problem


def _interval(text: str, duration: str) -> int:
    """Return the milliseconds of a duration as Go writes it, rounded up to whole seconds."""
    if not _INTERVAL.fullmatch(duration):
        raise _invalid(text, "@every takes a duration such as 90s, 30m or 1h30m", "interval")
    parts = re.findall(_PART, duration, re.ASCII)
    total = round(sum(float(count) * _UNIT_MS[unit] for count, unit in parts))
    if not 0 < total <= MAX_INTERVAL_MS:
        raise _invalid(text, "@every takes a duration above 0, of at most 366 days", "interval")
    return -(-total // 1000) * 1000


def _bad_field(text: str, field: _Field, given: str) -> InvalidRequestError:
    return _invalid(
        text,
        f"the {field.name} field is {given[:80]!r}, and takes {field.expected}",
        field.name,
        field.expected,
    )


def _invalid(text: str, reason: str, part: str = "", expected: str = "") -> InvalidRequestError:
    error = InvalidRequestError(
        f"The cron expression {text[:80]!r} is not valid: {reason}.",
        details={"field": "cron", "received": text[:80], "reason": reason},
        hint="Five fields: minute, hour, day of month, month, day of week; a sixth, in front, "
        "holds seconds.",
    )
    if part:
        error.details["expression_field"] = part
    if expected:
        error.details["expected"] = expected
    return error
