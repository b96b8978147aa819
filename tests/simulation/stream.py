"""The table's stream: the changes of an item in their order, delivered at least once."""

from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ojs_aws.domain.job import JobRecord
from ojs_aws.testing.clock import FakeClock

SHARDS: Final = 2
BATCH: Final = 10
MAX_REWIND: Final = 5

Record = Mapping[str, Any]


def _has_ended(before: JobRecord, after: Any) -> bool:
    return not before.state.is_terminal and (after is None or after.state.is_terminal)


@dataclass
class SimulatedStream:
    """Records by shard, and how far each shard has been read.

    :ivar busy: shards whose records are being worked on: a shard has one reader at a time.
    """

    clock: FakeClock
    chance: Callable[[], random.Random]
    shards: list[list[Record]] = field(default_factory=lambda: [[] for _ in range(SHARDS)])
    read: list[int] = field(default_factory=lambda: [0] * SHARDS)
    busy: set[int] = field(default_factory=set)
    repeated: Counter[str] = field(default_factory=Counter)
    """How often the end of a job was reported again, by queue."""
    _count: int = 0
    _given: list[int] = field(default_factory=lambda: [0] * SHARDS)

    def write(self, key: str, before: Any, after: Any) -> None:
        """A change of an item was committed."""
        self._count += 1
        change = {
            "Keys": {"pk": key, "kind": type(after or before).__name__},
            "OldImage": before,
            "NewImage": after,
            "SequenceNumber": f"{self._count:012d}",
            "ApproximateCreationDateTime": self.clock.at / 1000,
        }
        record = {"dynamodb": change}
        self.shards[zlib.crc32(key.encode()) % SHARDS].append(record)

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
            before, after = (record["dynamodb"][name] for name in ("OldImage", "NewImage"))
            if isinstance(before, JobRecord) and _has_ended(before, after):
                self.repeated[before.queue] += 1
        self._given[shard] = max(self._given[shard], begin + len(records))
        return records

    def unpublished_ends(self, queue: str) -> int:
        """Return how many ends of a queue's jobs were not reported yet, or not to the end."""
        changes = [
            record["dynamodb"]
            for number, shard in enumerate(self.shards)
            for record in shard[self.read[number] :]
        ]
        return sum(
            isinstance(before := change["OldImage"], JobRecord)
            and before.queue == queue
            and _has_ended(before, change["NewImage"])
            for change in changes
        )

    def done(self, shard: int, records: list[Record], failed: str | None) -> None:
        """A reader has answered: from where it wants the records again, if at all."""
        numbers = [each["dynamodb"]["SequenceNumber"] for each in records]
        self.read[shard] += len(records) if failed is None else numbers.index(failed)
