"""Instants and durations."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.timestamps import (
    MAX_DURATION_MS,
    Instant,
    datetime_of,
    format_duration,
    format_instant,
    instant_of,
    parse_duration,
    parse_timestamp,
    resolve_timestamp,
)


@given(st.integers(0, 253_402_300_799_999))
def test_an_instant_survives_its_text(instant: int) -> None:
    """UTC, Z, milliseconds, to the year 9999 (ENV-067, ENV-068)."""
    text = format_instant(Instant(instant))
    assert text.endswith("Z")
    assert parse_timestamp(text, "x") == instant


@given(st.integers(0, MAX_DURATION_MS))
def test_a_duration_survives_its_text(milliseconds: int) -> None:
    """As ISO 8601."""
    assert parse_duration(format_duration(milliseconds), "x") == milliseconds


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t01:00:00.001+01:00", 1),
        ("1970-01-01T00:00:00.0019999Z", 1),
        ("1969-12-31T23:59:59.999Z", -1),
        ("0001-01-01T00:00:00Z", -62_135_596_800_000),
        ("9999-12-31T23:59:59.9999999Z", 253_402_300_799_999),
        ("1970-01-01T00:00:00.00199999999999999999Z", 1),
        ("1970-01-01T00:00:00.5Z", 500),
        ("1972-06-30T23:59:60Z", 78_796_800_000),
        ("1972-06-30T23:59:60.5Z", 78_796_800_500),
        ("1972-06-30T15:59:60-08:00", 78_796_800_000),
        ("1972-07-01T00:14:60+00:15", 78_796_800_000),
    ],
)
def test_timestamps_are_read(text: str, instant: int) -> None:
    """RFC 3339 with any offset and fraction."""
    assert parse_timestamp(text, "x") == instant


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("PT1S", 1000),
        ("PT0.5S", 500),
        ("PT1H1M1S", 3_661_000),
        ("P1D", 86_400_000),
        ("P1W", 7 * 86_400_000),
        ("P1DT1S", 86_401_000),
        ("P1M", 30 * 86_400_000),
        ("1s", 1000),
        ("500ms", 500),
        ("1.5h", 5_400_000),
        ("PT0S", 0),
        ("PT24H", 86_400_000),
        ("PT5M", 300_000),
        ("PT0.0005S", 0),
        ("PT1.9999S", 2000),
        ("P1Y", 365 * 86_400_000),
        ("P1Y1M1DT1H1M1.5S", 396 * 86_400_000 + 3_661_500),
        ("PT1.5H", 5_400_000),
        ("2m", 120_000),
        ("3d", 259_200_000),
        ("PT876000H", MAX_DURATION_MS),
    ],
)
def test_durations_are_read(text: str, milliseconds: int) -> None:
    """ISO 8601 and the short forms."""
    assert parse_duration(text, "x") == milliseconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PT",
        "P",
        "1",
        "s",
        "-PT1S",
        "PT-1S",
        "P1000Y",
        "PT1",
        "1 s",
        "1y",
        5,
        None,
        "P" + "9" * 70,
        "P99999999999Y",
        "P9999999999999W",
        "P1D ",
        "P1DT",
        "p1d",
        "1S",
        "+1s",
        "1e3s",
        "1,5s",
        "\u0663s",
        "PT1S\n",
    ],
)
def test_what_is_no_duration_is_refused(text: object) -> None:
    """With the field's name."""
    with pytest.raises(InvalidRequestError, match="interval"):
        parse_duration(text, "interval")


@given(st.text(max_size=40))
def test_no_text_can_raise_anything_else(text: str) -> None:
    """Neither as a timestamp nor as a duration."""
    for parse in (parse_timestamp, parse_duration):
        with suppress(InvalidRequestError):
            parse(text, "x")


def test_a_plus_counts_from_now() -> None:
    """The documented extension."""
    assert resolve_timestamp("+PT1M", "x", Instant(5)) == 60_005


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-03-15",
        "2026-03-15T09:00:00",
        "2026-03-15T09:00Z",
        "2026-03-15 09:00:00Z",
        "2026-03-15T09:00:00.Z",
        "2026-03-15T09:00:00,5Z",
        "2026-03-15T09:00:00+0200",
        "2026-03-15T09:00:00+02",
        "2026-03-15T09:00:00+24:00",
        "2026-03-15T24:00:00Z",
        "2026-03-15T09:60:00Z",
        "2026-02-29T09:00:00Z",
        "2026-13-01T09:00:00Z",
        "0000-01-01T00:00:00Z",
        "9999-12-31T23:59:59-23:59",
        "9999-12-31T23:59:59-00:01",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:60Z",
        "9999-12-31T15:59:60-08:00",
        "2026-03-15T09:00:60Z",
        "2026-06-29T23:59:60Z",
        "2026-06-30T23:59:60+01:00",
        "2026-06-30T23:59:61Z",
        "2026-06-30T23:60:60Z",
        "2026-W11-7T09:00:00Z",
        "20260315T090000Z",
        "2026-03-15T09:00:00Z\n",
        " 2026-03-15T09:00:00Z",
        "\u06622026-03-15T09:00:00Z",
        "1773565200",
        1_773_565_200,
        None,
        True,
    ],
)
def test_what_names_no_instant_is_refused(text: object) -> None:
    """ENV-040, ENV-043, ENV-069: wrong forms, no timezone, days and times that do not exist."""
    with pytest.raises(InvalidRequestError, match="scheduled_at") as refused:
        parse_timestamp(text, "scheduled_at")
    assert refused.value.details["field"] == "scheduled_at"


def test_an_error_of_a_naive_timestamp_says_what_it_lacks() -> None:
    """It is the mistake that people make."""
    with pytest.raises(InvalidRequestError, match="timezone"):
        parse_timestamp("2026-03-15T09:00:00", "x")


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (253_402_300_800_000, "9999-12-31T23:59:59.999Z"),
        (10**18, "9999-12-31T23:59:59.999Z"),
        (-62_135_596_800_001, "0001-01-01T00:00:00.000Z"),
    ],
)
def test_an_instant_beyond_the_calendar_is_shown_at_its_edge(instant: int, text: str) -> None:
    """Earlier versions stored such instants; reading them must not fail."""
    assert format_instant(Instant(instant)) == text
    assert datetime_of(Instant(instant)).year in {1, 9999}


def test_years_have_four_digits() -> None:
    """RFC 3339, whatever the C library does."""
    assert format_instant(parse_timestamp("0001-01-01T00:00:00Z", "x")).startswith("0001-01-01T")


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "PT0S"),
        (1, "PT0.001S"),
        (1500, "PT1.5S"),
        (1000, "PT1S"),
        (60_000, "PT1M"),
        (90_000, "PT90S"),
        (3_600_000, "PT1H"),
        (5_400_000, "PT90M"),
        (86_400_000, "PT24H"),
    ],
)
def test_durations_are_written_in_their_largest_unit(milliseconds: int, text: str) -> None:
    """As the specification writes them."""
    assert format_duration(milliseconds) == text


def test_a_datetime_beyond_the_calendar_in_utc_is_none() -> None:
    """It could not be written."""
    with pytest.raises(ValueError, match="9999"):
        instant_of(datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))))


def test_an_instant_is_that_of_an_aware_datetime() -> None:
    """To the millisecond, whatever the timezone; a naive one names none."""
    moment = datetime(1970, 1, 1, 1, 0, 0, 1999, tzinfo=timezone(timedelta(hours=1)))
    assert instant_of(moment) == 1
    with pytest.raises(ValueError, match="timezone"):
        instant_of(moment.replace(tzinfo=None))


@pytest.mark.parametrize("text", ["+", "+1", "++PT1S", "+-PT1S", "PT1S", "-PT1S"])
def test_a_relative_timestamp_is_a_plus_and_a_duration(text: str) -> None:
    """Nothing else."""
    with pytest.raises(InvalidRequestError, match="x"):
        resolve_timestamp(text, "x", Instant(5))
