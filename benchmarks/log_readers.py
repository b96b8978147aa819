"""Counts refused puts of the event log's own code, and compares ways to append.

    python -m benchmarks.log_readers [--rate 3000 --readers 16 --put-ms 10] [--docs]

The table has sizes of batches, and whether a process that met another one reads the end before its
next put. Its last row runs the log's own code, on the times of ``benchmarks.event_appends``: each
reader is a thread, and one runs at a time, the one whose time comes first. A call to the table in
memory takes effect in the middle of the time that it takes.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from rich.console import Console

from benchmarks.event_appends import (
    BATCH,
    BEFORE,
    MILLISECONDS,
    SEED,
    WINDOW_S,
    Appends,
    Batches,
    Way,
    batch_s,
    parts,
    simulate,
)
from benchmarks.latency_figures import FIGURES
from benchmarks.pages import PageTable
from benchmarks.results import show_table
from ojs_aws.adapters.dynamodb.events.log import EventLog
from ojs_aws.domain.events import Event
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant
from ojs_aws.local.aws import create_table
from ojs_aws.memory_aws import MemoryAws

EARLIER_BATCH: Final = 100
JOB_RECORDS: Final = 3
"""Changes of a job that begins at once and succeeds."""

RATE: Final = 3_000.0
READERS: Final = 16
PUT_MS: Final = 10.0

COUNTED_S: Final = 20.0
NAME: Final = "jobs"
RETENTION_S: Final = 86_400
BEGIN: Final = 1_760_000_000_000
CALLS: Final = {
    "put_item": "write",
    "query": "read",
    "get_item": "read",
    "transact_write_items": "transaction",
}
DATA: Final = RawJson(json.dumps({"job_type": "order.ship", "note": "x" * 140}))
"""With it an event is as long as those of ordinary jobs."""


class _EndedError(Exception):
    """The time of the simulation is over."""


@dataclass(slots=True)
class _Turns:
    """Lets one thread run at a time: the one whose time comes first."""

    seconds: float
    now: float = 0.0
    _due: list[tuple[float, int, threading.Event]] = field(default_factory=list)
    _numbers: Any = field(default_factory=itertools.count)

    def begin(self, at: float, run: Callable[[], None]) -> threading.Thread:
        """Return a thread that runs from an instant on, until the time is over."""
        turn = self._wanted(at)

        def in_turn() -> None:
            turn.wait()
            try:
                run()
            except _EndedError:
                self.pass_on()

        thread = threading.Thread(target=in_turn, daemon=True)
        thread.start()
        return thread

    def wait(self, until: float) -> None:
        """Let others run until an instant."""
        turn = self._wanted(until)
        self.pass_on()
        turn.wait()
        if self.now >= self.seconds:
            raise _EndedError

    def pass_on(self) -> None:
        """Let the next one run."""
        if self._due:
            self.now, _, turn = heapq.heappop(self._due)
            turn.set()

    def _wanted(self, at: float) -> threading.Event:
        turn = threading.Event()
        heapq.heappush(self._due, (at, next(self._numbers), turn))
        return turn


@dataclass(slots=True)
class _SlowTable:
    """Answers calls of the log as the table does, after the time that AWS takes."""

    client: Any
    turns: _Turns
    chance: random.Random
    way: Way

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.client, name)

        def slow(**request: Any) -> Any:
            took = self.way.took_s(CALLS[name], self.chance)
            self.turns.wait(self.turns.now + took / 2)
            try:
                return call(**request)
            finally:
                self.turns.wait(self.turns.now + took / 2)

        return slow


def count(
    records: float,
    readers: int,
    seconds: float = COUNTED_S,
    seed: int = SEED,
    way: Way | None = None,
) -> Appends:
    """Let readers append with the log's own code, and return what it took.

    :param records: in a second, of all readers.
    :param readers: invocations at a time.
    """
    chance, turns, how = random.Random(seed), _Turns(seconds), way or Way()
    aws = MemoryAws.at(lambda: BEGIN)
    create_table(aws.dynamodb, NAME)
    table, tokens = _SlowTable(aws.dynamodb, turns, chance, how), map(str, itertools.count())
    logs: list[EventLog] = []
    idle: list[EventLog] = []
    appended: list[int] = []

    def read(batches: Batches) -> None:
        while True:
            begin, size = batches.next(turns.now)
            turns.wait(begin)
            if not idle:
                client: Any = table
                logs.append(EventLog(client, NAME, RETENTION_S, lambda: next(tokens)))
                idle.append(logs[-1])
            log = idle.pop()
            turns.wait(turns.now + batch_s(size) * BEFORE)
            at = Instant(BEGIN + int(turns.now * MILLISECONDS))
            log.append([_event(number) for number in range(max(1, int(size)))], at)
            appended.append(1)
            turns.wait(turns.now + batch_s(size) * (1 - BEFORE))
            idle.append(log)

    shared = parts(records, readers, how.batch, chance)
    threads = [turns.begin(each.taken, partial(read, each)) for each in shared]
    turns.pass_on()
    for thread in threads:
        thread.join()
    behind = max(seconds - each.taken for each in shared)
    refused = sum(log.take_refused() for log in logs)
    chunks = len(appended)
    return Appends(chunks / seconds, refused / max(chunks, 1), max(0.0, behind - WINDOW_S))


def _event(number: int) -> Event:
    return Event(
        id=f"evt_0199cafe-0000-7000-8000-{number:012d}",
        type="job.completed",
        time=Instant(BEGIN),
        queue="default",
        subject=f"0199cafe-0000-7000-9000-{number:012d}",
        job_type="order.ship",
        data=DATA,
    )


def ways(put_ms: float) -> dict[str, Way]:
    """Return what the command compares; the last one is what is deployed."""
    write = FIGURES["write"]
    slow = replace(write, p50_ms=put_ms, p99_ms=put_ms * write.p99_ms / write.p50_ms)
    return {
        f"{EARLIER_BATCH} records, no read": Way(EARLIER_BATCH, reads_end=False, write=slow),
        f"{EARLIER_BATCH} records": Way(EARLIER_BATCH, write=slow),
        f"{BATCH} records, no read": Way(reads_end=False, write=slow),
        f"{BATCH} records": Way(write=slow),
    }


def table(rate: float = RATE, readers: int = READERS, put_ms: float = PUT_MS) -> PageTable:
    """Return what each way takes at a rate, the last one also counted with the log's own code."""
    found = {
        name: simulate(rate * JOB_RECORDS, readers, way=way) for name, way in ways(put_ms).items()
    }
    *_, (name, deployed) = ways(put_ms).items()
    found[f"{name}, counted"] = count(rate * JOB_RECORDS, readers, way=deployed)
    rows = [
        (name, f"{each.appends:.0f}", f"{each.refused:.2f}", "yes" if each.behind_s < 1 else "no")
        for name, each in found.items()
    ]
    return PageTable(
        "appends", ("batches of", "appends/s", "refused puts of each", "keeps up"), rows
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, count and print."""
    parser = argparse.ArgumentParser(description="Compare ways to append to the event log.")
    parser.add_argument("--rate", type=float, default=RATE, help="jobs a second")
    parser.add_argument("--readers", type=int, default=READERS, help="invocations at a time")
    parser.add_argument("--put-ms", type=float, default=PUT_MS, help="the median of a put")
    parser.add_argument("--docs", action="store_true", help="write the table of docs/capacity.md")
    given = parser.parse_args(arguments)
    made = table(given.rate, given.readers, given.put_ms)
    title = f"{given.rate:,.0f} jobs/s, {given.readers} readers, puts of {given.put_ms:g} ms"
    show_table("event-appends", title, made.columns, made.rows, Console())
    if given.docs:
        made.write()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
