"""Holds what a sweep did for large batches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RollForwardReport:
    """Counts batches whose processes seemed to have died.

    :ivar done: those whose jobs are all in their places now.
    :ivar failed: those that met an error; the next tick repeats it.
    :ivar lost: those that were given up, because something of their log is gone.
    """

    done: int = 0
    failed: int = 0
    lost: int = 0
