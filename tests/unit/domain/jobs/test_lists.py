"""How many entries of a list match: what a page shows of it, and what was counted."""

from __future__ import annotations

import pytest

from ojs_aws.domain.jobs.lists import ListTotal, TotalKind, shown_total

AT_LEAST, ESTIMATE = TotalKind.AT_LEAST, TotalKind.ESTIMATE


def test_a_first_page_that_shows_all_is_exact() -> None:
    """An empty one, too; and one behind what was left out."""
    assert shown_total(3) == ListTotal(3)
    assert shown_total(0) == ListTotal(0)
    assert shown_total(1, offset=4) == ListTotal(5)


@pytest.mark.parametrize(
    ("total", "number"),
    [
        (shown_total(2, has_more=True), 2),
        (shown_total(2, has_more=True, is_followed=True), 3),
        (shown_total(2, offset=4, has_more=True, is_followed=True), 7),
        (shown_total(2, is_first=False), 2),
        (shown_total(0, is_first=False), 0),
        (shown_total(0, has_more=True), 0),
        (shown_total(0, offset=50), 0),
        (shown_total(0, offset=50, has_more=True), 0),
    ],
)
def test_another_page_shows_a_bound_that_is_never_above_the_truth(
    total: ListTotal, number: int
) -> None:
    """Behind the end of a list, what was left out is not known to exist."""
    assert total == ListTotal(number, AT_LEAST)
    assert not total.is_exact


@pytest.mark.parametrize(
    ("shown", "counted", "total"),
    [
        (ListTotal(2), ListTotal(5), ListTotal(2)),
        (ListTotal(2, AT_LEAST), ListTotal(5), ListTotal(5)),
        (ListTotal(2, AT_LEAST), ListTotal(2), ListTotal(2)),
        (ListTotal(2, AT_LEAST), ListTotal(5, ESTIMATE), ListTotal(5, ESTIMATE)),
        (ListTotal(2, AT_LEAST), ListTotal(1), ListTotal(2, AT_LEAST)),
        (ListTotal(2, AT_LEAST), ListTotal(1, AT_LEAST), ListTotal(2, AT_LEAST)),
        (ListTotal(2, AT_LEAST), ListTotal(1, ESTIMATE), ListTotal(2, ESTIMATE)),
    ],
)
def test_a_count_that_is_behind_the_page_does_not_stand(
    shown: ListTotal, counted: ListTotal, total: ListTotal
) -> None:
    """The page saw more."""
    assert shown.or_counted(counted) == total
