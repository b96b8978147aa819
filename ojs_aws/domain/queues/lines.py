"""Names the lines of a queue: the lists of each of its shards, as the index knows them.

Nothing calls this yet: every queue has one line, which has the queue's own name, because
``ordering_shards`` can only be 1.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

MAX_SHARDS: Final = 64

_BETWEEN: Final = "~"
"""Stands between a queue and a shard; a queue's name cannot have it."""

_PART: Final = "\0"
"""Stands between a tenant and the key of a sequence; a tenant cannot have it."""


def shard_of(job_id: str, shards: int, *, tenant: str = "", sequence: str = "") -> int:
    """Return the shard of a new job: by its id, or by its sequence, which has to be in one shard.

    :param shards: how many shards the queue has now. An older job keeps the shard it was given.
    """
    if shards <= 1:
        return 0
    text = f"{tenant}{_PART}{sequence}" if sequence else job_id
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) % shards


def line_of(queue: str, shard: int) -> str:
    """Return the name of a shard's line. That of shard 0 is the queue's, as if it had no shards."""
    return f"{queue}{_BETWEEN}{shard}" if shard else queue


def lines_of(queue: str, shards: int) -> tuple[str, ...]:
    """Return the names of all lines of a queue, that of shard 0 first."""
    return tuple(line_of(queue, shard) for shard in range(max(shards, 1)))


def read_line(line: str) -> tuple[str, int]:
    """Return the queue and the shard that a line belongs to."""
    queue, _, shard = line.partition(_BETWEEN)
    return queue, int(shard or 0)
