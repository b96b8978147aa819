"""Decides how many lines a queue needs for its load.

A job that begins moves twice through the waiting list of its line, one that is scheduled or
retried twice more; the ready list moves less often. So the waiting list is where a line ends.
"""

from __future__ import annotations

from typing import Final

LINE_PER_S: Final = 500
"""Jobs a second that a line takes, if they begin at once and succeed at their first attempt."""

MAX_LINES: Final = 64
"""The most lines of a queue."""

NEARLY_FULL: Final = 0.8
"""More lines are advised above this share of what they take."""

ROOM: Final = 0.6
"""An advised number of lines is used to this share at most."""

FAR_MORE: Final = 4
"""Fewer lines are advised to a queue that has at least so many times as many as it needs."""


def line_load(started: float, retried: float, scheduled: float) -> float:
    """Return how many jobs a second that begin at once fill the waiting lists as much.

    :param started: executions that begin in a second.
    :param retried: those of them that fail in a second, and wait for the next attempt.
    :param scheduled: jobs that are enqueued for later in a second.
    """
    return started + retried + scheduled


def lines_for(load: float) -> int:
    """Return how many lines a load needs: a power of two."""
    lines = 1
    while lines < MAX_LINES and load > ROOM * LINE_PER_S * lines:
        lines *= 2
    return lines


def more_lines(load: float, lines: int) -> int | None:
    """Return how many lines a queue should have if it is nearly full; None if it is not."""
    if load <= NEARLY_FULL * LINE_PER_S * lines:
        return None
    needed = lines_for(load)
    return needed if needed > lines else None


def fewer_lines(load: float, lines: int) -> int | None:
    """Return how many lines a queue needs if it has far more; None if it has not."""
    needed = lines_for(load)
    return needed if lines >= FAR_MORE * needed else None
