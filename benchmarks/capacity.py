"""What 1,000 and 100,000 jobs a second need of AWS, and where it ends: a model on paper.

    python -m benchmarks.capacity [--rate 1000 --rate 100000] [--job-ms 200] [--size 600] [--docs]

What a job writes, and to which partitions, is counted; ``benchmarks.capacity_model`` has the model.
The table says of each quota whether it is enough, has to be raised, or cannot be. With ``--docs``
the tables of the page about capacity are written again, without other options.
"""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rich.console import Console

from benchmarks.capacity_model import (
    BEATS,
    HEADROOM,
    LARGE_CHUNK,
    LIVES,
    PARTITION_WRITES,
    QUOTAS_ON,
    READERS,
    WORKER_BATCH,
    Load,
    appends,
    busiest,
    chunk_units,
    deployments_for,
    fullest_line,
    log_rate,
    log_units,
    mixed,
    needs,
    partitions_of,
    published_rate,
    queue_rate,
    queues_for,
    running,
)
from benchmarks.hot_keys import Life, Writes, observe
from benchmarks.one_item import KINDS, units_of
from benchmarks.pages import PageTable
from benchmarks.results import show_table
from ojs_aws.adapters.dynamodb.queues.totals import QUEUES
from ojs_aws.local.aws import REGION
from ojs_aws.pricing import MONTH_S, NEW_TABLE_PARTITIONS, PRICED_ON, Workload, estimate

JOBS: Final = 100
FEW_JOBS: Final = 20
"""Jobs whose writes are counted, and those of each other kind of life."""

RATES: Final = (1_000.0, 100_000.0)
LOGGED: Final = (500, 1_000, 1_500, 2_000, 2_500, 3_000)
LINES: Final = (1, 2, 4, 8, 16, 32, 64)
FACTORS: Final = (READERS, 2, 4)
SERVERS: Final = (50.0, 200.0, 1_000.0)
"""Dollars a month: one small machine with its cache; two of them in two zones; a small cluster."""

BISECTIONS: Final = 60
ONCE_A_MINUTE: Final = "tally#"
"""Begins the keys of what is written once a minute and queue, however many jobs there are."""

ORDINARY: Final = "at once"
NAMES: Final = {
    "default|ready": "a queue's list `ready`",
    "default|waiting": "a queue's list `waiting`",
    "completed#default": "a queue's list of completed jobs",
    "events": "the event log",
    QUEUES.key("default")["pk"]["S"]: "the totals of a quarter of the queues",
}
"""What the keys are that all jobs share; another one would stand in the table by itself."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Holds what jobs wrote.

    :ivar lives: by how they came to their end.
    :ivar beating: those with heartbeats.
    :ivar wide: those of a deployment with wide queues.
    :ivar one_item: write units of a job in the one item of a limit, a bound or a key.
    """

    lives: Mapping[str, Writes]
    beating: Writes
    wide: Writes
    one_item: Mapping[str, float]

    @property
    def ordinary(self) -> Writes:
        """Return what jobs wrote that began at once and succeeded."""
        return self.lives[ORDINARY]


def count(jobs: int = JOBS) -> Counted:
    """Count the writes of jobs of each kind."""
    few = min(jobs, FEW_JOBS)
    lives = {name: observe(jobs if name == ORDINARY else few, each) for name, each in LIVES.items()}
    one_item = {name: units_of(kind, jobs) for name, kind in KINDS.items()}
    beating, wide = observe(few, Life(beats=BEATS)), observe(jobs, lines=2)
    return Counted(lives, beating, wide, one_item)


def dollars(load: Load, writes: Writes, *, http: bool) -> float:
    """Return the dollars of a month at this rate, all day."""
    workload = Workload(
        jobs=load.rate * MONTH_S,
        size_bytes=load.size_bytes,
        uses_http_workers=http,
        job_ms=0 if http else load.job_s * 1000 / WORKER_BATCH,
        retention_days=load.retention_days,
        shards=partitions_of(load, writes),
    )
    return sum(line.dollars for line in estimate(workload))


def break_even(server: float, load: Load, writes: Writes, *, http: bool) -> float:
    """Jobs a month for which this costs what a server costs; 0 where that is never so.

    :param server: dollars a month of what is always on: machines, database, load balancer.
    """
    low, high = 0.0, 1.0
    while dollars(replace(load, rate=high), writes, http=http) < server:
        high *= 2
    for _ in range(BISECTIONS):  # the price of a job falls with the rate, so there is no formula
        middle = (low + high) / 2
        is_cheaper = dollars(replace(load, rate=middle), writes, http=http) < server
        low, high = (middle, high) if is_cheaper else (low, middle)
    return low * MONTH_S


def tables(counted: Counted, loads: Sequence[Load], servers: Sequence[float]) -> list[PageTable]:
    """Return the tables of the page."""
    return [
        _keys(counted.ordinary),
        _lists(counted),
        _wide(counted),
        _one_item(counted),
        _log(counted.ordinary),
        _deployment(counted),
        _published(counted.ordinary),
        *(_load(load, counted.ordinary) for load in loads),
        _servers(servers, loads[0], counted.ordinary),
    ]


def _keys(writes: Writes) -> PageTable:
    """Return the partitions that jobs share, the busiest first, and what they take at most."""
    rows = []
    for key in writes.hot():
        if key.startswith(ONCE_A_MINUTE):
            continue
        units = writes.per_job(key)
        rows.append((NAMES.get(key, key), f"{units:g}", _amount(PARTITION_WRITES / units)))
    rows.append(("a job's own, of each job another one", f"{writes.per_job('job'):g}", ""))
    return PageTable("keys", ("partition", "write units of a job", "jobs/s at most"), rows)


def _lists(counted: Counted) -> PageTable:
    """Return how many jobs a second a queue passes, by how they come to their end."""
    rows = []
    for name, writes in counted.lives.items():
        ready, waiting = (
            f"{writes.index[f'default|{each}'] / writes.jobs:g}" for each in ("ready", "waiting")
        )
        rates = (queue_rate(writes), queue_rate(writes, is_shared=True))
        rows.append((name, ready, waiting, *(f"{rate:,.0f}" for rate in rates)))
    beat = (busiest(counted.beating) - busiest(counted.ordinary)) / BEATS
    beating = f"{running(counted.beating, counted.ordinary):,.0f} running jobs"
    rows.append(("each heartbeat more", "0", f"{beat:g}", beating, ""))
    columns = ("jobs that begin", "ready", "waiting", "jobs/s at most", "both in one partition")
    return PageTable("lists", columns, rows)


def _wide(counted: Counted) -> PageTable:
    """Return how many jobs a second a queue passes, by the number of its lines."""
    units = (busiest(counted.ordinary), mixed(counted.lives, counted.beating))
    rows = []
    for lines in LINES:
        share = fullest_line(lines)
        rates = (PARTITION_WRITES / (each * share) for each in units)
        rows.append((f"{lines}", f"{share * lines:.2f}", *map(_amount, rates)))
    columns = (
        "lines",
        "fullest line, of the average",
        "jobs/s that begin at once",
        "jobs/s, mixed",
    )
    return PageTable("wide", columns, rows)


def _one_item(counted: Counted) -> PageTable:
    """Return how many jobs a second end what is one item, whatever the number of lines."""
    rows = [
        (name, f"{units:.1f}", _amount(PARTITION_WRITES / units))
        for name, units in counted.one_item.items()
    ]
    return PageTable("one-item", ("one item", "write units of a job", "jobs/s at most"), rows)


def _log(writes: Writes) -> PageTable:
    """Return what the event log takes at several rates."""
    chunks = (chunk_units(writes), LARGE_CHUNK)
    rows = []
    for rate in LOGGED:
        found = appends(rate, writes)
        units = (f"{log_units(rate, writes, chunk):,.0f}" for chunk in chunks)
        rows.append((f"{rate:,}", f"{found.appends:.0f}", f"{found.refused:.1f}", *units))
    names = (f"write units/s, chunks of {chunk:g}" for chunk in chunks)
    return PageTable("log", ("jobs/s", "appends/s", "refused puts of each", *names), rows)


def _deployment(counted: Counted) -> PageTable:
    """Return how many jobs a second a deployment handles: where the event log ends."""
    cases = (
        ("without wide queues", counted.ordinary, chunk_units(counted.ordinary)),
        ("the same, with long names", counted.ordinary, LARGE_CHUNK),
        ("with wide queues", counted.wide, chunk_units(counted.wide)),
    )
    rows = [(name, f"{units:g}", _amount(log_rate(writes, units))) for name, writes, units in cases]
    return PageTable("deployment", ("deployment", "write units of 500 events", "jobs/s"), rows)


def _published(writes: Writes) -> PageTable:
    """Return how many jobs a second a table's stream publishes."""
    columns = ("shards", *(f"factor {factor}" for factor in FACTORS))
    rows = [
        (f"{shards}", *(f"{published_rate(writes, shards, factor):,.0f}" for factor in FACTORS))
        for shards in (NEW_TABLE_PARTITIONS, 2 * NEW_TABLE_PARTITIONS)
    ]
    return PageTable("published", columns, rows)


def _load(load: Load, writes: Writes) -> PageTable:
    """Return what a load needs, of all quotas."""
    rows = [
        ("queues", f"{queues_for(load, writes):,}", f"{queue_rate(writes):,.0f} jobs/s each", ""),
        *_shares(load, writes),
        *(
            (
                f"{need.resource} ({need.unit})",
                _amount(need.need),
                f"{need.limit:,.0f}",
                need.verdict,
            )
            for need in needs(load, writes)
        ),
    ]
    for name, http in (("HTTP", True), ("Lambda", False)):
        month = dollars(load, writes, http=http)
        rows.append((f"$ a month, {name} workers", _amount(month), "", ""))
    name = f"load-{load.rate:.0f}"
    return PageTable(name, ("resource", "needed", "available", ""), rows)


def _shares(load: Load, writes: Writes) -> Iterator[tuple[str, str, str, str]]:
    number = f"{deployments_for(load, writes):,}"
    yield "deployments", number, f"{_amount(log_rate(writes))} jobs/s each", ""


def _servers(servers: Sequence[float], load: Load, writes: Writes) -> PageTable:
    """Return where a server that is always on begins to be cheaper."""
    rows = []
    for server in servers:
        jobs = [break_even(server, load, writes, http=http) for http in (True, False)]
        cells = [f"{each / 1e6:,.1f} million ({each / MONTH_S:,.1f}/s)" for each in jobs]
        rows.append((f"{server:,.0f}", *cells))
    columns = ("a server's $ a month", "jobs a month, HTTP workers", "jobs a month, Lambda workers")
    return PageTable("servers", columns, rows)


def _amount(number: float) -> str:
    """Return a number to two digits."""
    rounded = float(f"{number:.2g}")
    return f"{rounded:,.1f}" if 0 < number < 10 else f"{rounded:,.0f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, compute and print."""
    parser = argparse.ArgumentParser(description="Compute what so many jobs a second need.")
    parser.add_argument("--rate", type=float, action="append", help="jobs a second; repeatable")
    parser.add_argument("--job-ms", type=float, default=200.0, help="what a handler takes")
    parser.add_argument("--size", type=int, default=600, help="bytes of an envelope")
    parser.add_argument("--counted", type=int, default=JOBS, help="jobs to count the writes of")
    parser.add_argument(
        "--server", type=float, action="append", help="$ a month of a server; repeatable"
    )
    parser.add_argument("--docs", action="store_true", help="write the tables of docs/capacity*.md")
    given = parser.parse_args(arguments)
    os.environ.setdefault("AWS_DEFAULT_REGION", REGION)
    os.environ.setdefault("POWERTOOLS_LOG_LEVEL", "ERROR")
    os.environ.pop("AWS_ENDPOINT_URL", None)
    logging.disable(logging.INFO)
    loads = [
        Load(rate=rate, job_s=given.job_ms / 1000, size_bytes=given.size)
        for rate in given.rate or RATES
    ]
    console, counted = Console(), count(given.counted)
    title = f"Quotas of {QUOTAS_ON}, prices of {PRICED_ON}, {HEADROOM:.0%} of each planned with"
    for table in tables(counted, loads, given.server or SERVERS):
        show_table(f"capacity-{table.name}", title, table.columns, table.rows, console)
        if given.docs:
            table.write()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
