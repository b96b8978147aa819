"""Computes when a schedule fires, in its time zone (ojs-cron, sections 3 and 5).

`cronsim` walks the calendar, in local time without a timezone. Added around it: the nearest weekday
(``15W``) and the rules for daylight saving time. A schedule fires at most once a second.

The database is the one of the ``tzdata`` package, on every machine, so that a schedule means the
same wherever it is evaluated; deploying a newer package updates it.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Final, NamedTuple

from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.timestamps import Instant, instant_of

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
HORIZON_YEARS: Final = 50
"""A date further away than this is none: 29 February on a given weekday is at most 40 years off."""


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


class Upcoming(NamedTuple):
    """Holds the next occurrence, and one before it that a clock change skipped.

    :ivar at: when the schedule fires next; None when it never does again.
    :ivar gap_at: the transition whose gap swallowed an occurrence before that, if one did.
    """

    at: Instant | None
    gap_at: Instant | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """Fires at a fixed interval from an anchor (``@every``)."""

    every_ms: int

    def after(self, instant: Instant, anchor: Instant) -> Upcoming:
        """Return the first occurrence later than an instant.

        :param anchor: registration, or any occurrence since.
        """
        passed = max(instant - anchor, 0) // self.every_ms
        return Upcoming(Instant(anchor + (passed + 1) * self.every_ms))


@dataclass(frozen=True, slots=True)
class Calendar:
    """Fires as a cron expression in a timezone says.

    :ivar fields: six fields, as cronsim reads them, nearest weekdays left out.
    :ivar nearest: the days of the month of which the nearest weekday is meant.
    """

    fields: str
    timezone: str
    nearest: frozenset[int] = frozenset()
    only_nearest: bool = False

    def after(self, instant: Instant, anchor: Instant = Instant(0)) -> Upcoming:  # noqa: B008 - an int
        """Return the first occurrence later than an instant; the anchor does not matter.

        An occurrence in a gap does not exist. One in a fold is the first of the two.
        """
        del anchor
        zone = zone_of(self.timezone)
        start = datetime.fromtimestamp(instant // 1000, UTC).astimezone(zone)
        local = start.replace(tzinfo=None, fold=0)
        limit = local.replace(year=local.year + HORIZON_YEARS, day=1)
        gap_at: Instant | None = None
        while True:
            for found in self._matches(local):
                if found > limit:
                    return Upcoming(None, gap_at)
                if not exists(found, zone):
                    transition, shown = end_of_gap(found, zone)
                    gap_at = gap_at or instant_of(transition)
                    local = shown - timedelta(seconds=1)
                    break
                at = _first(found, zone)
                if at > instant:
                    return Upcoming(at, gap_at)
            else:
                return Upcoming(None, gap_at)

    def _matches(self, local: datetime) -> Iterator[datetime]:
        """Yield the matches after a local time, without timezone, in order."""
        return _simulation()(self, local)


def _first(local: datetime, zone: ZoneInfo) -> Instant:
    """Return the first instant at which clocks in the zone show a time."""
    return instant_of(local.replace(tzinfo=zone, fold=0))


@lru_cache(maxsize=1)
def _simulation() -> Callable[[Calendar, datetime], Iterator[datetime]]:
    """Return cronsim's class extended by nearest weekdays; made on first use."""
    import cronsim  # only what evaluates cron jobs needs it

    class WithNearestWeekday(cronsim.CronSim):
        """Matches the days that ``W`` means, too."""

        def __init__(self, schedule: Calendar, local: datetime) -> None:
            super().__init__(schedule.fields, local)
            self.nearest = schedule.nearest
            if schedule.only_nearest:
                self.days = set()

        def match_dom(self, d: date) -> bool:
            is_nearest = any(d.day == nearest_weekday(d.year, d.month, n) for n in self.nearest)
            return is_nearest or super().match_dom(d)

    return WithNearestWeekday


def nearest_weekday(year: int, month: int, day: int) -> int | None:
    """Return the weekday nearest to a day, within its month; None in a month without that day."""
    length = calendar.monthrange(year, month)[1]
    if day > length:
        return None
    match date(year, month, day).weekday():
        case calendar.SATURDAY:
            return day - 1 if day > 1 else day + 2
        case calendar.SUNDAY:
            return day + 1 if day < length else day - 2
    return day


Schedule = Interval | Calendar
