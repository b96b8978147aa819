"""Says how many entries of a list match a request, and how sure that number is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class TotalKind(StrEnum):
    """Names how sure a total is."""

    EXACT = "exact"
    ESTIMATE = "estimate"
    """From counters that follow the jobs within seconds; it may be above the truth, or below."""

    AT_LEAST = "at_least"
    """A lower bound."""


@dataclass(frozen=True, slots=True)
class ListTotal:
    """Holds the total of a list."""

    number: int
    kind: TotalKind = TotalKind.EXACT

    @property
    def is_exact(self) -> bool:
        """Return whether exactly so many match."""
        return self.kind is TotalKind.EXACT

    def or_counted(self, counted: ListTotal) -> ListTotal:
        """Return what was counted, where the page itself does not show the total.

        An index or a counter may be behind the page, which then knows better.
        """
        if self.is_exact or counted.number < self.number:
            is_estimate = counted.kind is TotalKind.ESTIMATE and not self.is_exact
            return ListTotal(self.number, counted.kind) if is_estimate else self
        return counted


def shown_total(
    shown: int,
    *,
    offset: int = 0,
    is_first: bool = True,
    has_more: bool = False,
    is_followed: bool = False,
) -> ListTotal:
    """Return what a page shows of the total: all of it, or a lower bound.

    :param shown: entries of the page.
    :param offset: entries that were left out before it.
    :param is_first: whether the page begins at the beginning of the list.
    :param has_more: whether there may be more behind it.
    :param is_followed: whether one more is known.
    """
    if is_first and not has_more and (shown or not offset):
        return ListTotal(offset + shown)
    # Behind the end of a list nobody knows how many of those that were left out there are.
    least = offset + shown if shown else 0
    return ListTotal(least + is_followed, TotalKind.AT_LEAST)
