"""Calls side by side or in order, as the composition root decides; and items in groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Protocol, TypeVar

A = TypeVar("A")
B = TypeVar("B")


class Parallel(Protocol):
    """Runs calls, side by side if it can, and waits for all of them."""

    def both(self, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
        """Call both functions; the first error is raised after both have ended."""

    def each(self, call: Callable[[A], B], items: Sequence[A]) -> Iterable[B]:
        """Call a function for each item; return the answers in the order of the items."""


class InOrder:
    """Runs one call after the other: the simplest :class:`Parallel`."""

    def both(self, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
        """Call the first function, then the second."""
        return first(), second()

    def each(self, call: Callable[[A], B], items: Sequence[A]) -> Iterable[B]:
        """Call the function for one item after the other."""
        return [call(item) for item in items]


IN_ORDER: Final = InOrder()


def in_groups(
    items: Iterable[A], size_of: Callable[[A], int], max_size: int, max_count: int = 0
) -> Iterator[list[A]]:
    """Yield the items in order, in groups of at most a size; a larger item is a group alone.

    :param max_count: most items of a group; 0 for any number.
    """
    group: list[A] = []
    size = 0
    for item in items:
        length = size_of(item)
        if group and (len(group) == max_count or size + length > max_size):
            yield group
            group, size = [], 0
        group.append(item)
        size += length
    if group:
        yield group
