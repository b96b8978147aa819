"""Instants and durations."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.timestamps import (
    MAX_DURATION_MS,
    Instant,
    format_duration,
    format_instant,
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
        ("9999-12-31T23:59:59-23:59", 253_402_300_799_000 + 86_340_000),
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
