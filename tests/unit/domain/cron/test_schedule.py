"""Cron expressions and their next occurrences (ojs-cron, sections 3 to 5)."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ojs_aws.domain.cron.occurrences import check_timezone, nearest_weekday, zone_names
from ojs_aws.domain.cron.schedule import (
    SPECIAL,
    check_schedule,
    parse_schedule,
)
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.timestamps import Instant, format_instant, parse_timestamp


def at(text: str) -> Instant:
    """An instant."""
    return parse_timestamp(text, "test")


def runs(expression: str, after: str, count: int, zone: str = "UTC", anchor: str = "") -> list[str]:
    """The next occurrences, without the zeros that all have in common."""
    schedule = parse_schedule(expression, zone)
    now, start, found = at(after), at(anchor or after), []
    for _ in range(count):
        following = schedule.after(now, start).at
        assert following is not None
        now = following
        found.append(format_instant(now).removesuffix(".000Z").removesuffix(":00"))
    return found


KNOWN = [
    ("* * * * *", "2026-02-12T20:15:00Z", ["2026-02-12T20:16", "2026-02-12T20:17"]),
    ("*/15 * * * *", "2026-02-12T20:15:00Z", ["2026-02-12T20:30", "2026-02-12T20:45"]),
    ("1,15 * * * *", "2026-02-12T20:15:00Z", ["2026-02-12T21:01", "2026-02-12T21:15"]),
    ("1-3 * * * *", "2026-02-12T20:02:00Z", ["2026-02-12T20:03", "2026-02-12T21:01"]),
    ("10-30/10 * * * *", "2026-02-12T20:15:00Z", ["2026-02-12T20:20", "2026-02-12T20:30"]),
    ("50/5 * * * *", "2026-02-12T20:15:00Z", ["2026-02-12T20:50", "2026-02-12T20:55"]),
    ("0 9 * * MON-FRI", "2026-02-13T10:00:00Z", ["2026-02-16T09:00", "2026-02-17T09:00"]),
    ("0 9 * * mon,Wed", "2026-02-13T10:00:00Z", ["2026-02-16T09:00", "2026-02-18T09:00"]),
    ("0 0 1 jan,JUL *", "2026-02-13T10:00:00Z", ["2026-07-01T00:00", "2027-01-01T00:00"]),
    ("0 0 * * 0", "2026-02-12T00:00:00Z", ["2026-02-15T00:00", "2026-02-22T00:00"]),
    ("0 0 * * 7", "2026-02-12T00:00:00Z", ["2026-02-15T00:00", "2026-02-22T00:00"]),
    ("0 0 31 * *", "2026-02-12T00:00:00Z", ["2026-03-31T00:00", "2026-05-31T00:00"]),
    ("0 0 29 2 *", "2026-02-12T00:00:00Z", ["2028-02-29T00:00", "2032-02-29T00:00"]),
    ("0 0 29 2 *", "2096-03-01T00:00:00Z", ["2104-02-29T00:00"]),
    ("0 0 13 * 5", "2026-02-12T00:00:00Z", ["2026-02-13T00:00", "2026-02-20T00:00"]),
    ("0 0 L * *", "2026-02-12T00:00:00Z", ["2026-02-28T00:00", "2026-03-31T00:00"]),
    ("0 0 LW * *", "2026-02-12T00:00:00Z", ["2026-02-27T00:00", "2026-03-31T00:00"]),
    ("0 0 * * 5L", "2026-02-12T00:00:00Z", ["2026-02-27T00:00", "2026-03-27T00:00"]),
    ("0 0 * * FRIL", "2026-02-12T00:00:00Z", ["2026-02-27T00:00", "2026-03-27T00:00"]),
    ("0 0 * * 5#3", "2026-02-12T00:00:00Z", ["2026-02-20T00:00", "2026-03-20T00:00"]),
    ("0 0 * * fri#5", "2026-02-12T00:00:00Z", ["2026-05-29T00:00", "2026-07-31T00:00"]),
    ("0 0 15W * *", "2026-02-12T00:00:00Z", ["2026-02-16T00:00", "2026-03-16T00:00"]),
    ("0 0 1W * *", "2026-07-15T00:00:00Z", ["2026-08-03T00:00", "2026-09-01T00:00"]),
    ("0 0 31W * *", "2026-01-01T00:00:00Z", ["2026-01-30T00:00", "2026-03-31T00:00"]),
    ("0 0 28W,1 * *", "2026-02-12T00:00:00Z", ["2026-02-27T00:00", "2026-03-01T00:00"]),
    ("*/20 * * * * *", "2026-02-12T20:15:00Z", ["2026-02-12T20:15:20", "2026-02-12T20:15:40"]),
    ("30 0 12 * * *", "2026-02-12T20:15:00Z", ["2026-02-13T12:00:30", "2026-02-14T12:00:30"]),
    ("  0   9 * * *  ", "2026-02-12T20:15:00Z", ["2026-02-13T09:00"]),
    ("@yearly", "2026-02-12T20:15:00Z", ["2027-01-01T00:00"]),
    ("@annually", "2026-02-12T20:15:00Z", ["2027-01-01T00:00"]),
    ("@monthly", "2026-02-12T20:15:00Z", ["2026-03-01T00:00"]),
    ("@weekly", "2026-02-12T20:15:00Z", ["2026-02-15T00:00"]),
    ("@daily", "2026-02-12T20:15:00Z", ["2026-02-13T00:00"]),
    ("@Midnight", "2026-02-12T20:15:00Z", ["2026-02-13T00:00"]),
    ("@hourly", "2026-02-12T20:15:00Z", ["2026-02-12T21:00"]),
]


@pytest.mark.parametrize(("expression", "after", "expected"), KNOWN)
def test_known_dates(expression: str, after: str, expected: list[str]) -> None:
    """CRON-08 to CRON-12, CRON-S01: fields, names, lists, ranges, steps, L, W, #, aliases."""
    assert runs(expression, after, len(expected)) == expected


@pytest.mark.parametrize(
    ("expression", "minutes"),
    [
        ("@every 30m", 30),
        ("@every 2h", 120),
        ("@every 1h30m", 90),
        ("@every 90s", 1.5),
        ("@every 1.5h", 90),
    ],
)
def test_intervals_count_from_their_anchor(expression: str, minutes: float) -> None:
    """CRON-S02: registration or the last occurrence, not the clock's round times."""
    anchor = at("2026-02-12T20:15:07Z")
    step = round(minutes * 60_000)
    schedule = parse_schedule(expression, "UTC")
    assert schedule.after(anchor, anchor).at == anchor + step
    late = Instant(anchor + 7 * step + 1)
    assert schedule.after(late, anchor).at == anchor + 8 * step


def test_an_interval_below_a_second_fires_once_a_second() -> None:
    """CRON-24: schedules are evaluated at most once a second."""
    start = at("2026-02-12T20:15:07Z")
    assert parse_schedule("@every 500ms", "UTC").after(start, start).at == start + 1000


NEW_YORK, BERLIN, LORD_HOWE, SYDNEY, SAO_PAULO, KOLKATA, DUBLIN = (
    "America/New_York",
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "America/Sao_Paulo",
    "Asia/Kolkata",
    "Europe/Dublin",
)

SHIFTS = [
    # Spring forward: nothing in the gap (2:00 to 3:00 in New York on 8 March 2026).
    (NEW_YORK, "30 2 * * *", "2026-03-07T00:00:00Z", ["2026-03-07T07:30", "2026-03-09T06:30"]),
    (NEW_YORK, "0 3 * * *", "2026-03-07T10:00:00Z", ["2026-03-08T07:00", "2026-03-09T07:00"]),
    (NEW_YORK, "30 * * * *", "2026-03-08T06:00:00Z", ["2026-03-08T06:30", "2026-03-08T07:30"]),
    (NEW_YORK, "0 30 2 * * *", "2026-03-07T08:00:00Z", ["2026-03-09T06:30"]),
    (BERLIN, "15 2 * * *", "2026-03-28T00:00:00Z", ["2026-03-28T01:15", "2026-03-30T00:15"]),
    (DUBLIN, "30 1 * * *", "2026-03-28T02:00:00Z", ["2026-03-30T00:30"]),
    (LORD_HOWE, "15 2 * * *", "2026-10-02T16:00:00Z", ["2026-10-04T15:15"]),
    (LORD_HOWE, "45 2 * * *", "2026-10-02T17:00:00Z", ["2026-10-03T15:45"]),
    (SYDNEY, "30 2 * * *", "2026-10-02T17:00:00Z", ["2026-10-04T15:30"]),
    # Midnight itself was in the gap in Brazil: the day began at 1:00.
    (SAO_PAULO, "0 0 * * *", "2018-11-03T04:00:00Z", ["2018-11-05T02:00"]),
    # Fall back: once, the first time (1:00 to 2:00 in New York on 1 November 2026).
    (NEW_YORK, "30 1 * * *", "2026-10-31T06:00:00Z", ["2026-11-01T05:30", "2026-11-02T06:30"]),
    (NEW_YORK, "0,30 1 * * *", "2026-11-01T04:00:00Z", ["2026-11-01T05:00", "2026-11-01T05:30"]),
    (NEW_YORK, "30 1 * * *", "2026-11-01T06:00:00Z", ["2026-11-02T06:30"]),
    (NEW_YORK, "*/30 * * * *", "2026-11-01T05:15:00Z", ["2026-11-01T05:30", "2026-11-01T07:00"]),
    (NEW_YORK, "15 30 1 * * *", "2026-11-01T05:00:00Z", ["2026-11-01T05:30:15"]),
    (BERLIN, "30 2 * * *", "2026-10-24T12:00:00Z", ["2026-10-25T00:30", "2026-10-26T01:30"]),
    (LORD_HOWE, "45 1 * * *", "2026-04-03T20:00:00Z", ["2026-04-04T14:45", "2026-04-05T15:15"]),
    # No shift at all, but half an hour off.
    (KOLKATA, "0 9 * * *", "2026-02-12T20:15:00Z", ["2026-02-13T03:30", "2026-02-14T03:30"]),
]


@pytest.mark.parametrize(("zone", "expression", "after", "expected"), SHIFTS)
def test_daylight_saving_time(zone: str, expression: str, after: str, expected: list[str]) -> None:
    """CRON-16, CRON-17: nothing in the gap, once in the fold."""
    assert runs(expression, after, len(expected), zone) == expected


def test_a_gap_that_swallowed_an_occurrence_is_reported() -> None:
    """CRON-30: so that the skipped occurrence has its event."""
    schedule = parse_schedule("30 2 * * *", NEW_YORK)
    upcoming = schedule.after(at("2026-03-07T08:00:00Z"), Instant(0))
    assert upcoming.gap_at == at("2026-03-08T07:00:00Z")
    assert schedule.after(at("2026-03-09T08:00:00Z"), Instant(0)).gap_at is None


def test_the_first_of_two_gaps_is_reported_and_then_the_second() -> None:
    """Midnight of the third Sunday of October did not exist in Brazil until 2017."""
    schedule = parse_schedule("0 0 * 10 0#3", SAO_PAULO)
    first, second = at("2016-10-16T03:00:00Z"), at("2017-10-15T03:00:00Z")
    fires = at("2018-10-21T03:00:00Z")
    assert schedule.after(at("2016-01-01T00:00:00Z"), Instant(0)) == (fires, first)
    assert schedule.after(first, Instant(0)) == (fires, second)
    assert schedule.after(second, Instant(0)) == (fires, None)


def test_a_day_that_a_zone_left_out_has_no_occurrence() -> None:
    """Samoa went from 29 to 31 December 2011."""
    assert runs("0 12 * * *", "2011-12-29T22:30:00Z", 1, "Pacific/Apia") == ["2011-12-30T22:00"]


BAD = [
    ("", "", "empty"),
    ("   ", "", "empty"),
    ("* * * *", "", "4 fields"),
    ("0 0 0 0 0 0 0", "", "7 fields"),
    ("not a valid cron", "", "4 fields"),
    ("60 * * * *", "minute", "'60'"),
    ("* 24 * * *", "hour", "'24'"),
    ("* * 0 * *", "day-of-month", "'0'"),
    ("* * 32 * *", "day-of-month", "'32'"),
    ("* * * 13 *", "month", "'13'"),
    ("* * * * 8", "day-of-week", "'8'"),
    ("60 * * * * *", "second", "'60'"),
    ("*/0 * * * *", "minute", "'*/0'"),
    ("5-1 * * * *", "minute", "'5-1'"),
    ("1- * * * *", "minute", "'1-'"),
    ("1,,2 * * * *", "minute", "'1,,2'"),
    ("*/x * * * *", "minute", "'*/x'"),
    ("? * * * *", "minute", "'?'"),
    ("-1 * * * *", "minute", "'-1'"),
    ("1.5 * * * *", "minute", "'1.5'"),
    ("٣ * * * *", "minute", "'٣'"),
    ("* * * FOO *", "month", "'FOO'"),
    ("* * * * FOO", "day-of-week", "'FOO'"),
    ("* * * MON *", "month", "'MON'"),
    ("* * * * 5#6", "day-of-week", "'5#6'"),
    ("* * * * 5#0", "day-of-week", "'5#0'"),
    ("* * * * FOOL", "day-of-week", "'FOOL'"),
    ("* * 0W * *", "day-of-month", "'0W'"),
    ("* * 32W * *", "day-of-month", "'32W'"),
    ("* * L/2 * *", "day-of-month", "'L/2'"),
    ("L * * * *", "minute", "'L'"),
    ("0 0 30 2 *", "day-of-month", "'30'"),
    ("0 0 31 4,6 *", "day-of-month", "'31'"),
    ("0 0 30W 2 *", "", "no such date"),
    ("0 0 */31 * 1#5", "", "no such date"),
    ("@fortnightly", "", "special expressions"),
    ("@daily 5", "", "special expressions"),
    ("@every", "", "special expressions"),
    ("@every 5", "interval", "duration"),
    ("@every -5m", "interval", "duration"),
    ("@every 0s", "interval", "duration"),
    ("@every 9000h", "interval", "duration"),
    ("@every 5m 3s", "", "special expressions"),
    ("1," * 200 + "1 * * * *", "", "255 characters"),
    ("9" * 5000, "", "255 characters"),
]


@pytest.mark.parametrize(("expression", "field", "reason"), BAD)
def test_a_bad_expression_is_refused_and_its_field_named(
    expression: str, field: str, reason: str
) -> None:
    """CRON-03, CRON-11: with what is wrong and what was expected."""
    with pytest.raises(InvalidRequestError) as caught:
        check_schedule(expression, "UTC", at("2026-02-12T20:15:00Z"))
    error = caught.value
    assert reason in error.message
    assert error.details["field"] == "cron"
    assert error.details.get("expression_field", "") == field
    assert error.hint


@pytest.mark.parametrize("value", [None, 5, True, ["* * * * *"], {"a": 1}])
def test_an_expression_must_be_a_string(value: object) -> None:
    """The message names the type."""
    with pytest.raises(InvalidRequestError, match="string"):
        check_schedule(value, "UTC", Instant(0))


def test_a_schedule_that_is_always_in_the_gap_is_refused() -> None:
    """Every second Sunday of March, between two and three in New York."""
    begin = time.process_time()
    for expression in ("30 2 * 3 0#2", "* * 2 * 3 0#2"):
        with pytest.raises(InvalidRequestError, match="never fire"):
            check_schedule(expression, NEW_YORK, at("2026-02-12T20:15:00Z"))
        check_schedule(expression, "UTC", at("2026-02-12T20:15:00Z"))
    assert time.process_time() - begin < 2


@pytest.mark.parametrize(
    "value",
    [
        *("+05:00", "-08:00", "UTC+5", "EST", "PST", "CST", "GMT+0", "PST8PDT", "Mars/Olympus"),
        *("", "america/new_york", "America", "../etc/passwd", "America/New_York ", "x" * 1000),
    ],
)
def test_what_is_no_place_is_no_timezone(value: str) -> None:
    """CRON-13, CRON-14: offsets, abbreviations and names of no database."""
    with pytest.raises(InvalidRequestError) as caught:
        check_timezone(value)
    assert caught.value.details["field"] == "timezone"


def test_a_timezone_must_be_a_string() -> None:
    """The message names the type."""
    for value in (None, 5, ["UTC"]):
        with pytest.raises(InvalidRequestError, match="timezone"):
            check_timezone(value)


def test_every_timezone_of_the_database_can_be_evaluated() -> None:
    """CRON-13, CRON-S03: all names of the tzdata package."""
    assert len(zone_names()) > 500
    for name in zone_names():
        schedule = parse_schedule("0 9 * * *", check_timezone(name))
        assert schedule.after(at("2026-02-12T20:15:00Z"), Instant(0)).at


@pytest.mark.parametrize(
    ("year", "month", "day", "expected"),
    [(2026, 8, 1, 3), (2026, 2, 28, 27), (2026, 5, 31, 29), (2026, 2, 30, None), (2026, 2, 12, 12)],
)
def test_the_nearest_weekday_stays_in_its_month(
    year: int, month: int, day: int, expected: int | None
) -> None:
    """Saturdays go back and Sundays on, but never into another month."""
    assert nearest_weekday(year, month, day) == expected


# ------------------------------------------------------------------------------- properties
def numbers(low: int, high: int) -> st.SearchStrategy[str]:
    """A field: everything, or a list of a few values."""
    few = st.sets(st.integers(low, high), min_size=1, max_size=4)
    return st.just("*") | few.map(lambda values: ",".join(map(str, sorted(values))))


def matches(text: str, value: int) -> bool:
    """Whether a field that :func:`numbers` made holds a value."""
    return text == "*" or str(value) in text.split(",")


ZONES = st.sampled_from([NEW_YORK, BERLIN, LORD_HOWE, KOLKATA, SAO_PAULO, "UTC"])
STARTS = st.datetimes(datetime(2017, 1, 1), datetime(2027, 1, 1)) | st.sampled_from(  # noqa: DTZ001
    [datetime(2026, 3, 8, 5), datetime(2026, 11, 1, 4), datetime(2026, 10, 3, 14)]  # noqa: DTZ001
)


def holds(fields: list[str], moment: datetime) -> bool:
    """Whether an expression of plain lists matches a local time, by the definition."""
    second, minute, hour, day, month, weekday = fields
    is_day, is_weekday = matches(day, moment.day), matches(weekday, moment.isoweekday() % 7)
    both = day == "*" or weekday == "*"
    return (
        matches(second, moment.second)
        and matches(minute, moment.minute)
        and matches(hour, moment.hour)
        and matches(month, moment.month)
        and ((is_day and is_weekday) if both else (is_day or is_weekday))
    )


def walk(fields: list[str], zone: ZoneInfo, after: Instant, step_s: int, steps: int) -> int | None:
    """The next occurrence by looking at every minute or second, in the first pass of a fold."""
    moment = after // 1000 // step_s * step_s
    for _ in range(steps):
        moment += step_s
        local = datetime.fromtimestamp(moment, UTC).astimezone(zone)
        if local.fold == 0 and holds(fields, local):
            return moment * 1000
    return None


FIVE = [numbers(0, 59), numbers(0, 23), numbers(1, 28), numbers(1, 12), numbers(0, 6)]


@settings(max_examples=150, deadline=None)
@given(st.tuples(*FIVE), ZONES, STARTS)
def test_it_agrees_with_a_walk_over_every_minute(
    fields: tuple[str, ...], zone: str, start: datetime
) -> None:
    """Whatever cronsim skips, a walk over two days finds the same."""
    after = at(start.isoformat(timespec="milliseconds") + "Z")
    found = parse_schedule(" ".join(fields), zone).after(after, Instant(0)).at
    walked = walk(["0", *fields], ZoneInfo(zone), after, 60, 2880)
    assert found == walked if walked else found is None or found > after + 2879 * 60_000


@settings(max_examples=60, deadline=None)
@given(numbers(0, 59), st.tuples(*FIVE[:2]), ZONES, STARTS)
def test_it_agrees_with_a_walk_over_every_second(
    second: str, rest: tuple[str, ...], zone: str, start: datetime
) -> None:
    """The same with seconds."""
    after = at(start.isoformat(timespec="milliseconds") + "Z")
    fields = [second, *rest, "*", "*", "*"]
    found = parse_schedule(" ".join(fields), zone).after(after, Instant(0)).at
    walked = walk(fields, ZoneInfo(zone), after, 1, 5400)
    assert found == walked if walked else found is not None and found > after + 5399 * 1000


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([*SPECIAL, "@every 7m", "0 0 15W * *", "*/9 * * * * *"]), ZONES, STARTS)
def test_occurrences_only_increase(expression: str, zone: str, start: datetime) -> None:
    """CRON-07: the next one is always later."""
    now = anchor = at(start.isoformat(timespec="milliseconds") + "Z")
    schedule = parse_schedule(expression, zone)
    for _ in range(5):
        following = schedule.after(now, anchor).at
        assert following is not None
        assert following > now
        now = following


def test_the_second_pass_of_a_fold_costs_little() -> None:
    """A schedule of every second is silent there for an hour."""
    begin = time.process_time()
    schedule = parse_schedule("* * * * * *", NEW_YORK)
    second_pass = at("2026-11-01T06:00:01Z")
    assert schedule.after(second_pass, Instant(0)).at == at("2026-11-01T07:00:00Z")
    assert time.process_time() - begin < 1
    assert timedelta(milliseconds=at("2026-11-01T07:00:00Z") - second_pass) < timedelta(hours=1)
