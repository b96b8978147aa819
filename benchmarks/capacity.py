"""What 1,000 and 100,000 jobs a second need of AWS, and where it ends: a model on paper.

    python -m benchmarks.capacity [--rate 1000 --rate 100000] [--job-ms 200] [--size 600]

What a job writes, and to which partitions, is counted (``benchmarks.hot_keys``); quotas are those
that AWS grants by default in us-east-1, with their date; what each assumes of a job is an argument.
The table says of each quota whether it is enough, has to be raised, or cannot be.
"""

from __future__ import annotations

import argparse
import logging
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rich.console import Console

from benchmarks.hot_keys import Writes, observe
from benchmarks.results import show_table
from ojs_aws.local.aws import REGION
from ojs_aws.pricing import MONTH_S, PRICED_ON, Workload, estimate

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
"""Requests a second that one execution of a function answers at most, however short they are: so a
function URL has ten times as many a second as it has executions. The gateway's functions, too."""
TRIGGER_AT_ONCE: Final = 1_250
"""Invocations at once of one SQS trigger."""
IN_FLIGHT: Final = 120_000
"""Messages received and not deleted, of one standard queue."""
API_REQUESTS: Final = 10_000
"""Requests a second to HTTP APIs of an account and region; the job endpoint has none before it."""
BUS_EVENTS: Final = 10_000
"""Events a second to EventBridge in us-east-1."""

HEADROOM: Final = 0.7
"""The part of a limit that is planned with: load is not even."""
REQUESTS: Final = 3
"""Of an HTTP worker's job to the job endpoint: PUSH, FETCH and ACK."""
API_S: Final = 0.03
BATCH_S: Final = 0.09
"""What a request takes, and one for ten jobs."""
STREAM_BATCH: Final = 100
STREAM_S: Final = 0.15
"""What the consumer takes for a batch of records, log and bus among it."""
SHARD_READERS: Final = 10
"""The largest parallelization factor of a stream's trigger."""
APPENDS: Final = 100
"""Appends a second to the event log: each waits for the one before, some 10 ms."""
CLAIM_S: Final = 0.02
"""For how long FETCH holds a message."""
WORKER_BATCH: Final = 10
TICK_S: Final = 60
QUERY_S: Final = 0.01
TICK_THREADS: Final = 8
SERVERS: Final = (50.0, 200.0, 1_000.0)
"""Dollars a month: one small machine with its cache; two of them in two zones; a small cluster."""
BISECTIONS: Final = 60
KILOBYTE: Final = 1024
GB: Final = 1e9


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


def busiest(writes: Writes) -> float:
    """Write units of a job in the busiest partition that its queue has in the index."""
    return max(units / writes.jobs for units in writes.index.values())


def queue_rate(writes: Writes) -> float:
    """Jobs a second that one queue can pass: its ready list is one partition of the index."""
    return PARTITION_WRITES / busiest(writes)


def log_rate(writes: Writes) -> float:
    """Jobs a second that the event log can publish: one partition, and one append at a time."""
    by_units = PARTITION_WRITES / writes.per_job("events")
    by_appends = APPENDS * STREAM_BATCH / (writes.consumed / writes.jobs)
    return min(by_units, by_appends)


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
    rate, queues = load.rate, queues_for(load, writes)
    each = rate / queues
    table = sum(writes.table.values()) / writes.jobs * rate
    index = sum(writes.index.values()) / writes.jobs * rate
    stored = rate * load.retention_days * 86_400 * (load.size_bytes + 400) / GB
    partitions = max(math.ceil(table / PARTITION_WRITES), math.ceil(stored / PARTITION_GB))
    records = writes.consumed / writes.jobs * rate
    readers = math.ceil(records / STREAM_BATCH * STREAM_S)
    worked = rate * (load.job_s + CLAIM_S)
    yield Need("one queue's ready list", each * busiest(writes), PARTITION_WRITES, "writes/s", True)
    yield Need(
        "event log: one partition, one append at a time",
        rate,
        log_rate(writes),
        "jobs/s",
        True,
        f"{deployments_for(load, writes)} deployments",
    )
    yield Need("table, written", table, TABLE_WRITES, "writes/s", False, "table quota")
    yield Need("index, written", index, TABLE_WRITES, "writes/s", False, "table quota")
    yield Need(
        "a table made today", table, FRESH_WRITES, "writes/s", False, "buy warm throughput first"
    )
    yield Need(
        "stream: readers of all shards", readers, partitions * SHARD_READERS, "at once", True
    )
    yield Need(
        "Lambda: stream",
        readers,
        LAMBDA_AT_ONCE,
        "at once",
        False,
        "concurrency",
    )
    yield Need(
        "job endpoint, HTTP workers one by one",
        executions(rate * REQUESTS, API_S),
        LAMBDA_AT_ONCE,
        "at once",
        False,
        "concurrency, or batches of ten",
    )
    yield Need(
        "job endpoint, HTTP workers in batches of ten",
        executions(rate * REQUESTS / WORKER_BATCH, BATCH_S),
        LAMBDA_AT_ONCE,
        "at once",
        False,
        "concurrency",
    )
    yield Need(
        "job endpoint, Lambda workers: pushes one by one",
        executions(rate, API_S),
        LAMBDA_AT_ONCE,
        "at once",
        False,
        "concurrency, or batches of ten",
    )
    yield Need(
        "Lambda: workers, ten jobs at a time",
        worked / WORKER_BATCH,
        LAMBDA_AT_ONCE,
        "at once",
        False,
        "concurrency",
    )
    yield Need(
        "one queue's trigger", worked / queues / WORKER_BATCH, TRIGGER_AT_ONCE, "at once", True
    )
    yield Need(
        "SQS in flight, HTTP workers", each * CLAIM_S, IN_FLIGHT, "messages of a queue", True
    )
    yield Need(
        "SQS in flight, Lambda workers",
        each * (load.job_s + CLAIM_S),
        IN_FLIGHT,
        "messages of a queue",
        True,
        "more queues",
    )
    yield Need(
        "API Gateway instead, one by one",
        rate * REQUESTS,
        API_REQUESTS,
        "requests/s",
        False,
        "request quota",
    )
    yield Need(
        "API Gateway instead, in batches of ten",
        rate * REQUESTS / WORKER_BATCH,
        API_REQUESTS,
        "requests/s",
        False,
        "request quota",
    )
    yield Need("event bus", rate, BUS_EVENTS, "events/s", False, "PutEvents quota")
    yield Need(
        "a tick over all queues", queues * 2 * QUERY_S / TICK_THREADS, TICK_S, "seconds", True
    )


def dollars(load: Load, *, http: bool) -> float:
    """Return the dollars of a month at this rate, all day."""
    workload = Workload(
        jobs=load.rate * MONTH_S,
        size_bytes=load.size_bytes,
        uses_http_workers=http,
        job_ms=0 if http else load.job_s * 1000 / WORKER_BATCH,
        retention_days=load.retention_days,
    )
    return sum(line.dollars for line in estimate(workload))


def break_even(server: float, load: Load, *, http: bool) -> float:
    """Jobs a month for which this costs what a server costs; 0 where that is never so.

    :param server: dollars a month of what is always on: machines, database, load balancer.
    """
    low, high = 0.0, 1.0
    while dollars(replace(load, rate=high), http=http) < server:
        high *= 2
    for _ in range(BISECTIONS):  # the price of a job falls with the rate, so there is no formula
        middle = (low + high) / 2
        is_cheaper = dollars(replace(load, rate=middle), http=http) < server
        low, high = (middle, high) if is_cheaper else (low, middle)
    return low * MONTH_S


def show(loads: Sequence[Load], writes: Writes, console: Console) -> None:
    """Print both tables."""
    counted = [(key, f"{writes.per_job(key):g}") for key in writes.hot()]
    counted += [
        ("everything of the job itself", f"{writes.per_job('job'):g}"),
        ("records for the stream's consumer", f"{writes.consumed / writes.jobs:g}"),
    ]
    title = f"Write units of a job, counted over {writes.jobs} jobs"
    show_table("capacity-keys", title, ("partition", "per job"), counted, console)
    columns = ["what is needed", "there is"]
    for load in loads:
        columns += [f"at {load.rate:,.0f} jobs/s", "enough?"]
    rows = []
    for of_all in zip(*(needs(load, writes) for load in loads), strict=True):
        first = of_all[0]
        row = [f"{first.resource} ({first.unit})", _amount(first.limit)]
        for need in of_all:
            limit = "" if need.limit == first.limit else f" of {_amount(need.limit)}"
            row += [_amount(need.need) + limit, need.verdict]
        rows.append(row)
    for name, numbers in (
        ("queues to spread over", [queues_for(load, writes) for load in loads]),
        ("deployments to spread over", [deployments_for(load, writes) for load in loads]),
        ("$ a month, HTTP workers", [dollars(load, http=True) for load in loads]),
        ("$ a month, Lambda workers", [dollars(load, http=False) for load in loads]),
    ):
        rows.append([name, "", *(cell for each in numbers for cell in (_amount(each), ""))])
    show_table("capacity", f"Quotas of {QUOTAS_ON}, prices of {PRICED_ON}", columns, rows, console)
    console.print(
        f"One queue passes {queue_rate(writes):,.0f} jobs/s, one deployment "
        f"{log_rate(writes):,.0f}; planned with {HEADROOM:.0%} of either."
    )


def show_break_even(servers: Sequence[float], load: Load, console: Console) -> None:
    """Print where a server that is always on begins to be cheaper."""
    rows = []
    for server in servers:
        jobs = [break_even(server, load, http=http) for http in (True, False)]
        cells = [f"{each / 1e6:,.1f} million ({each / MONTH_S:,.1f}/s)" for each in jobs]
        rows.append((f"{server:,.0f}", *cells))
    columns = ("a server's $ a month", "jobs a month, HTTP workers", "jobs a month, Lambda workers")
    show_table(
        "break-even", f"Cheaper below so many jobs (prices of {PRICED_ON})", columns, rows, console
    )


def _amount(number: float) -> str:
    return f"{number:,.1f}" if number < 10 else f"{number:,.0f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, compute and print."""
    parser = argparse.ArgumentParser(description="Compute what so many jobs a second need.")
    parser.add_argument("--rate", type=float, action="append", help="jobs a second; repeatable")
    parser.add_argument("--job-ms", type=float, default=200.0, help="what a handler takes")
    parser.add_argument("--size", type=int, default=600, help="bytes of an envelope")
    parser.add_argument("--counted", type=int, default=200, help="jobs to count the writes of")
    parser.add_argument(
        "--server", type=float, action="append", help="$ a month of a server; repeatable"
    )
    given = parser.parse_args(arguments)
    os.environ.setdefault("AWS_DEFAULT_REGION", REGION)
    os.environ.setdefault("POWERTOOLS_LOG_LEVEL", "ERROR")
    os.environ.pop("AWS_ENDPOINT_URL", None)
    logging.disable(logging.INFO)
    loads = [
        Load(rate=rate, job_s=given.job_ms / 1000, size_bytes=given.size)
        for rate in given.rate or (1_000.0, 100_000.0)
    ]
    console = Console()
    show(loads, observe(given.counted), console)
    show_break_even(given.server or SERVERS, loads[0], console)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
