"""Orders the ready jobs of a queue: the sort key of their list, and what it says."""

from __future__ import annotations

from typing import Final

from ojs_aws.domain.timestamps import Instant

READY_BASE: Final = 100
"""The highest priority, which sorts as 000."""

LIMIT_MARK: Final = "~"
"""Stands between a job's place in line and the key of its limit, and between that and its tenant.

Neither a key nor a tenant's id contains it.
"""


def ready_place(priority: int, order: int) -> str:
    """Return a place in the ready list: by priority (higher first), then order in microseconds."""
    return f"{READY_BASE - priority:03d}#{order:016d}"


def ready_key(place: str, limit_key: str = "", tenant: str = "") -> str:
    """Return a sort key of the ready list: a place, and behind it what FETCH looks at unread.

    A job with neither a limit nor a tenant has its place alone.
    """
    if tenant:
        return f"{place}{LIMIT_MARK}{limit_key}{LIMIT_MARK}{tenant}"
    return f"{place}{LIMIT_MARK}{limit_key}" if limit_key else place


def limit_of(ready_key: str) -> str:
    """Return the key of the limit that a sort key names, or an empty text."""
    return ready_key.partition(LIMIT_MARK)[2].partition(LIMIT_MARK)[0]


def tenant_in(ready_key: str) -> str:
    """Return the tenant that a sort key names, or an empty text."""
    return ready_key.partition(LIMIT_MARK)[2].partition(LIMIT_MARK)[2]


def ready_since(ready_key: str) -> Instant:
    """Return when a job with this place became available; 0 for no place."""
    order = ready_key.partition("#")[2].partition(LIMIT_MARK)[0]
    return Instant(int(order) // 1000 if order else 0)


def after_priority(ready_key: str) -> str:
    """Return the place behind all jobs of a priority and before those of lower ones."""
    return ready_key.partition("#")[0] + "$"
