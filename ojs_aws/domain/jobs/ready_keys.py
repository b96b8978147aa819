"""Orders the ready jobs of a queue: the line of each job, and the sort key in its list.

The ready and the waiting list of a queue end where one partition of the index does. A wide queue
has several of both: line ``mail`` for shard 0, ``mail~3`` for shard 3. Each job has a shard,
which it keeps for life. Order is strict in a line.
"""

from __future__ import annotations

import zlib
from typing import Final

from ojs_aws.domain.timestamps import Instant

SHARD_MARK: Final = "~"
"""Separates queue and shard in the name of a line; no queue's name contains it."""


def line_of(queue: str, shard: int) -> str:
    """Return the name of a shard's line: the queue's own name for shard 0."""
    return f"{queue}{SHARD_MARK}{shard}" if shard else queue


def read_line(line: str) -> tuple[str, int]:
    """Return the queue and the shard of a line."""
    queue, _, shard = line.partition(SHARD_MARK)
    return queue, int(shard or 0)


def shard_of(name: str, shards: int) -> int:
    """Return the shard of a new job, by its id or by its sequence.

    :param shards: how many shards new jobs are spread over.
    """
    return zlib.crc32(name.encode()) % shards if shards > 1 else 0


READY_BASE: Final = 100
"""The highest priority, which sorts as 000."""

LIMIT_MARK: Final = "~"
"""Separates a job's sort key, the key of its limit, its tenant, and a fair job's real order.

Neither a key nor a tenant's id contains it.
"""

FAIR_DIGITS: Final = 19
"""Digits of a virtual start: nanoseconds, where other sort keys have 16 digits of microseconds."""


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


def fair_ready_key(priority: int, start: int, order: int, limit_key: str, tenant: str) -> str:
    """Return a key of the ready list for a job with a virtual start in nanoseconds.

    The 19 digits of nanoseconds and the 16 digits of microseconds sort together as text. The real
    order stands at the end: the virtual start says nothing about when the job became available.
    """
    named = LIMIT_MARK.join(("", limit_key, tenant, f"{order:016d}"))
    return f"{READY_BASE - priority:03d}#{start:019d}{named}"


def virtual_start(ready_key: str) -> int:
    """Return where a sort key stands in virtual time, in nanoseconds."""
    digits = ready_key.partition("#")[2].partition(LIMIT_MARK)[0]
    return int(digits) if is_fair(ready_key) else int(digits) * 1000


def is_fair(ready_key: str) -> bool:
    """Return True if a sort key is by virtual start."""
    return len(ready_key.partition("#")[2].partition(LIMIT_MARK)[0]) == FAIR_DIGITS


def begins_share(ready_key: str) -> bool:
    """Return whether a fair job is the first of a key that had none ahead of the head."""
    return is_fair(ready_key) and virtual_start(ready_key) % 2 == 1


def limit_of(ready_key: str) -> str:
    """Return the key of the limit that a sort key names, or an empty text."""
    return ready_key.partition(LIMIT_MARK)[2].partition(LIMIT_MARK)[0]


def tenant_in(ready_key: str) -> str:
    """Return the tenant that a sort key names, or an empty text."""
    return ready_key.partition(LIMIT_MARK)[2].partition(LIMIT_MARK)[2].partition(LIMIT_MARK)[0]


def ready_since(ready_key: str) -> Instant:
    """Return when a job with this sort key became available; 0 for no sort key."""
    if is_fair(ready_key):
        order = ready_key.rpartition(LIMIT_MARK)[2]
    else:
        order = ready_key.partition("#")[2].partition(LIMIT_MARK)[0]
    return Instant(int(order) // 1000 if order else 0)


def rank_of(ready_key: str) -> str:
    """Return the priority in a sort key, as text that sorts: higher ones first."""
    return ready_key.partition("#")[0]


def after_priority(ready_key: str) -> str:
    """Return a sort key behind all jobs of a priority and before those of lower ones."""
    return rank_of(ready_key) + "$"
