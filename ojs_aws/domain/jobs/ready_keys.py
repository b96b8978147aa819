"""Orders the ready jobs of a queue: the sort key of their list, and what it says."""

from __future__ import annotations

from typing import Final

from ojs_aws.domain.timestamps import Instant

READY_BASE: Final = 100
"""The highest priority, which sorts as 000."""

LIMIT_MARK: Final = "~"
"""Separates a job's sort key, the key of its limit, and its tenant.

Neither a key nor a tenant's id contains it.
"""


def ready_sort_key(priority: int, order: int) -> str:
    """Return a sort key: by priority (higher first), then by order in microseconds."""
    return f"{READY_BASE - priority:03d}#{order:016d}"


def ready_key(sort_key: str, limit_key: str = "", tenant: str = "") -> str:
    """Return a key of the ready list: a sort key, then what FETCH reads off without the job.

    A job with neither a limit nor a tenant has its sort key alone.
    """
    if tenant:
        return f"{sort_key}{LIMIT_MARK}{limit_key}{LIMIT_MARK}{tenant}"
    return f"{sort_key}{LIMIT_MARK}{limit_key}" if limit_key else sort_key


def limit_of(ready_key: str) -> str:
    """Return the key of the limit that a sort key names, or an empty text."""
    return ready_key.partition(LIMIT_MARK)[2].partition(LIMIT_MARK)[0]


def tenant_in(ready_key: str) -> str:
    """Return the tenant that a sort key names, or an empty text."""
    return ready_key.partition(LIMIT_MARK)[2].partition(LIMIT_MARK)[2]


def ready_since(ready_key: str) -> Instant:
    """Return when a job with this sort key became available; 0 for no sort key."""
    order = ready_key.partition("#")[2].partition(LIMIT_MARK)[0]
    return Instant(int(order) // 1000 if order else 0)


def after_priority(ready_key: str) -> str:
    """Return a sort key behind all jobs of a priority and before those of lower ones."""
    return ready_key.partition("#")[0] + "$"
