"""Messages of failures without what differs from one to the next."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.jobs.failure_groups import (
    MAX_EXAMPLE_BYTES,
    MAX_MESSAGE_BYTES,
    MAX_TYPE_BYTES,
    failure_group,
    group_key,
    normalised,
    window_of,
)
from ojs_aws.domain.timestamps import Instant


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("connection refused", "connection refused"),
        ("timed out after 30 s", "timed out after * s"),
        ("timed out after 30.5s.", "timed out after *."),
        ("no user 4711: gone", "no user *: gone"),
        ("job 01990000-0000-7000-8000-000000000001 is lost", "job * is lost"),
        ("cannot reach 10.0.0.1:5432", "cannot reach *"),
        ("at 2025-10-09T08:53:20.000Z", "at *"),
        ("object at 0x7f24e2a44c90", "object at *"),
        ("hash deadbeefcafe differs", "hash * differs"),
        ("KeyError: 'user@example.com'", "KeyError: '*'"),
        ('no column "a b" in `t`', 'no column "*" in `*`'),
        ("can't open 'a.txt', isn't there", "can't open '*', isn't there"),
        ("GET /users/42/orders failed", "GET * failed"),
        ("two\n  lines\r\n\tof text", "two lines of text"),
        ("", ""),
        ("ünïcode bleibt", "ünïcode bleibt"),
    ],
)
def test_values_are_left_out_of_messages(message: str, expected: str) -> None:
    """Numbers, ids, addresses, hexadecimal numbers and quoted texts."""
    assert normalised(message) == expected


@given(st.text(max_size=300), st.text(max_size=300))
def test_groups_are_short_and_their_texts_can_be_stored(kind: str, message: str) -> None:
    """Whatever a worker reports; normalising twice is the same as once, but for the cut."""
    group = failure_group(kind, message, "job", Instant(0))
    assert len(group.type.encode()) <= MAX_TYPE_BYTES
    assert len(group.message.encode()) <= MAX_MESSAGE_BYTES
    assert len(group.example.encode()) <= MAX_EXAMPLE_BYTES
    assert len(group_key(group)) == 6
    assert "\n" not in group.message + group.example


@pytest.mark.parametrize(
    "message", ["x" * 10_000, "'" * 10_000, '"' * 9_999, "a." * 5_000, "'a " * 3_000, "\ud800"]
)
def test_no_message_takes_long(message: str) -> None:
    """What is looked at is bounded, and no expression starts over for each character."""
    begun = time.process_time()
    normalised(message)
    assert time.process_time() - begun < 0.5


def test_groups_add_up() -> None:
    """The first and the last job of both, in whatever order they come."""
    early = failure_group("Broken", "no 1", "a", Instant(1))
    late = failure_group("Broken", "no 2", "b", Instant(2))
    for whole in (early.plus(late), late.plus(early)):
        assert (whole.count, whole.first_seen, whole.last_seen) == (2, 1, 2)
        assert whole.job_ids == ("a", "b")
        assert (whole.message, whole.example) == ("no *", "no 2")
    assert early.name == late.name


def test_failures_are_counted_by_the_hour() -> None:
    """Windows begin with the hours (UTC)."""
    assert window_of(Instant(1_760_000_000_000)) == 1_759_996_800_000
