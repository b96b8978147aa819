"""Orders the ready jobs of a queue: the sort key of their list, and what it says."""

from __future__ import annotations

from typing import Final

from ojs_aws.domain.timestamps import Instant

READY_BASE: Final = 100
"""The highest priority, which sorts as 000."""

LIMIT_MARK: Final = "~"
"""Stands between a job's place in line and the key of its limit."""


def ready_place(priority: int, order: int) -> str:
    """Return a place in the ready list: by priority (higher first), then order in microseconds."""
    return f"{READY_BASE - priority:03d}#{order:016d}"


def ready_since(ready_key: str) -> Instant:
    """Return when a job with this place became available; 0 for no place."""
    order = ready_key.partition("#")[2].partition(LIMIT_MARK)[0]
    return Instant(int(order) // 1000 if order else 0)


def after_priority(ready_key: str) -> str:
    """Return the place behind all jobs of a priority and before those of lower ones."""
    return ready_key.partition("#")[0] + "$"
