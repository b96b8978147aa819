"""Wakes the loops of the local server when moto has something for them: nothing polls."""

from __future__ import annotations

import threading
from typing import Final


class Signal:
    """Counts events, and lets a thread wait until there is one that it has not seen."""

    def __init__(self) -> None:
        """Start with no events."""
        self._changed = threading.Condition()
        self._count = 0

    @property
    def count(self) -> int:
        """Return how many events there have been."""
        return self._count

    def notify(self) -> None:
        """Count an event, and wake who waits."""
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    def wait(self, seen: int, timeout_s: float) -> None:
        """Return when there are other events than those seen, at the latest after the timeout.

        Whoever reads the count before looking, and waits after it, misses nothing.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._count != seen, timeout_s)


RECORDS: Final = Signal()
"""A table's stream in this process has a new record."""

MESSAGES: Final = Signal()
"""A queue in this process has a new message, or hides one of its messages until another time."""
