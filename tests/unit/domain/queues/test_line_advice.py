"""How many lines a queue should have: advice that is followed gives no further advice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.capacity_model import PARTITION_WRITES
from ojs_aws.config import MAX_LINES as DECLARABLE
from ojs_aws.domain.queues.line_advice import (
    LINE_PER_S,
    MAX_LINES,
    NEARLY_FULL,
    fewer_lines,
    line_load,
    lines_for,
    more_lines,
)
from ojs_aws.domain.queues.setting_rows import SETTINGS

RATES = st.floats(min_value=0, max_value=40_000)
LINES = st.integers(min_value=1, max_value=MAX_LINES)
CHANGES = st.floats(min_value=0.51, max_value=1.33)


def test_a_queue_can_be_set_to_each_number_that_is_advised() -> None:
    assert SETTINGS["ordering_shards"].most == MAX_LINES == DECLARABLE


@pytest.mark.parametrize(
    ("load", "lines", "more", "fewer"),
    [
        (400, 1, None, None),
        (401, 1, 2, None),
        (600.1, 1, 4, None),
        (1600, 4, None, None),
        (1601, 4, 8, None),
        (300, 4, None, 1),
        (301, 4, None, None),
        (0, 3, None, None),
        (0, 1, None, None),
        (40_000, 1, 64, None),
        (40_000, 64, None, None),
    ],
)
def test_more_lines_from_four_fifths_on_and_fewer_below_a_quarter(
    load: float, lines: int, more: int | None, fewer: int | None
) -> None:
    assert (more_lines(load, lines), fewer_lines(load, lines)) == (more, fewer)


@pytest.mark.parametrize(
    ("retries", "scheduled", "per_s"), [(0, False, 500), (0, True, 250), (1, False, 167)]
)
def test_a_line_ends_where_the_page_about_capacity_says(
    retries: int, *, scheduled: bool, per_s: int
) -> None:
    """Jobs a second that begin at once, are scheduled, or fail once."""
    load = line_load(per_s * (1 + retries), per_s * retries, per_s * scheduled)
    assert load == pytest.approx(LINE_PER_S, abs=2)
    assert 2 * LINE_PER_S == PARTITION_WRITES


@given(load=RATES, lines=LINES, change=CHANGES)
def test_advice_that_is_followed_stays_right_while_the_load_changes(
    load: float, lines: int, change: float
) -> None:
    """Up by a third, or down by half: neither of both is advised again."""
    advised = more_lines(load, lines) or fewer_lines(load, lines)
    if advised is None or advised == MAX_LINES:
        return
    assert more_lines(load * change, advised) is None
    assert fewer_lines(load * change, advised) is None


@given(load=RATES, lines=LINES, hidden=st.floats(min_value=0, max_value=40_000))
def test_fewer_lines_by_the_worst_case_need_no_more_by_what_is_counted(
    load: float, lines: int, hidden: float
) -> None:
    """Fewer are advised as if each job was scheduled, more by those that are known to be."""
    fewer = fewer_lines(load + hidden, lines)
    more = more_lines(load, lines)
    assert fewer is None or more_lines(load, fewer) is None
    assert more is None or more == MAX_LINES or fewer_lines(load + hidden, more) is None


@given(load=RATES, lines=LINES)
def test_more_and_fewer_lines_are_never_advised_at_once(load: float, lines: int) -> None:
    more, fewer = more_lines(load, lines), fewer_lines(load, lines)
    assert more is None or fewer is None
    assert more is None or more > lines
    assert fewer is None or fewer < lines


@given(load=RATES)
def test_the_needed_lines_are_a_power_of_two_that_bears_the_load(load: float) -> None:
    lines = lines_for(load)
    assert lines in {2**power for power in range(7)}
    assert lines == MAX_LINES or load < NEARLY_FULL * LINE_PER_S * lines
