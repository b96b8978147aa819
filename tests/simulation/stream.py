"""The table's stream: the changes of an item in their order, delivered at least once."""

from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ojs_aws.domain.job import JobRecord

SHARDS: Final = 2
BATCH: Final = 10
MAX_REWIND: Final = 5

Record = Mapping[str, Any]


@dataclass
class SimulatedStream:
    """Records by shard, and how far each shard has been read.

    :ivar busy: shards whose records are being worked on: a shard has one reader at a time.
    :ivar ends: the queues of jobs whose ends records report, by the numbers of these.
    """

    chance: Callable[[], random.Random]
    shards: list[list[Record]] = field(default_factory=lambda: [[] for _ in range(SHARDS)])
    read: list[int] = field(default_factory=lambda: [0] * SHARDS)
    busy: set[int] = field(default_factory=set)
    repeated: Counter[str] = field(default_factory=Counter)
    """How often the end of a job was reported again, by queue."""
    ends: dict[str, str] = field(default_factory=dict)
    _given: list[int] = field(default_factory=lambda: [0] * SHARDS)

    def write(self, record: Record, before: object, after: object) -> None:
        """A change of an item was committed."""
        partition = record["dynamodb"]["Keys"]["pk"]["S"]
        self.shards[zlib.crc32(partition.encode()) % SHARDS].append(record)
        is_there = isinstance(after, JobRecord) and not after.state.is_terminal
        if isinstance(before, JobRecord) and not before.state.is_terminal and not is_there:
            self.ends[_number(record)] = before.queue

    @property
    def is_read(self) -> bool:
        """Whether everything was delivered."""
        return all(at >= len(shard) for at, shard in zip(self.read, self.shards, strict=True))

    def pending(self) -> list[int]:
        """Shards that can be read from."""
        return [
            n for n in range(SHARDS) if n not in self.busy and self.read[n] < len(self.shards[n])
        ]

    def take(self, shard: int, rewinds: float) -> list[Record]:
        """The next records of a shard; some of those before come again, now and then."""
        chance = self.chance()
        if chance.random() < rewinds:
            self.read[shard] = max(0, self.read[shard] - chance.randint(1, MAX_REWIND))
        begin = self.read[shard]
        records = self.shards[shard][begin : begin + chance.randint(1, BATCH)]
        for record in records[: max(0, self._given[shard] - begin)]:
            if queue := self.ends.get(_number(record)):
                self.repeated[queue] += 1
        self._given[shard] = max(self._given[shard], begin + len(records))
        return records

    def unpublished_ends(self, queue: str) -> int:
        """Return how many ends of a queue's jobs were not reported yet, or not to the end."""
        return sum(
            self.ends.get(_number(record)) == queue
            for number, shard in enumerate(self.shards)
            for record in shard[self.read[number] :]
        )

    def done(self, shard: int, records: list[Record], failed: str | None) -> None:
        """A reader has answered: from where it wants the records again, if at all."""
        numbers = [_number(each) for each in records]
        self.read[shard] += len(records) if failed is None else numbers.index(failed)


def _number(record: Record) -> str:
    return str(record["dynamodb"]["SequenceNumber"])
