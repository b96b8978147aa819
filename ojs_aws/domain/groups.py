"""Groups what is written together, so that each group fits one item or one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def in_groups(
    items: Iterable[T], size_of: Callable[[T], int], max_size: int, max_count: int = 0
) -> Iterator[list[T]]:
    """Yield the items in order, in groups of at most a size; a larger item is a group alone.

    :param max_count: most items of a group; 0 for any number.
    """
    group: list[T] = []
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
