"""What commands say of the rest of a list."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from ojs_aws.cli.list_totals import more_text, total_members


@dataclass
class Page:
    """A page as the client returns it."""

    total: int
    total_is: str = "exact"
    cursor: str = "c"


@pytest.mark.parametrize(
    ("page", "rest"),
    [
        (Page(45), "2 jobs of 45; show more with --limit."),
        (Page(45, "estimate"), "2 jobs of about 45; show more with --limit."),
        (Page(3, "at_least"), "2 jobs of at least 3; show more with --limit."),
        (Page(2, "at_least"), "2 jobs, and there may be more; show more with --limit."),
        (Page(0, "estimate"), "2 jobs, and there may be more; show more with --limit."),
        (Page(2, cursor=""), ""),
        (Page(9, "at_least", cursor=""), ""),
    ],
)
def test_the_rest_of_a_list_is_as_sure_as_its_total(page: Page, rest: str) -> None:
    """Nothing is said where nothing is left."""
    assert more_text("job", 2, [page]) == rest


@pytest.mark.parametrize(
    ("pages", "total"),
    [
        ([Page(45)], (45, "exact")),
        ([Page(45, "estimate"), Page(45, "estimate")], (45, "estimate")),
        ([Page(3, "at_least"), Page(3, "at_least")], (5, "at_least")),
        ([Page(3, "estimate"), Page(3, "estimate")], (5, "estimate")),
        ([Page(3, "exact"), Page(3, "exact")], (5, "at_least")),
        ([Page(3, "at_least"), Page(2, "at_least", cursor="")], (5, "exact")),
    ],
)
def test_the_total_for_scripts_counts_the_pages_that_were_read(
    pages: list[Page], total: tuple[int, str]
) -> None:
    """Who read the last page knows it; a total below what was read is out of date."""
    number, kind = total
    is_exact = kind == "exact"
    members = {"total": number, "total_is": kind, "total_is_exact": is_exact}
    assert total_members(5, pages) == members
