"""Simulates how readers of the stream append to the event log, which takes one chunk at a time.

Each reader takes a batch of records, up to a hundred that came within the window of a second. A
process puts them behind the last chunk that it knows. Where another process was faster, AWS refuses
the put, and bills it; then the process looks for the last chunk, and puts again. The process that
ended last is used first, as Lambda does. AWS's times are those of ``benchmarks.latency_figures``.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from benchmarks.latency_figures import FIGURES

BATCH: Final = 100
WINDOW_S: Final = 1.0
BATCH_S: Final = 0.15
APPEND_S: Final = 0.018
"""What the stream's consumer takes for a batch: assumed. Of that for the append: a put that is
refused, as is usual, the read after it, and the put."""

BEFORE: Final = 0.2
"""The part of the other time that comes before the append: the log is first, then the bus."""

SECONDS: Final = 60.0
SEED: Final = 1
MILLISECONDS: Final = 1000


@dataclass(frozen=True, slots=True)
class Appends:
    """Says what a simulation found.

    :ivar appends: chunks that were put, in a second.
    :ivar refused: puts that AWS refused, for each chunk.
    :ivar behind_s: for how long the oldest records had waited at the end, beyond the window.
    """

    appends: float
    refused: float
    behind_s: float


@dataclass(slots=True)
class _Log:
    """Holds what all readers share.

    :ivar end: the number of the last chunk.
    :ivar refused: puts.
    :ivar idle: the last chunk that each process knows that is not in use; the latest one last.
    """

    end: int = 0
    refused: int = 0
    idle: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Reader:
    """Reads one part of the stream: a batch, an append, the next batch.

    :ivar rate: records of that part in a second.
    :ivar taken: until when all records have been taken.
    """

    rate: float
    log: _Log
    chance: random.Random
    taken: float

    def run(self) -> Iterator[float]:
        """Yield the instants at which AWS does what this reader asks for."""
        log, now = self.log, self.taken
        while True:
            full = self.taken + BATCH / self.rate
            now = max(now, min(full, self.taken + WINDOW_S))
            self.taken = min(now, full)
            yield now
            tail = log.idle.pop() if log.idle else -1
            now += (BATCH_S - APPEND_S) * BEFORE
            while True:
                if tail >= 0:
                    took = self._took_s("write")
                    yield now + took / 2
                    now += took
                    if log.end == tail:
                        break
                    log.refused += 1
                took = self._took_s("read")
                yield now + took / 2
                now += took
                tail = log.end
            log.end = tail + 1
            now += (BATCH_S - APPEND_S) * (1 - BEFORE)
            yield now
            log.idle.append(tail + 1)

    def _took_s(self, part: str) -> float:
        return FIGURES[part].sample(self.chance) / MILLISECONDS


def simulate(records: float, readers: int, seconds: float = SECONDS, seed: int = SEED) -> Appends:
    """Let readers append what comes evenly, and return what it took.

    :param records: in a second, of all readers.
    :param readers: invocations at a time: shards, by the parallelization factor.
    """
    chance, log = random.Random(seed), _Log()
    each = [
        _Reader(records / readers, log, chance, taken=chance.random() * WINDOW_S)
        for _ in range(readers)
    ]
    runs = [reader.run() for reader in each]
    due = [(next(run), number) for number, run in enumerate(runs)]
    heapq.heapify(due)
    while due[0][0] < seconds:
        _, number = due[0]
        heapq.heapreplace(due, (next(runs[number]), number))
    behind = max(seconds - reader.taken for reader in each)
    return Appends(log.end / seconds, log.refused / max(log.end, 1), max(0.0, behind - WINDOW_S))
