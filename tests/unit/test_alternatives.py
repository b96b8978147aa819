"""The comparison counts what each system calls, and the page about costs shows its numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from benchmarks import compare
from benchmarks.alternatives import ALTERNATIVES, OURS, Alternative, break_even
from benchmarks.fleet import (
    LEAST,
    SERVER_JOBS,
    SMALL_NODE_JOBS,
    cache_lines,
    server_lines,
    worker_tasks,
)
from benchmarks.pages import PLOTS
from ojs_aws.pricing import (
    PRICES,
    Workload,
    estimate,
    million,
)
from ojs_aws.pricing.workload import MONTH_HOURS

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
PAGE: Final = (DOCS / "costs-compared.md").read_text("utf-8")
NAMED: Final = {each.name: each for each in ALTERNATIVES}


def amount(name: str, workload: Workload, unit: str) -> float:
    """Return how much of one unit a system takes."""
    return sum(line.amount for line in NAMED[name].lines(workload) if line.unit == unit)


@pytest.mark.parametrize("each", ALTERNATIVES, ids=lambda each: each.name)
def test_more_jobs_never_cost_less_and_every_unit_has_a_price(each: Alternative) -> None:
    """Each alternative names what it counts, and what it lacks if it is not ours."""
    months = [each.dollars(Workload(jobs=jobs, job_ms=100)) for jobs in (0, 1e4, 1e6, 1e8, 1e10)]
    assert months == sorted(months)
    assert {line.unit for line in each.lines(Workload())} <= set(PRICES)
    assert each.counted


def test_our_lines_are_those_of_the_estimate() -> None:
    """The comparison has no cost model of its own for this backend."""
    given = Workload(jobs=3e6, rate=5, job_ms=50, uses_http_workers=True)
    plain = replace(given, uses_http_workers=False)
    assert OURS.dollars(given) == pytest.approx(sum(line.dollars for line in estimate(plain)))


def test_a_queue_and_a_function_make_four_requests_a_job() -> None:
    """Sent, received, deleted, invoked; ten messages in one receive when busy."""
    idle = amount("SQS and Lambda", Workload(jobs=0), "SQS request")
    slow, busy = Workload(jobs=1000, rate=1), Workload(jobs=1000, rate=200)
    assert amount("SQS and Lambda", slow, "SQS request") - idle == 3000
    assert amount("SQS and Lambda", slow, "Lambda request") == 1000
    assert amount("SQS and Lambda", busy, "SQS request") - idle == pytest.approx(1200)


def test_step_functions_bill_each_attempt() -> None:
    """A transition, or the duration in steps of 100 ms at 64 MB."""
    tried = Workload(jobs=1000, failure_rate=0.5, job_ms=150)
    assert amount("Step Functions, standard", tried, "state transition") == 1500
    express = amount("Step Functions, express", tried, "express GB-second")
    assert express == pytest.approx(1500 * 0.2 * 64 / 1024)


def test_durable_functions_bill_the_start_and_each_step() -> None:
    """A job is one step here; the step is tried again after a failure."""
    tried = Workload(jobs=1000, failure_rate=0.5)
    assert amount("Lambda durable functions", tried, "durable operation") == 2500
    assert amount("Lambda durable functions", tried, "Lambda request") == 1500


@pytest.mark.parametrize(("size", "dollars"), [(512, 16), (100 * 1024, 834)])
def test_the_go_backend_costs_what_was_metered(size: int, dollars: float) -> None:
    """DynamoDB and SQS, for a million jobs, within five percent."""
    given = Workload(jobs=1e6, size_bytes=size)
    found = sum(
        amount("OJS backend in Go on Fargate", given, unit) * PRICES[unit]
        for unit in ("write unit", "SQS request")
    )
    assert found == pytest.approx(dollars, rel=0.05)


@pytest.mark.parametrize(
    ("rate", "job_ms", "tasks"), [(0, 0, 2), (50, 0, 2), (51, 0, 3), (1, 60_000, 12)]
)
def test_tasks_are_as_many_as_rate_and_duration_need(
    rate: float, job_ms: float, tasks: int
) -> None:
    """Two at least, and half loaded."""
    assert worker_tasks(Workload(jobs=1e6, rate=rate, job_ms=job_ms)) == tasks


def test_curves_cross_at_the_break_even() -> None:
    """Cheaper above, cheaper below, always, never."""
    given = Workload(job_ms=100)
    for name, above in (("Celery on SQS and Fargate", True), ("Step Functions, standard", False)):
        found = break_even(given, NAMED[name])
        assert found.jobs is not None
        assert found.is_cheaper_above is above
        before, after = (replace(given, jobs=found.jobs * factor) for factor in (0.9, 1.1))
        assert (NAMED[name].dollars(after) < OURS.dollars(after)) is above
        assert (NAMED[name].dollars(before) < OURS.dollars(before)) is not above
    assert str(break_even(given, NAMED["SQS and Lambda"])) == "always"
    assert str(break_even(given, NAMED["OJS backend in Go on Fargate"])) == "never"


def test_the_plot_of_the_page_is_that_of_the_comparison() -> None:
    """``python -m benchmarks.compare --docs`` draws it; each system has its curve."""
    drawn = (PLOTS / f"{compare.NAME}.svg").read_text("utf-8")
    assert f"plots/{compare.NAME}.svg" in PAGE
    for each in ALTERNATIVES:
        assert each.name in drawn


def test_pushing_directly_is_the_cheapest_way_of_ours() -> None:
    """An invocation and its lines of the log less; two dollars less than through the gateway."""
    direct = million(Workload(jobs=1e6, rate=200, is_direct=True))
    for uses_gateway, saved in ((False, 0.83), (True, 2)):
        given = Workload(jobs=1e6, rate=200, uses_gateway=uses_gateway)
        assert million(given) - direct == pytest.approx(saved, abs=0.05)


@pytest.mark.parametrize(
    ("rate", "tasks"), [(0.1, LEAST), (LEAST * SERVER_JOBS, LEAST), (10 * SERVER_JOBS + 1, 11)]
)
def test_servers_are_as_many_as_the_rate_needs(rate: float, tasks: int) -> None:
    lines = {line.what: line.amount for line in server_lines(Workload(rate=rate))}
    assert lines["server, addresses"] == tasks * MONTH_HOURS


@pytest.mark.parametrize(
    ("rate", "unit"),
    [(SMALL_NODE_JOBS, "small node-hour"), (SMALL_NODE_JOBS + 1, "large node-hour")],
)
def test_a_cache_has_small_nodes_as_long_as_they_serve(rate: float, unit: str) -> None:
    assert [line.unit for line in cache_lines(Workload(rate=rate))] == [unit]


@pytest.mark.parametrize(("jobs", "waits"), [(1000.0, True), (1e9, False)])
def test_a_busy_worker_never_waits_for_a_message(jobs: float, waits: bool) -> None:
    (celery,) = (each for each in ALTERNATIVES if each.name.startswith("Celery"))
    (polls,) = (x for x in celery.lines(Workload(jobs=jobs)) if x.what == "polls that wait")
    assert (polls.amount > 0) == waits
    assert polls.amount >= 0


def test_nothing_is_cheaper_than_itself() -> None:
    assert str(break_even(Workload(), OURS, OURS)) == "never"
