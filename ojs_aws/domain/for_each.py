"""Many items at once: a call for each of them, in order or side by side, and groups of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

A = TypeVar("A")
B = TypeVar("B")


class ForEach(Protocol):
    """Calls a function for each item, possibly several at a time, and waits for all."""

    def __call__(self, call: Callable[[A], B], items: Sequence[A]) -> Iterable[B]:
        """Return the answers, in the order of the items."""


def in_order(call: Callable[[A], B], items: Sequence[A]) -> Iterable[B]:
    """Call the function for one item after the other: the simplest :class:`ForEach`."""
    return [call(item) for item in items]


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
