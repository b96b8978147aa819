"""Computes what machines cost that are always on: Fargate tasks, a load balancer, cache nodes.

Each number is an assumption, named here once, and taken for everyone alike. Tasks are the smallest
that Fargate has. There are two of everything, in two zones, and load at most half of each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from ojs_aws.pricing.workload import MONTH_HOURS, Line, Workload

TASK_VCPU: Final = 0.25
TASK_GB: Final = 0.5
LEAST: Final = 2
"""Tasks and nodes that run without a job, too: one of two may fail."""

TASK_JOBS: Final = 25
"""Jobs a second of a worker's task at half its load: 5 ms of a quarter of a processor for each."""

TASK_HANDLERS: Final = 5
"""Handlers that run at a time in a worker's task at half its load; most of them wait."""

SERVER_JOBS: Final = 25
"""Jobs a second of a server's task at half its load: three requests for each."""

SMALL_NODE_JOBS: Final = 200
LARGE_NODE_JOBS: Final = 5000
"""Jobs a second that a cache.t4g.small and a cache.m7g.large serve beside their replica."""

LCU_BYTES: Final = 1e9
"""Bytes that a load balancer moves in an hour for one LCU."""

REQUESTS: Final = 3
REQUEST_BYTES: Final = 1000
"""Requests of a job to a server, PUSH, FETCH and ACK, and their bytes beside the envelope."""


def worker_tasks(w: Workload) -> int:
    """Return how many tasks execute the jobs, as many as their rate and duration need."""
    rate = w.jobs_per_second * (1 + w.failure_rate)
    by_rate, by_time = rate / TASK_JOBS, rate * w.job_ms / 1000 / TASK_HANDLERS
    return max(LEAST, math.ceil(by_rate), math.ceil(by_time))


def task_lines(name: str, tasks: int) -> Iterator[Line]:
    """Yield what tasks cost, each with a public address, which is cheaper than a NAT gateway."""
    hours = tasks * MONTH_HOURS
    yield Line(f"{name}, processors", hours * TASK_VCPU, "vCPU-hour")
    yield Line(f"{name}, memory", hours * TASK_GB, "task GB-hour")
    yield Line(f"{name}, addresses", hours, "address-hour")


def server_lines(w: Workload) -> Iterator[Line]:
    """Yield what a server with a load balancer costs."""
    tasks = max(LEAST, math.ceil(w.jobs_per_second / SERVER_JOBS))
    yield from task_lines("server", tasks)
    moved = w.jobs * (REQUESTS * REQUEST_BYTES + 2 * w.size_bytes)
    yield Line("load balancer", MONTH_HOURS, "load balancer-hour")
    yield Line("load balancer, traffic", moved / LCU_BYTES, "LCU-hour")


def cache_lines(w: Workload) -> Iterator[Line]:
    """Yield what a cache with a replica costs: the smallest nodes that serve the rate."""
    rate = w.jobs_per_second
    if rate <= SMALL_NODE_JOBS:
        yield Line("cache nodes", LEAST * MONTH_HOURS, "small node-hour")
    else:
        nodes = LEAST * math.ceil(rate / LARGE_NODE_JOBS)
        yield Line("cache nodes", nodes * MONTH_HOURS, "large node-hour")
