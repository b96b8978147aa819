"""Limits which names have metrics of their own: CloudWatch bills each value of a dimension.

Producers make up job types and, where they may, queues. So a process names the first ones it meets
and counts the others together.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

MAX_NAMES: Final = 200
OTHER: Final = "other"


class MetricNames:
    """Gives the first names metrics of their own, and all later ones the name ``other``."""

    def __init__(self, always: Collection[str] = (), most: int = MAX_NAMES) -> None:
        """Start with no name.

        :param always: names that have metrics of their own in any case, beside the first ones.
        """
        self._always = frozenset(always)
        self._most = most
        self._first: set[str] = set()

    def name_of(self, name: str) -> str:
        """Return the name under which to count something."""
        if name in self._always or name in self._first:
            return name
        if len(self._first) >= self._most:
            return OTHER
        self._first.add(name)
        return name
