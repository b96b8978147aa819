"""Looks up the timezones of cron jobs: names of the IANA database only (ojs-cron, section 5).

The database is the one of the ``tzdata`` package, on every machine, so that a schedule means the
same wherever it is evaluated; deploying a newer package updates it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import InvalidRequestError

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

DEFAULT_TIMEZONE: Final = "UTC"
MAX_TIMEZONE_LENGTH: Final = 64

_NOT_PLACES: Final = frozenset(
    {
        "EST", "MST", "HST", "EST5EDT", "CST6CDT", "MST7MDT", "PST8PDT",
        "CET", "MET", "EET", "WET", "GMT+0", "GMT-0", "GMT0", "Factory",
    }
)  # fmt: skip
"""Abbreviations and offsets that the database lists for the sake of old programs."""

_SECOND: Final = timedelta(seconds=1)


@cache
def zone_names() -> frozenset[str]:
    """Return every accepted timezone name."""
    listed = resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8")
    return frozenset(listed.split()) - _NOT_PLACES


def check_timezone(value: object) -> str:
    """Return a timezone by its IANA name.

    :raises InvalidRequestError: an offset, an abbreviation, or no name of the database.
    """
    if isinstance(value, str) and len(value) <= MAX_TIMEZONE_LENGTH and value in zone_names():
        return value
    shown = value[:80] if isinstance(value, str) else type(value).__name__
    raise InvalidRequestError(
        f"The 'timezone' attribute must be a name of the IANA timezone database, not {shown!r}.",
        details={
            "field": "timezone",
            "expected": "an IANA timezone name such as America/New_York",
            "received": shown,
        },
        hint="Offsets (+05:00) and abbreviations (EST) do not follow daylight saving time: name "
        "the place instead, such as America/New_York.",
    )


@cache
def zone_of(name: str) -> ZoneInfo:
    """Return the timezone of a name that :func:`check_timezone` accepts."""
    import zoneinfo  # only what evaluates cron jobs needs it

    data = resources.files("tzdata").joinpath("zoneinfo", *name.split("/"))
    with data.open("rb") as file:
        return zoneinfo.ZoneInfo.from_file(file, key=name)


def exists(local: datetime, zone: ZoneInfo) -> bool:
    """Return whether clocks in the zone ever show this time; in a transition's gap they do not."""
    there = local.replace(tzinfo=zone, fold=0)
    return there.astimezone(UTC).astimezone(zone).replace(tzinfo=None, fold=0) == local


def end_of_gap(local: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Return for a time in a gap the instant of the transition (UTC) and the clock time then."""
    # A time in the gap, read with the offset after it, lies before the transition; read with the
    # offset before it, after the transition.
    early = local.replace(tzinfo=zone, fold=1).astimezone(UTC)
    late = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
    offset = early.astimezone(zone).utcoffset()
    while late - early > _SECOND:
        middle = early + (late - early) // 2
        middle = middle.replace(microsecond=0)
        if middle.astimezone(zone).utcoffset() == offset:
            early = middle
        else:
            late = middle
    return late, late.astimezone(zone).replace(tzinfo=None, fold=0)
