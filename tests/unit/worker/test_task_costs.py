"""What a job in a task costs: its calls are weighed, and the estimate counts what they cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from benchmarks.units import Meter
from ojs_aws.pricing import PRICES, Workload, estimate, million
from ojs_aws.pricing.estimate import LEASE_MINUTES
from ojs_aws.topology import TASK_LEASE_S
from tests.unit.worker.test_bound_tasks import Bench

TASK: Final = Workload(uses_tasks=True, rate=50)
HOUR_MS: Final = 3_600_000
PAGES: Final = Path(__file__).parents[3] / "docs"


def amounts(workload: Workload) -> dict[str, float]:
    """Return the amounts of one attempt by the names of their lines."""
    return {line.what: line.amount / workload.attempts for line in estimate(workload)}


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    bench.push()
    return bench


def test_what_a_task_reads_is_counted(bench: Bench) -> None:
    """The binding, the job for its container, and the job at the task's end."""
    bench.dispatch()
    bench.ecs.end(bench.arn, 0)
    bench.settle()  # the queue's settings are known from now on
    bench.ecs.tasks.clear()
    bench.push()
    meter = Meter(bench.world.aws, bench.backend.settings.table)
    bench.dispatch()
    claim = 1.0  # two queries of the index, as of each FETCH
    dispatched = meter.reads - claim
    meter.reset()
    given = bench.environment()
    assert bench.request(given, "GET", "", None).status == 200
    assert bench.request(given, "POST", "/ack", {}).status == 200
    bench.ecs.end(bench.arn, 0)
    bench.settle()
    assert meter.reads + dispatched == amounts(TASK)["bindings, jobs and ends, read"]


def test_a_lease_costs_what_the_estimate_says(bench: Bench) -> None:
    """A read each minute, and a write and a message each five."""
    bench.dispatch()
    meter = Meter(bench.world.aws, bench.backend.settings.table)
    bench.run_on(3600)
    hour = amounts(replace(TASK, job_ms=HOUR_MS))
    assert TASK_LEASE_S // 2 == LEASE_MINUTES * 60
    assert meter.reads == hour["leases, read"]
    assert meter.writes == hour["leases, written"]
    assert meter.requests == hour["leases, messages"]


def test_a_task_costs_its_processors_and_memory() -> None:
    """For as long as the job takes; a Lambda worker's time is not computed."""
    lines = {line.what: line for line in estimate(replace(TASK, jobs=100, job_ms=HOUR_MS))}
    assert lines["tasks, processors"].dollars == pytest.approx(100 * PRICES["vCPU-hour"])
    assert lines["tasks, memory"].dollars == pytest.approx(200 * PRICES["task GB-hour"])
    assert "workers, run" not in lines
    larger = {
        line.what: line.amount
        for line in estimate(replace(TASK, jobs=100, job_ms=HOUR_MS, task_vcpu=4, task_gb=8))
    }
    assert (larger["tasks, processors"], larger["tasks, memory"]) == (400, 800)


def test_the_pages_say_what_the_estimate_says() -> None:
    """Of a million jobs, and of an hour of a task."""
    more = f"${million(TASK) - million(Workload(rate=50)):.2f}"
    for name in ("ecs-bindings.md", "costs-per-job.md"):
        assert more in (PAGES / name).read_text("utf-8")
    hour = PRICES["vCPU-hour"] + 2 * PRICES["task GB-hour"]
    assert f"costs ${hour:.2f} on arm64" in (PAGES / "ecs-bindings.md").read_text("utf-8")


def test_a_job_in_a_task_makes_two_requests() -> None:
    """Its container reads it, and reports how it ended."""
    worker = amounts(Workload(rate=50))
    task = amounts(TASK)
    assert task["API, invocations"] - worker["API, invocations"] == 2
    assert task["ends, sent and received"] == 3
    assert million(TASK) > million(Workload(rate=50, uses_bindings=True))


def test_a_task_is_not_smaller_than_nothing() -> None:
    """Nothing at all leaves Fargate out."""
    assert Workload(uses_tasks=True, task_vcpu=0, task_gb=0).uses_tasks
    with pytest.raises(ValueError, match="negative"):
        Workload(task_vcpu=-0.1)
    with pytest.raises(ValueError, match="negative"):
        Workload(task_gb=-0.1)
