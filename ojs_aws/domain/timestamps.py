"""Reads and writes instants and durations: RFC 3339, ISO 8601, and short forms.

Inside the system an instant is a whole number of milliseconds since the epoch, UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final, NewType

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.json_text import json_type

Instant = NewType("Instant", int)
"""Milliseconds since 1970-01-01T00:00:00Z."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST: Final = Instant(-62_135_596_800_000)
"""The first instant of the year 1, UTC."""
LATEST: Final = Instant(253_402_300_799_999)
"""The last instant of the year 9999, UTC."""

_RFC3339: Final = re.compile(
    r"(?P<minute>\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}):(?P<second>\d{2})(?:\.(?P<fraction>\d+))?"
    r"(?P<zone>[Zz]|[+-]\d{2}:\d{2})?",
    re.ASCII,
)
_LEAP_SECOND: Final = 60
_SHORT: Final = re.compile(r"(?P<count>\d{1,12}(?:\.\d{1,6})?)(?P<unit>ms|s|m|h|d)", re.ASCII)
_UNIT_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_PLAIN: Final = re.compile(
    r"PT(?:(?P<h>\d{1,9})H)?(?:(?P<m>\d{1,9})M)?(?:(?P<s>\d{1,9}(?:\.\d{1,9})?)S)?", re.ASCII
)
_CALENDAR: Final = re.compile(r"P(?=.)[0-9.,YMWD]{0,40}(T[0-9.,HMS]{1,40})?", re.ASCII)
MAX_DURATION_MS: Final = 100 * 365 * 86_400_000
_BOUNDS: Final = "a duration from 0 to 100 years"
DURATION_FORMS: Final = 'a duration such as "30s" or "PT30S" (ISO 8601)'
"""What messages say of a duration on the wire; both forms are accepted wherever one is."""

_FROM_NOW: Final = "an RFC 3339 timestamp such as 2026-02-12T10:30:00Z, or +30s or +PT30S from now"


def instant_of(moment: datetime) -> Instant:
    """Return the instant of an aware datetime.

    :raises ValueError: the datetime is naive, or outside the years 1 to 9999 in UTC.
    """
    if moment.tzinfo is None:
        raise ValueError(
            "a datetime without a timezone names no instant: use datetime.now(UTC), or "
            "moment.astimezone() for local time"
        )
    instant = _since_epoch(moment)
    if not EARLIEST <= instant <= LATEST:
        raise ValueError("a datetime outside the years 1 to 9999 in UTC")
    return Instant(instant)


def _since_epoch(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def datetime_of(instant: Instant) -> datetime:
    """Return the datetime of an instant in UTC, limited to the years 1 to 9999.

    Earlier versions stored such instants, and whoever reads them must not fail.
    """
    return _EPOCH + timedelta(milliseconds=max(EARLIEST, min(instant, LATEST)))


def format_instant(instant: Instant) -> str:
    """Return RFC 3339 in UTC with milliseconds: ``2026-02-12T10:30:00.000Z``; never fails."""
    return datetime_of(instant).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def parse_timestamp(text: object, field: str) -> Instant:
    """Read an RFC 3339 timestamp.

    :param field: the attribute's name, for the message.
    :raises InvalidRequestError: wrong type or form, no timezone, no such day (5.5.2), or an
        instant outside the years 1 to 9999 in UTC.
    """
    milliseconds = read_date_time(text, field)
    if not EARLIEST <= milliseconds <= LATEST:
        raise _invalid(field, text, "an instant in the years 1 to 9999 in UTC")
    return Instant(milliseconds)


def read_date_time(text: object, field: str) -> int:
    """Read an RFC 3339 timestamp, which an offset may carry beyond the year 9999 in UTC.

    A leap second counts as the first second of the next day, as POSIX has it; what is finer than
    a millisecond is cut off.

    :returns: milliseconds since the epoch.
    :raises InvalidRequestError: wrong type or form, no timezone, or no such day or time.
    """
    match = _RFC3339.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise _invalid(field, text, "an RFC 3339 timestamp such as 2026-02-12T10:30:00Z")
    if match["zone"] is None:
        raise _invalid(field, text, "a timestamp with a timezone (Z or +02:00)")
    second = int(match["second"])
    is_leap = second == _LEAP_SECOND
    whole = f"{match['minute']}:{second - is_leap:02d}{match['zone']}"
    try:
        moment = datetime.fromisoformat(whole.upper())
        if is_leap and not _ends_month(moment):
            raise ValueError("no leap second")  # noqa: TRY301 - one message for all of them
    except (ValueError, OverflowError):
        raise _invalid(field, text, "a day and time that exist") from None
    thousandths = int(f"{(match['fraction'] or '')[:3]:0<3}")
    return _since_epoch(moment) + thousandths + is_leap * 1000


def _ends_month(moment: datetime) -> bool:
    """Return whether this is the last second of a month in UTC: a leap second can follow.

    :raises OverflowError: it is the last second of the year 9999, or not in the years up to then.
    """
    after = moment.astimezone(UTC) + timedelta(seconds=1)
    return (after.day, after.hour, after.minute, after.second) == (1, 0, 0, 0)


def resolve_timestamp(text: object, field: str, now: Instant) -> Instant:
    """Read a timestamp like :func:`parse_timestamp`, or ``+PT2S``, which counts from ``now``."""
    if isinstance(text, str) and text.startswith("+"):
        return Instant(now + parse_duration(text[1:], field))
    if not isinstance(text, str) or _RFC3339.fullmatch(text) is None:
        raise _invalid(field, text, _FROM_NOW)
    return parse_timestamp(text, field)


def parse_duration(text: object, field: str) -> int:
    """Read a duration: ISO 8601 (``PT1M30S``) or short (``90s``, ``500ms``, ``2h``).

    :returns: milliseconds, not negative.
    :raises InvalidRequestError: any other form, a negative one, or more than a hundred years.
    """
    if isinstance(text, str):
        if (match := _PLAIN.fullmatch(text)) and text != "PT":
            hours, minutes, seconds = (float(match[unit] or 0) for unit in "hms")
            return _bounded(round((hours * 3600 + minutes * 60 + seconds) * 1000), text, field)
        if match := _SHORT.fullmatch(text):
            return _bounded(round(float(match["count"]) * _UNIT_MS[match["unit"]]), text, field)
        if _CALENDAR.fullmatch(text):
            return _calendar(text, field)
    raise _invalid(field, text, DURATION_FORMS)


def _calendar(text: str, field: str) -> int:
    """Read a duration with years (365 days), months (30 days), weeks or days."""
    import isodate  # rare, and not worth its import time at start-up

    try:
        parsed = isodate.parse_duration(text)
        if isinstance(parsed, isodate.Duration):
            parsed = parsed.tdelta + timedelta(days=float(parsed.years * 365 + parsed.months * 30))
    except (ValueError, ArithmeticError):
        raise _invalid(field, text, DURATION_FORMS) from None
    return _bounded(parsed // timedelta(milliseconds=1), text, field)


def _bounded(milliseconds: int, text: str, field: str) -> int:
    if not 0 <= milliseconds <= MAX_DURATION_MS:
        raise _invalid(field, text, _BOUNDS)
    return milliseconds


def duration_ms(duration: object, field: str) -> int:
    """Return a duration that a caller wrote in Python, in milliseconds.

    :param duration: a timedelta, or text as in :func:`parse_duration`.
    :raises InvalidRequestError: any other form, a negative one, or more than a hundred years; a
        number has no unit.
    """
    received = f"a value of type {type(duration).__name__}"
    if isinstance(duration, timedelta):
        received = f"{duration.total_seconds():g} s"
        if duration >= timedelta(0):
            return _bounded(duration // timedelta(milliseconds=1), received, field)
    elif isinstance(duration, (int, float)) and not isinstance(duration, bool):
        received = str(duration)
        if duration >= 0:
            raise InvalidRequestError(
                f'The \'{field}\' attribute needs a unit: "{duration}s" or "{duration}m", '
                f"not {duration}.",
                details={
                    "field": field,
                    "expected": "a duration with a unit",
                    "received": "number",
                },
            )
    elif isinstance(duration, str):
        received = f'"{duration[:80]}"'
        try:
            return parse_duration(duration, field)
        except InvalidRequestError as problem:
            if problem.details.get("expected") == _BOUNDS:
                raise
    expected = 'a duration such as "30s", "10m" or "2h", and not negative'
    message = f"The '{field}' attribute must be {expected}; received {received}."
    raise field_error(field, message, expected=expected, received=received)


def format_duration(milliseconds: int) -> str:
    """Return an ISO 8601 duration in seconds, or in whole minutes and hours if it is even."""
    seconds, rest = divmod(milliseconds, 1000)
    if rest:
        return f"PT{milliseconds / 1000:.3f}".rstrip("0") + "S"
    for size, sign in ((3600, "H"), (60, "M")):
        if seconds and seconds % size == 0:
            return f"PT{seconds // size}{sign}"
    return f"PT{seconds}S"


_SPANS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def span_text(milliseconds: int) -> str:
    """Return a time span for people, in its two largest units: ``2 h 5 min``; ``0 s`` at least."""
    parts: list[str] = []
    left = max(0, milliseconds)
    for size, unit in _SPANS:
        count, left = divmod(left, size)
        if count or (parts and unit != "s"):
            parts.append(f"{count} {unit}")
        if len(parts) > 1:
            break
    return " ".join(part for part in parts if not part.startswith("0 ")) or "0 s"


def _invalid(field: str, received: object, expected: str) -> InvalidRequestError:
    shown = received if isinstance(received, str) else json_type(received)
    message = f"The '{field}' attribute must be {expected}, not {shown[:80]!r}."
    return field_error(field, message, expected=expected, received=shown[:80])
