"""Calls a function for each of many items, as the composition root decides: in order or at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
