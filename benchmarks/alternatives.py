"""Estimate what others cost for the same jobs, by the same prices, from the calls that they make.

Every bill contains the way from enqueuing a job to its end, and what executes it. What each
alternative lacks is beside its price, because the cheaper ones do less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from benchmarks.fleet import (
    LEAST,
    SMALL_NODE_JOBS,
    TASK_GB,
    TASK_HANDLERS,
    TASK_JOBS,
    TASK_VCPU,
    cache_lines,
    server_lines,
    task_lines,
    worker_tasks,
)
from ojs_aws.pricing.estimate import IDLE_POLLS, estimate
from ojs_aws.pricing.units import KILOBYTE, life_units
from ojs_aws.pricing.workload import MONTH_HOURS, MONTH_S, Line, Workload

POLLS: Final = 1_700_000
"""Polls of an idle HTTP worker of this package in a month."""

RECEIVED: Final = 10
GATHERED_S: Final = 0.05
"""Most messages of one receive, and for how long messages gather until a poll finds them."""

EXPRESS_GB: Final = 64 / KILOBYTE
EXPRESS_S: Final = 0.1
"""The least memory of an express workflow, and the steps by which its duration is billed."""

GO_WRITES: Final = 23
GO_WRITES_PER_KB: Final = 13
GO_REQUESTS: Final = 4
"""Write units of a job of 0.5 KB of the OJS backend in Go, those of each further kilobyte, and its
requests to SQS. Metered on one emulator beside this backend: 15 calls and 23 units at 0.5 KB, 1,315
units at 100 KB, and $16 and $834 a million, of which the requests are what is left."""

DURABLE_OPERATIONS: Final = 1
"""Operations of a durable function that AWS bills for each attempt: the step. Its start is one."""

CELERY_WAIT_S: Final = 10
"""Celery's default of ``wait_time_seconds``: how long a receive waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Describes a system that executes jobs on AWS.

    :ivar name: of the system.
    :ivar lines: computes its bill for a month.
    :ivar counted: what its bill counts for each job.
    :ivar lacks: what it does not do of what a job of the Open Job Spec has.
    """

    name: str
    lines: Callable[[Workload], Iterator[Line]]
    counted: str
    lacks: str

    def dollars(self, workload: Workload) -> float:
        """Return the dollars of a month."""
        return sum(line.dollars for line in self.lines(workload))


def _ours(w: Workload) -> Iterator[Line]:
    yield from estimate(replace(w, uses_http_workers=False, empty_polls=0))


def _direct(w: Workload) -> Iterator[Line]:
    yield from _ours(replace(w, is_direct=True))


def _polled(w: Workload) -> Iterator[Line]:
    tasks = worker_tasks(w)
    empty = max(0.0, tasks * POLLS - w.attempts)
    yield from estimate(replace(w, uses_http_workers=True, empty_polls=empty))
    yield from task_lines("workers", tasks)


def _queue(w: Workload) -> Iterator[Line]:
    together = min(max(w.jobs_per_second * GATHERED_S, 1.0), float(RECEIVED))
    invocations = w.attempts / together
    yield Line("messages sent", w.jobs, "SQS request")
    yield Line("messages received and deleted", 2 * invocations, "SQS request")
    yield Line("triggers, waiting", IDLE_POLLS * w.queues, "SQS request")
    yield from _functions(w, invocations)


def _functions(w: Workload, invocations: float) -> Iterator[Line]:
    worked = w.attempts * w.job_ms / 1000 * w.worker_mb / KILOBYTE
    yield Line("workers, invocations", invocations, "Lambda request")
    yield Line("workers, run", worked, "Lambda GB-second")


def _standard(w: Workload) -> Iterator[Line]:
    yield Line("state transitions", w.attempts, "state transition")
    yield from _functions(w, w.attempts)


def _express(w: Workload) -> Iterator[Line]:
    each_s = math.ceil(max(w.job_ms / 1000, EXPRESS_S) / EXPRESS_S) * EXPRESS_S
    yield Line("executions", w.jobs, "express request")
    yield Line("executions, run", w.attempts * each_s * EXPRESS_GB, "express GB-second")
    yield from _functions(w, w.attempts)


def _durable(w: Workload) -> Iterator[Line]:
    yield Line("durable operations", w.jobs + w.attempts * DURABLE_OPERATIONS, "durable operation")
    yield from _functions(w, w.attempts)


def _go(w: Workload) -> Iterator[Line]:
    more_kb = max(math.ceil(w.size_bytes / KILOBYTE), 1) - 1
    writes = GO_WRITES + GO_WRITES_PER_KB * more_kb
    yield Line("jobs, written", w.attempts * writes, "write unit")
    yield Line("messages", w.attempts * GO_REQUESTS, "SQS request")
    yield from server_lines(w)
    yield from task_lines("workers", worker_tasks(w))


def _celery(w: Workload) -> Iterator[Line]:
    tasks = worker_tasks(w)
    waits = tasks * MONTH_S / CELERY_WAIT_S
    yield Line("messages", w.jobs + 2 * w.attempts + w.failures, "SQS request")
    yield Line("polls that wait", max(0.0, waits - w.attempts) * w.queues, "SQS request")
    yield from task_lines("workers", tasks)


def _cached(w: Workload) -> Iterator[Line]:
    yield from cache_lines(w)
    yield from task_lines("workers", worker_tasks(w))


_WRITES: Final = life_units(Workload().size_bytes, Workload().compression)

OURS: Final = Alternative(
    name="ojs-aws, Lambda workers",
    lines=_ours,
    counted=f"{_WRITES:g} write units, 1 read unit, 3 SQS requests, 2 invocations",
    lacks="",
)
ALTERNATIVES: Final[Sequence[Alternative]] = (
    OURS,
    Alternative(
        name="ojs-aws, direct, Lambda workers",
        lines=_direct,
        counted="the same with one invocation: the push needs none",
        lacks="producers need AWS credentials",
    ),
    Alternative(
        name="ojs-aws, HTTP workers on Fargate",
        lines=_polled,
        counted="3 requests to the API; 1.7 million polls a month of an idle worker",
        lacks="",
    ),
    Alternative(
        name="SQS and Lambda",
        lines=_queue,
        counted="3 SQS requests, 1 invocation; up to ten messages in one when busy",
        lacks="state, results, lists, cancellation, priorities, unique jobs, workflows, events",
    ),
    Alternative(
        name="Step Functions, standard",
        lines=_standard,
        counted="1 state transition for each attempt (the least that AWS counts), 1 invocation",
        lacks="queues with priorities and pausing, unique jobs, limits, workers outside of Lambda",
    ),
    Alternative(
        name="Step Functions, express",
        lines=_express,
        counted="1 request, 64 MB for the duration, 1 invocation",
        lacks="the same, and kept state and history, jobs above 5 minutes",
    ),
    Alternative(
        name="Lambda durable functions",
        lines=_durable,
        counted="2 durable operations (the start and a step; 1 more a retry), 1 invocation",
        lacks="queues with priorities and pausing, limits, cron, workers outside of Lambda",
    ),
    Alternative(
        name="OJS backend in Go on Fargate",
        lines=_go,
        counted="23 write units (13 more for each KB), 4 SQS requests; servers, load balancer",
        lacks="",
    ),
    Alternative(
        name="Celery on SQS and Fargate",
        lines=_celery,
        counted="3 SQS requests, 4 for a retry; polls of ten seconds",
        lacks="results and state (no backend of results), cancellation, priorities, monitoring",
    ),
    Alternative(
        name="Sidekiq or BullMQ on ElastiCache and Fargate",
        lines=_cached,
        counted="nothing for each job; two cache nodes, larger ones when busy",
        lacks="jobs that survive the loss of the cache; with Sidekiq's free edition, of a worker",
    ),
)
"""Ours, and what a user would pick instead."""

TASK_DOLLARS: Final = sum(line.dollars for line in task_lines("task", 1))
COMPARED: Final[Sequence[str]] = (
    f"machines that are always on: {LEAST} of each at least, in two zones, half loaded",
    f"a task has {TASK_VCPU:g} vCPU, {TASK_GB:g} GB and an address: ${TASK_DOLLARS:.2f} a month",
    f"a task executes {TASK_JOBS} jobs a second at most, {TASK_HANDLERS} at a time",
    f"small cache nodes serve {SMALL_NODE_JOBS} jobs a second, and their memory the backlog",
    "no people, licences, logs of others, NAT gateways, or traffic between zones",
    f"a month has {MONTH_HOURS:g} hours",
)
"""What the comparison assumes beside the estimate's assumptions."""

LEAST_JOBS: Final = 1e3
MOST_JOBS: Final = 1e10
_STEPS: Final = 280


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """Says where one system becomes cheaper than another.

    :ivar jobs: the jobs a month where that changes for the last time; None: nowhere.
    :ivar is_cheaper_above: the other is the cheaper one above that, or everywhere.
    """

    jobs: float | None
    is_cheaper_above: bool

    def __str__(self) -> str:
        """Return when the other is the cheaper one, to two digits."""
        if self.jobs is None:
            return "always" if self.is_cheaper_above else "never"
        rounded = float(f"{self.jobs:.2g}")
        return f"{'above' if self.is_cheaper_above else 'below'} {rounded:,.0f} jobs"


def break_even(workload: Workload, other: Alternative, mine: Alternative = OURS) -> BreakEven:
    """Return from how many jobs a month on another is cheaper, or dearer; jobs come evenly.

    Prices have steps, where a machine more is needed, so that curves can cross more than once; the
    last time counts.
    """

    def is_cheaper(jobs: float) -> bool:
        w = replace(workload, jobs=jobs, rate=None)
        return other.dollars(w) < mine.dollars(w)

    at_most = is_cheaper(MOST_JOBS)
    factor = (LEAST_JOBS / MOST_JOBS) ** (1 / _STEPS)
    above = MOST_JOBS
    for step in range(1, _STEPS + 1):
        jobs = MOST_JOBS * factor**step
        if is_cheaper(jobs) != at_most:
            return BreakEven(jobs=math.sqrt(jobs * above), is_cheaper_above=at_most)
        above = jobs
    return BreakEven(jobs=None, is_cheaper_above=at_most)
