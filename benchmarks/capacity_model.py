"""Computes what so many jobs a second need of AWS, and where a queue and a deployment end.

What a job writes, and to which partitions, is counted (``benchmarks.hot_keys``). How the stream's
readers get into each other's way is simulated (``benchmarks.event_appends``). Quotas are those that
AWS grants by default in us-east-1, with their date. Each assumption has its name here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from benchmarks.event_appends import BATCH, Appends, batch_s, simulate
from benchmarks.hot_keys import BEAT_MS, Life, Writes
from ojs_aws.domain.jobs.ready_keys import shard_of
from ojs_aws.pricing import NEW_TABLE_PARTITIONS

QUOTAS_ON: Final = "2026-11"
PARTITION_WRITES: Final = 1_000
"""Write units a second of one DynamoDB partition; cannot be raised."""
TABLE_WRITES: Final = 40_000
"""Write units a second of a table, the index beside it the same; can be raised."""
FRESH_WRITES: Final = 4_000
"""What a new table takes before it has grown; warm throughput can be bought ahead."""
PARTITION_GB: Final = 10
LAMBDA_AT_ONCE: Final = 1_000
EXECUTION_REQUESTS: Final = 10
"""Requests a second that one execution of a function answers at most, however short they are: so
functions have ten times as many a second as they have executions. The job endpoint's, too."""
TRIGGER_AT_ONCE: Final = 1_250
"""Invocations at once of one SQS trigger; in provisioned mode ten for each of 2,000 pollers."""
IN_FLIGHT: Final = 120_000
"""Messages received and not deleted, of one standard queue."""
API_REQUESTS: Final = 10_000
"""Requests a second to HTTP APIs of an account and region; the job endpoint has no such quota."""
BUS_EVENTS: Final = 10_000
"""Events a second to EventBridge in us-east-1."""

HEADROOM: Final = 0.7
"""The part of a limit that is planned with: load is not even."""
REQUESTS: Final = 3
"""Of an HTTP worker's job: PUSH, FETCH and ACK."""
API_S: Final = 0.03
TEN_S: Final = 0.09
"""What a request takes, and one for ten jobs."""
READERS: Final = 1
MOST_READERS: Final = 10
"""Invocations at a time for each shard of the stream: the parallelization factor of the trigger, by
default and at most."""
BEHIND_S: Final = 5.0
"""Events that wait longer than this, and for longer the longer the load lasts, come too late."""
CLAIM_S: Final = 0.02
"""For how long FETCH holds a message."""
WORKER_BATCH: Final = 10
TICK_S: Final = 60
QUERY_S: Final = 0.01
TICK_THREADS: Final = 8
RECORD_S: Final = batch_s(BATCH) / BATCH
"""What a record takes of a reader of the stream that has full batches."""
LARGE_CHUNK: Final = 30
"""Write units of a full chunk of events with the longest names that are usual."""
MOST_LOGGED: Final = 20_000
MOST_RECORDS: Final = 100_000
BISECTIONS: Final = 12
GB: Final = 1e9
DAY_S: Final = 86_400
ITEM_BYTES: Final = 400
"""Bytes of a job in the table beside its envelope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What has to be done.

    :ivar rate: jobs a second, all day.
    :ivar job_s: what a handler takes, in seconds.
    :ivar size_bytes: of an envelope's JSON.
    """

    rate: float
    job_s: float = 0.2
    size_bytes: int = 600
    retention_days: float = 7.0


@dataclass(frozen=True, slots=True)
class Need:
    """One resource.

    :ivar need: how much of it, in ``unit``.
    :ivar limit: what there is by default.
    :ivar is_hard: AWS does not raise it.
    :ivar remedy: what to do beyond it.
    """

    resource: str
    need: float
    limit: float
    unit: str
    is_hard: bool = False
    remedy: str = ""

    @property
    def verdict(self) -> str:
        """Whether it is enough."""
        if self.need <= self.limit * HEADROOM:
            return "fits"
        return f"BEYOND: {self.remedy}" if self.is_hard else f"raise: {self.remedy}"


LIVES: Final[Mapping[str, Life]] = {
    "at once": Life(),
    "scheduled": Life(is_scheduled=True),
    "with one failed attempt": Life(failures=1),
    "with two failed attempts": Life(failures=2),
}
"""Jobs whose writes are counted, by how they come to their end."""

BEATS: Final = 4


def busiest(writes: Writes) -> float:
    """Write units of a job in the busiest partition that its queue has in the index."""
    return max(units / writes.jobs for units in writes.index.values())


def queue_rate(writes: Writes, *, is_shared: bool = False) -> float:
    """Jobs a second that one queue can pass: each of its lists is one partition of the index.

    :param is_shared: the lists share a partition, as they may in a small table.
    """
    units = sum(writes.index.values()) / writes.jobs if is_shared else busiest(writes)
    return PARTITION_WRITES / units


MIX: Final[Mapping[str, float]] = {
    "at once": 0.7,
    "scheduled": 0.2,
    "with one failed attempt": 0.1,
}
"""Jobs of a busy queue by how they come to their end; each has a heartbeat."""

IDS: Final = 50_000


def fullest_line(lines: int) -> float:
    """The part of all jobs that stands in the line with most of them, by the hash of their ids."""
    ids = (
        f"01990000-0000-7000-8000-{number * 2_654_435_761 % 2**48:012x}" for number in range(IDS)
    )
    return max(Counter(shard_of(job_id, lines) for job_id in ids).values()) / IDS


def mixed(lives: Mapping[str, Writes], beating: Writes) -> float:
    """Write units of a job of the mix in the busiest list of its line."""
    units = {
        name: sum(share * lives[life].per_job(f"default|{name}") for life, share in MIX.items())
        for name in ("ready", "waiting")
    }
    beat = (busiest(beating) - busiest(lives["at once"])) / BEATS
    return max(units["ready"], units["waiting"] + beat)


def running(beating: Writes, ordinary: Writes) -> float:
    """Jobs of one queue that can run at a time while their workers beat as often as they must.

    :param beating: what jobs with ``BEATS`` heartbeats each wrote, and ``ordinary`` without.
    """
    each = (busiest(beating) - busiest(ordinary)) / BEATS
    return PARTITION_WRITES / each * BEAT_MS / 1000


def records_of(writes: Writes) -> float:
    """Records of a job for the stream's consumer."""
    return writes.consumed / writes.jobs


def published_rate(writes: Writes, shards: int, factor: int = READERS) -> float:
    """Jobs a second whose events are published as fast as they come."""
    return simulate(MOST_RECORDS, shards * factor).appends * BATCH / records_of(writes)


def appends(rate: float, writes: Writes) -> Appends:
    """What appending the events of so many jobs a second takes, with the readers that it needs."""
    records = rate * records_of(writes)
    readers = math.ceil(records * RECORD_S / HEADROOM)
    return simulate(records, max(NEW_TABLE_PARTITIONS, readers))


def chunk_units(writes: Writes) -> float:
    """Write units of a full chunk of the event log, as counted."""
    return round(writes.per_job("events") / records_of(writes) * BATCH)


def log_units(rate: float, writes: Writes, chunk: float) -> float:
    """Write units a second of the event log's partition, refused puts among them.

    A put that is refused is billed by what is there, which is another full chunk.
    """
    found = appends(rate, writes)
    return found.appends * (1 + found.refused) * chunk


@cache
def _log_rate(records: float, chunk: float) -> float:
    low, high = 0.0, float(MOST_LOGGED)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        readers = max(NEW_TABLE_PARTITIONS, math.ceil(middle * records * RECORD_S / HEADROOM))
        found = simulate(middle * records, readers)
        units = found.appends * (1 + found.refused) * chunk
        is_enough = units <= PARTITION_WRITES and found.behind_s < BEHIND_S
        low, high = (middle, high) if is_enough else (low, middle)
    return low


def log_rate(writes: Writes, chunk: float | None = None) -> float:
    """Jobs a second that the event log can publish: one partition, and one append at a time.

    :param chunk: write units of a full chunk; None: as counted.
    """
    return _log_rate(records_of(writes), chunk or chunk_units(writes))


def queues_for(load: Load, writes: Writes) -> int:
    """Queues over which the jobs must be spread."""
    return math.ceil(load.rate / (queue_rate(writes) * HEADROOM))


def deployments_for(load: Load, writes: Writes) -> int:
    """Deployments over which they must be spread: each has its own event log."""
    return math.ceil(load.rate / (log_rate(writes) * HEADROOM))


def executions(requests: float, seconds: float) -> float:
    """Return how many executions at once so many requests a second need of a function.

    :param seconds: that each takes.
    """
    return max(requests * seconds, requests / EXECUTION_REQUESTS)


def needs(load: Load, writes: Writes) -> Iterator[Need]:
    """Everything that can be too little, for one deployment in one account."""
    yield from _of_the_table(load, writes)
    yield from _of_the_functions(load, writes)
    yield from _of_messages(load, writes)
    queues = queues_for(load, writes)
    yield Need("event bus", load.rate, BUS_EVENTS, "events/s", remedy="PutEvents quota")
    ticks = queues * 2 * QUERY_S / TICK_THREADS
    yield Need("a tick over all queues", ticks, TICK_S, "seconds", is_hard=True)


def partitions_of(load: Load, writes: Writes) -> int:
    """Return the partitions of a table that has had this load for as long as jobs are kept."""
    table = sum(writes.table.values()) / writes.jobs * load.rate / PARTITION_WRITES
    stored = load.rate * load.retention_days * DAY_S * (load.size_bytes + ITEM_BYTES) / GB
    return max(NEW_TABLE_PARTITIONS, math.ceil(table), math.ceil(stored / PARTITION_GB))


def _of_the_table(load: Load, writes: Writes) -> Iterator[Need]:
    rate, each = load.rate, load.rate / queues_for(load, writes)
    table, index = (sum(of.values()) / writes.jobs * rate for of in (writes.table, writes.index))
    readers = math.ceil(records_of(writes) * rate * RECORD_S)
    shares, units = f"{deployments_for(load, writes)} deployments", "writes/s"
    lists = each * busiest(writes)
    yield Need("one list of a queue", lists, PARTITION_WRITES, units, is_hard=True)
    yield Need("event log", rate, log_rate(writes), "jobs/s", is_hard=True, remedy=shares)
    yield Need("table, written", table, TABLE_WRITES, units, remedy="table quota")
    yield Need("index, written", index, TABLE_WRITES, units, remedy="table quota")
    warm = "buy warm throughput first"
    yield Need("index of a table made today", index, FRESH_WRITES, units, remedy=warm)
    for name, shards in (
        ("stream of a table made today: readers", NEW_TABLE_PARTITIONS),
        ("stream after a week: readers", partitions_of(load, writes)),
    ):
        factor = math.ceil(readers / HEADROOM / shards)
        more = f"parallelization factor {factor}" if factor <= MOST_READERS else warm
        yield Need(name, readers, shards * READERS, "at once", remedy=more)
    yield Need("Lambda: stream", readers, LAMBDA_AT_ONCE, "at once", remedy="concurrency")


def _of_the_functions(load: Load, writes: Writes) -> Iterator[Need]:
    rate = load.rate
    one_by_one, in_tens = rate * REQUESTS, rate * REQUESTS / WORKER_BATCH
    worked = rate * (load.job_s + CLAIM_S) / WORKER_BATCH
    most, unit, more = LAMBDA_AT_ONCE, "at once", "concurrency, or batches of ten"
    found = executions(one_by_one, API_S)
    yield Need("API's functions, HTTP workers one by one", found, most, unit, remedy=more)
    found = executions(in_tens, TEN_S)
    yield Need("API's functions, HTTP workers in tens", found, most, unit, remedy="concurrency")
    found = executions(rate, API_S)
    yield Need("API's functions, pushes for Lambda workers", found, most, unit, remedy=more)
    yield Need("Lambda workers, ten jobs at a time", worked, most, unit, remedy="concurrency")
    trigger = worked / queues_for(load, writes)
    more = "provisioned mode"
    yield Need("one queue's trigger", trigger, TRIGGER_AT_ONCE, unit, remedy=more)
    for name, requests in (("one by one", one_by_one), ("in tens", in_tens)):
        more = "request quota, or the job endpoint"
        yield Need(f"API Gateway, {name}", requests, API_REQUESTS, "requests/s", remedy=more)


def _of_messages(load: Load, writes: Writes) -> Iterator[Need]:
    each = load.rate / queues_for(load, writes)
    for name, seconds in (("HTTP", CLAIM_S), ("Lambda", load.job_s + CLAIM_S)):
        yield Need(
            f"SQS in flight, {name} workers",
            each * seconds,
            IN_FLIGHT,
            "messages of a queue",
            is_hard=True,
            remedy="more queues",
        )
