"""Computes when a schedule fires: at an interval, or by the calendar (ojs-cron, sections 3 and 5).

`cronsim` walks the calendar, in local time without a timezone. Added around it: the nearest weekday
(``15W``) and the rules for daylight saving time. A schedule fires at most once a second.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from ojs_aws.domain.cron.zones import end_of_gap, exists, zone_of
from ojs_aws.domain.timestamps import Instant, instant_of

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

HORIZON_YEARS: Final = 50
"""A date further away than this is none: 29 February on a given weekday is at most 40 years off."""


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
