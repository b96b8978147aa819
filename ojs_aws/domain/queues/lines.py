"""Spreads the jobs of a wide queue over lines: each job has a shard, which it keeps for life.

The ready and the waiting list of a queue end where one partition of the index does. A wide queue
has several of both: line ``mail`` for shard 0, ``mail~3`` for shard 3. Order is strict in a line.
"""

from __future__ import annotations

import zlib
from typing import Final

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
