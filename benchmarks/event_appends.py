"""Simulates how readers of the stream append to the event log, which takes one chunk at a time.

Each reader takes a batch of records, up to as many as came within the window of a second. A process
puts them behind the last chunk. Where another process was faster, AWS refuses the put, and bills
it; then the process looks for the last chunk, and puts again. The process that ended last is used
first, as Lambda does. AWS's times are those of ``benchmarks.latency_figures``.
``benchmarks.log_readers`` counts the same with the code of the log itself.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Final

from benchmarks.latency_figures import FIGURES, Figure
from ojs_aws.adapters.dynamodb.events.log import WARY
from ojs_aws.topology import STREAM_BATCH

BATCH: Final = STREAM_BATCH
WINDOW_S: Final = 1.0
INVOKED_S: Final = 0.09
RECORD_S: Final = 0.0006
"""What the stream's consumer takes for a batch beside the append, and for each of its records:
assumed, from 0.2 ms of one processor that a record takes, with 512 MB."""

BEFORE: Final = 0.2
"""The part of that time that comes before the append: the log is first, then the bus."""

SPREAD: Final = 0.1
"""By how much more or less than others a part of the stream gets: shards are never alike."""

SECONDS: Final = 60.0
SEED: Final = 1
MILLISECONDS: Final = 1000


@dataclass(frozen=True, slots=True)
class Way:
    """Says how the readers append.

    :ivar batch: records of an invocation at most.
    :ivar reads_end: whether a process that met another one reads the end before its next put.
    :ivar write: how long AWS takes for a put.
    """

    batch: int = BATCH
    reads_end: bool = True
    write: Figure = FIGURES["write"]

    def took_s(self, part: str, chance: random.Random) -> float:
        """Return how long one call takes this time."""
        figure = self.write if part == "write" else FIGURES[part]
        return figure.sample(chance) / MILLISECONDS


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
class _Process:
    """Remembers the last chunk that a process wrote, and its next appends that read the end."""

    tail: int = -1
    wary: int = 0


@dataclass(slots=True)
class _Log:
    """Holds what all readers share.

    :ivar end: the number of the last chunk.
    :ivar refused: puts.
    :ivar idle: the processes that are not in use; the latest one last.
    """

    end: int = 0
    refused: int = 0
    idle: list[_Process] = field(default_factory=list)


def batch_s(records: float) -> float:
    """Return what an invocation takes beside the append."""
    return INVOKED_S + RECORD_S * records


@dataclass(slots=True)
class Batches:
    """Says when a reader of one part of the stream has its next batch.

    :ivar rate: records of that part in a second.
    :ivar taken: until when all records have been taken.
    """

    rate: float
    batch: int
    taken: float

    def next(self, now: float) -> tuple[float, float]:
        """Return when a batch begins that is asked for now, and how many records it has."""
        full = self.taken + self.batch / self.rate
        begin = max(now, min(full, self.taken + WINDOW_S))
        records = min(float(self.batch), (begin - self.taken) * self.rate)
        self.taken = min(begin, full)
        return begin, records


def parts(records: float, readers: int, batch: int, chance: random.Random) -> list[Batches]:
    """Return the batches of each reader, which share the records of a second."""
    shares = [1 + SPREAD * (2 * chance.random() - 1) for _ in range(readers)]
    each = records / sum(shares)
    return [Batches(each * share, batch, chance.random() * WINDOW_S) for share in shares]


@dataclass(slots=True)
class _Reader:
    """Reads one part of the stream: a batch, an append, the next batch."""

    batches: Batches
    log: _Log
    chance: random.Random
    way: Way

    def run(self) -> Iterator[float]:
        """Yield the instants at which AWS does what this reader asks for."""
        log, now = self.log, self.batches.taken
        while True:
            now, records = self.batches.next(now)
            yield now
            process = log.idle.pop() if log.idle else _Process()
            now = yield from self._append(process, now + batch_s(records) * BEFORE)
            now += batch_s(records) * (1 - BEFORE)
            yield now
            log.idle.append(process)

    def _append(self, process: _Process, now: float) -> Generator[float, None, float]:
        """Put a chunk at the end; return when that is done."""
        log, known = self.log, process.tail
        tail = -1 if process.wary > 0 and self.way.reads_end else known
        process.wary -= 1
        is_refused = False
        while True:
            if tail >= 0:
                took = self.way.took_s("write", self.chance)
                yield now + took / 2
                now += took
                if log.end == tail:
                    break
                log.refused += 1
                is_refused = True
            took = self.way.took_s("read", self.chance)
            yield now + took / 2
            now += took
            tail = log.end
        if is_refused or tail != known >= 0:
            process.wary = WARY
        log.end = process.tail = tail + 1
        return now


def simulate(
    records: float,
    readers: int,
    seconds: float = SECONDS,
    seed: int = SEED,
    way: Way | None = None,
) -> Appends:
    """Let readers append what comes evenly, and return what it took.

    :param records: in a second, of all readers.
    :param readers: invocations at a time: shards, by the parallelization factor.
    """
    chance, log, how = random.Random(seed), _Log(), way or Way()
    each = [
        _Reader(batches, log, chance, how) for batches in parts(records, readers, how.batch, chance)
    ]
    runs = [reader.run() for reader in each]
    due = [(next(run), number) for number, run in enumerate(runs)]
    heapq.heapify(due)
    while due[0][0] < seconds:
        _, number = due[0]
        heapq.heapreplace(due, (next(runs[number]), number))
    behind = max(seconds - reader.batches.taken for reader in each)
    return Appends(log.end / seconds, log.refused / max(log.end, 1), max(0.0, behind - WINDOW_S))
