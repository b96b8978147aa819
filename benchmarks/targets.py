"""What a job, a large request, a heartbeat and a month cost, beside their targets.

    python -m benchmarks.targets

All figures that this project has set itself a target for, in one place: calls and units are
metered as in ``benchmarks.costs``, with random tokens; the dollars of everything are those of
``ojs-aws cost``, for jobs of 0.5 KB with an HTTP worker and the default settings.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from rich.console import Console

from benchmarks.costs import BEAT_MS, KILOBYTE, SIZES, WORKER, life, measured
from benchmarks.documents import JOB_TYPE, random_tokens
from benchmarks.laboratory import Bench
from benchmarks.results import show_table
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.jobs.held_job import attempt_of
from ojs_aws.pricing import BUSY_RATE, Workload, million, standing

FETCHED: Final = 10
BATCH: Final = 100
LARGE: Final = (KILOBYTE // 2, 8 * KILOBYTE, 40 * KILOBYTE)
"""Sizes of the jobs of a large request; a body may have a hundred of 40 KB, and not many more."""

LIFE_TARGETS: Final = {
    "0.5 KB": (7, 7),
    "1 KB": (7, 7),
    "8 KB": (10, None),
    "100 KB": (None, None),
}
"""Write units and calls, from PUSH to ACK."""

BEATS: Final = 6


@dataclass(frozen=True, slots=True)
class Figure:
    """Compares one figure with its target.

    :ivar target: the most that it should be.
    """

    name: str
    found: float
    target: float

    @property
    def row(self) -> tuple[str, str, str, str]:
        """Return its line of the table."""
        is_met = round(self.found, 2) <= self.target
        return self.name, f"{self.found:.4g}", f"{self.target:g}", "yes" if is_met else "no"


def of_lives() -> Iterator[Figure]:
    """Measure a job's life at each size."""
    for size, (writes, calls) in LIFE_TARGETS.items():
        costs = measured(SIZES[size], random_tokens)
        whole = life(costs)
        if writes is not None:
            yield Figure(f"a job of {size}: write units", whole.writes, writes)
        if calls is not None:
            yield Figure(f"a job of {size}: calls", whole.calls.total(), calls)
        if writes is None:
            yield Figure(f"a million jobs of {size}: $ of DynamoDB, SQS, S3", whole.dollars, 15)


def of_large_requests() -> Iterator[Figure]:
    """Measure a batch of a hundred jobs, and the FETCH of ten of them."""
    for size in LARGE:
        jobs = [Job(JOB_TYPE, random_tokens(size, seed=at)) for at in range(BATCH)]
        bench = Bench()
        pushed = bench.cost(partial(bench.backend.jobs.push.all, jobs))
        fetched = bench.cost(partial(bench.fetch, FETCHED, WORKER))
        of = f"{size / KILOBYTE:g} KB"
        yield Figure(f"a batch of {BATCH} jobs of {of}: calls", pushed.calls.total(), 16)
        yield Figure(f"FETCH of {FETCHED} jobs of {of}: calls", fetched.calls.total(), 14)


def of_heartbeats() -> Iterator[Figure]:
    """Measure heartbeats over HTTP, and those of a Lambda worker."""
    costs = measured(SIZES["0.5 KB"], random_tokens)
    beat = costs["BEAT"]
    yield Figure("BEAT: calls", beat.calls.total() / beat.jobs, 3)
    yield Figure("BEAT: write units, on average", beat.writes / beat.jobs, 2)
    yield Figure("BEAT: read units", beat.reads / beat.jobs, 0)
    bench = Bench()
    bench.push(JOB_TYPE)
    [job] = bench.fetch(1, WORKER)
    bench.clock.pass_by(BEAT_MS)
    extend = bench.backend.workers.heartbeat.extend
    own = bench.cost(lambda: extend(WORKER, job.id, None, which=attempt_of(job), start=job))
    yield Figure("ctx.heartbeat(): calls", own.calls.total(), 2)
    yield Figure("ctx.heartbeat(): write units", own.writes, 1)


def of_everything() -> Iterator[Figure]:
    """Compute the dollars of all that the default stack is billed for."""
    http = Workload(jobs=1_000_000, uses_http_workers=True)
    for name, each, busy, rare in (
        ("through API Gateway", http, 13, 17),
        ("by the job endpoint", replace(http, uses_gateway=False), 10, 14),
    ):
        found = [million(replace(each, rate=rate)) for rate in (BUSY_RATE, 1)]
        yield Figure(f"all of a million jobs {name}, busy: $", found[0], busy)
        yield Figure(f"the same {name}, at one job a second: $", found[1], rare)
    yield Figure("a month without a job: $", standing(http), 3)


def main() -> None:
    """Measure and print."""
    logging.disable(logging.INFO)
    parts = (of_lives, of_large_requests, of_heartbeats, of_everything)
    rows = [each.row for part in parts for each in part()]
    columns = ("figure", "found", "target, at most", "met")
    show_table("targets", "Figures and their targets", columns, rows, Console(width=120))


if __name__ == "__main__":
    main()
