"""An estimate is complete, grows with what is done, and says what stands without a job."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ojs_aws.pricing import BUSY_RATE, PRICES, Workload, estimate, million, standing
from ojs_aws.pricing.estimate import API_GB, SETTLE_MS
from ojs_aws.pricing.units import ACCESS_LOG, SOURCE_LOG, changes_of

README = (Path(__file__).resolve().parents[3] / "README.md").read_text("utf-8")


def units(workload: Workload, unit: str) -> float:
    """Return how much of one unit a workload takes."""
    return sum(line.amount for line in estimate(workload) if line.unit == unit)


def dollars(workload: Workload) -> float:
    """Return the whole bill."""
    return sum(line.dollars for line in estimate(workload))


def test_a_failure_costs_another_attempt() -> None:
    """And nothing is ever cheaper for doing more."""
    total = [dollars(Workload(jobs=1e6, failure_rate=rate)) for rate in (0, 0.1, 1)]
    assert total == sorted(total)
    assert {line.unit for line in estimate(Workload(jobs=1))} <= set(PRICES)


@pytest.mark.parametrize(
    "wrong",
    [{"jobs": -1}, {"jobs": 1, "steps": 1.1}, {"jobs": 1, "compression": 0.5}],
)
def test_numbers_that_no_workload_has_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"negative|share|compression"):
        Workload(**wrong)  # type: ignore[arg-type]


KINDS = ("uses_http_workers", "uses_bindings", "uses_tasks", "uses_endpoints")


@pytest.mark.parametrize(("one", "other"), [*itertools.combinations(KINDS, 2)])
def test_the_jobs_of_a_workload_are_run_in_one_way(one: str, other: str) -> None:
    """The workers of a queue are of one kind here."""
    assert getattr(Workload(**{one: True}), one)
    with pytest.raises(ValueError, match="by one of these"):
        Workload(**{one: True, other: True})


@pytest.mark.parametrize(
    ("more", "writes", "reads"),
    # What the operation costs in benchmarks/flow_costs.py beyond a plain job's 2, 3 and 3 units,
    # of which FETCH reads one at most.
    [
        (Workload(jobs=1000, unique=1), 5 - 2, 0),
        (Workload(jobs=1000, steps=1), 7 - 2, 2),
        (Workload(jobs=1000, limited=1), 6 - 3 + 7 - 3, 2 + 2),
        (Workload(jobs=1000, batched=1), 0.03, 1),
        (Workload(jobs=1000, batched=1, batch_jobs=100), 1, 0),
        (Workload(jobs=1000, batched=1, batch_jobs=1), 0, 0),
        (Workload(jobs=1000, scheduled=1), 6 - 3, 2),
        (Workload(jobs=1000, heartbeats=1), 3, 0),
    ],
)
def test_an_estimate_adds_what_orchestration_costs(
    more: Workload, writes: float, reads: float
) -> None:
    """Asserted of the operations themselves in tests/functions/test_flow_costs.py."""
    more, plain = (replace(each, stream_window_s=0) for each in (more, Workload(jobs=1000)))
    written = units(more, "write unit") - units(plain, "write unit")
    stream = 2 * (changes_of(more) - changes_of(plain))  # each for the event log and the counter
    assert written == pytest.approx(1000 * writes + stream)
    read = units(more, "read unit") - units(plain, "read unit")
    assert read == pytest.approx(1000 * reads)


def test_a_large_document_is_stored_in_s3_and_not_in_the_table() -> None:
    """Each attempt gets it; the bucket keeps it as long as its job, and then for the backups."""
    large = Workload(jobs=3000, size_bytes=100_000, failure_rate=0.5, retention_days=10)
    lines = {line.what: line.amount for line in estimate(large)}
    assert (lines["documents, put"], lines["documents, got"]) == (3000, 4500)
    gigabytes = 3000 * 100_000 / 1e9
    assert lines["documents, stored"] == pytest.approx(gigabytes / 30 * (10 + 35))
    small = {line.what: line.amount for line in estimate(replace(large, size_bytes=300))}
    assert not {name for name in small if name.startswith("documents")}
    assert lines["jobs, stored"] < small["jobs, stored"] == small["jobs, in backups"]
    hundred_kilobytes = pytest.approx(3000 * 585 / 1e9 / 30 * 10)
    assert lines["jobs, stored"] == lines["jobs, in backups"] == hundred_kilobytes


def test_a_batch_saves_requests() -> None:
    """Nine of ten messages, and the requests to the API."""
    by_unit = [
        {line.what: line.amount for line in estimate(Workload(jobs=1000, batched=batched))}
        for batched in (0, 1)
    ]
    assert by_unit[0]["messages"] - by_unit[1]["messages"] == 900
    assert (by_unit[0]["API, invocations"], by_unit[1]["API, invocations"]) == (1000, 1)


def test_jobs_that_come_one_by_one_cost_more_than_many_at_once() -> None:
    """Without a window the stream's consumer is invoked for each change."""
    slow, busy = (Workload(jobs=1e6, rate=rate, stream_window_s=0) for rate in (1, BUSY_RATE))
    assert units(slow, "Lambda request") - units(busy, "Lambda request") > 2e6
    assert million(slow) > million(busy)


def test_a_batching_window_saves_invocations_where_jobs_are_rare() -> None:
    """At a job a second one for each job and second; when busy batches are full with a second.

    A window of five seconds lists five completed jobs in one write, too.
    """
    found = [
        million(Workload(jobs=1e6, rate=rate, stream_window_s=window, shards=1))
        for rate in (1, BUSY_RATE)
        for window in (0, 1, 5)
    ]
    assert found[0] - found[1] == pytest.approx(3.86, abs=0.1)
    assert found[1] - found[2] == pytest.approx(2.04, abs=0.1)
    assert found[3] > found[4] == found[5], "150 changes come at once without a window"


def test_more_shards_gather_fewer_changes_until_their_batches_are_full() -> None:
    """A new table has four; those that a spike leaves behind make moderate loads dearer."""
    rare, moderate, busy = (
        [
            million(Workload(jobs=1e6, rate=rate, shards=shards, uses_http_workers=True))
            for shards in (1, 4, 16)
        ]
        for rate in (1, 20, 5000)
    )
    assert rare[1] - rare[0] == pytest.approx(1.93, abs=0.01)
    assert rare[1] == rare[2]
    assert moderate[0] < moderate[1] < moderate[2]
    assert busy[0] == busy[1] == busy[2]
    assert Workload().shards == 4


@pytest.mark.parametrize(
    ("is_http", "job_ms", "invocations"),
    [(False, 100, 1), (False, 1000, 2), (True, 100, 2), (True, 1000, 3)],
)
def test_changes_of_a_job_alone_share_a_window_if_it_is_short(
    is_http: bool, job_ms: float, invocations: int
) -> None:
    """A Lambda worker claims it in the window of its push, a poll comes later."""
    alone = Workload(jobs=1, rate=0.001, uses_http_workers=is_http, job_ms=job_ms)
    (found,) = [line.amount for line in estimate(alone) if line.what == "events, invocations"]
    assert found == pytest.approx(invocations)


def test_messages_of_http_workers_are_deleted_many_at_a_time() -> None:
    """A tenth of a request when busy; a Lambda worker's trigger deletes by itself."""
    http, busy, trigger = (
        next(line.amount for line in estimate(each) if line.what == "messages")
        for each in (
            Workload(jobs=1000, rate=0.1, uses_http_workers=True),
            Workload(jobs=1000, rate=BUSY_RATE, uses_http_workers=True),
            Workload(jobs=1000, rate=BUSY_RATE),
        )
    )
    assert (http, trigger) == (3000, 3000)
    assert busy == pytest.approx(2100)


def test_failures_are_grouped_with_one_write_for_each_batch_that_has_some() -> None:
    """One for each failure where they are rare, next to nothing where each batch has many."""
    alone, busy = (
        next(line.amount for line in estimate(each) if line.what == "failures, grouped")
        for each in (
            Workload(jobs=1000, rate=0.01, failure_rate=0.02),
            Workload(jobs=1000, rate=BUSY_RATE, failure_rate=1),
        )
    )
    assert alone == pytest.approx(20, rel=0.05)
    assert busy == pytest.approx(20, rel=0.05)
    assert not any(line.what == "failures, grouped" for line in estimate(Workload(jobs=1000)))


def test_direct_clients_save_the_requests_of_their_pushes() -> None:
    """Request, invocation, its time and its lines of the log."""
    api, direct = (
        Workload(jobs=1e6, is_direct=is_direct, uses_gateway=False) for is_direct in (False, True)
    )
    assert units(api, "Lambda request") - units(direct, "Lambda request") == 1e6
    assert units(direct, "write unit") == units(api, "write unit")
    assert million(api) - million(direct) == pytest.approx(0.85, abs=0.05)


def test_the_gateway_costs_a_dollar_a_million_requests_and_its_log() -> None:
    """An HTTP worker needs three requests for a job; the job endpoint is billed as a function."""
    gateway = Workload(jobs=1e6, uses_http_workers=True)
    endpoint = replace(gateway, uses_gateway=False)
    assert units(endpoint, "HTTP API request") == 0
    assert units(gateway, "HTTP API request") == 3e6
    log = 3 * (ACCESS_LOG - SOURCE_LOG) * 0.5e-3
    assert million(gateway) - million(endpoint) == pytest.approx(3 + log)


def test_the_default_stack_keeps_its_three_prices() -> None:
    """HTTP worker, 0.5 KB: when busy, at one job a second, and a month without a job."""
    http = Workload(jobs=1e6, uses_http_workers=True)
    found = [million(replace(http, rate=rate)) for rate in (BUSY_RATE, 1)]
    assert found == pytest.approx([12.28, 16.97], abs=0.005)
    assert standing(http) <= 3


def test_the_job_endpoint_keeps_its_two_prices() -> None:
    """As above; in a month without a job its alarm costs a dime more."""
    http = Workload(jobs=1e6, uses_http_workers=True, uses_gateway=False)
    found = [million(replace(http, rate=rate)) for rate in (BUSY_RATE, 1)]
    assert found == pytest.approx([8.76, 13.45], abs=0.005)
    gateway = standing(replace(http, uses_gateway=True))
    assert standing(http) == pytest.approx(gateway + PRICES["alarm"])


def test_what_stands_does_not_grow_with_the_jobs() -> None:
    few, many = Workload(jobs=10, rate=1), Workload(jobs=1e9, rate=1)
    assert standing(few) == standing(many) == dollars(Workload(jobs=0))
    assert million(few) == pytest.approx(million(many))


def test_the_bus_the_dashboard_and_the_alarms_can_be_left_out() -> None:
    whole = Workload(jobs=1e6)
    assert million(whole) - million(replace(whole, has_bus=False)) == pytest.approx(1)
    http = replace(whole, uses_http_workers=True, uses_gateway=True)
    saved = million(http) - million(replace(http, has_access_log=False))
    assert saved == pytest.approx(3 * ACCESS_LOG * 0.5e-3)
    bare = replace(whole, has_alarms=False)
    assert dollars(replace(whole, has_dashboard=True)) - dollars(bare) > 3


def test_the_accounts_key_is_billed_by_the_roles_that_use_the_table() -> None:
    """Once in five minutes each; one that AWS owns is free."""
    assert units(Workload(jobs=0), "KMS request") == 2 * 30 * 24 * 12
    used = Workload(jobs=1e6)
    assert units(used, "KMS request") == 5 * 30 * 24 * 12
    assert million(used) == million(replace(used, has_account_key=False))
    assert dollars(used) - dollars(replace(used, has_account_key=False)) == pytest.approx(
        0.13, abs=0.001
    )


def test_a_month_without_jobs_costs_about_three_dollars_with_the_alarms() -> None:
    assert standing(Workload(jobs=0, uses_http_workers=True)) == pytest.approx(2.95, abs=0.1)


def test_the_readme_says_both_ends_of_the_range() -> None:
    """A million jobs of 0.5 KB, and a month without any, by this model."""
    gateway, endpoint = (
        [
            round(million(replace(each, uses_gateway=uses_gateway)))
            for each in (
                Workload(jobs=1e6, rate=BUSY_RATE),
                Workload(jobs=1e6, rate=1, uses_http_workers=True),
            )
        ]
        for uses_gateway in (True, False)
    )
    idle = round(standing(Workload(jobs=0)))
    said = [int(each) for each in re.findall(r"\$(\d+)\b", README)]
    assert said[:5] == [*gateway, *endpoint, idle]


def test_a_binding_costs_at_most_two_dollars_a_million_more_when_busy() -> None:
    """Than a Python Lambda worker, at 50 jobs a second; a rare job costs some cents more."""
    worker = Workload(rate=50)
    assert million(replace(worker, uses_bindings=True)) - million(worker) == pytest.approx(
        1.90, abs=0.01
    )
    rare = Workload(rate=1)
    assert million(replace(rare, uses_bindings=True)) - million(rare) == pytest.approx(
        2.26, abs=0.01
    )


def test_an_endpoint_costs_a_read_of_its_binding_more_than_a_worker() -> None:
    """``tests/unit/worker/delivery/test_bound_endpoints.py`` counts it; the wait is a handler's."""
    worker = Workload(rate=50, failure_rate=0.5)
    bound = replace(worker, uses_endpoints=True)
    assert million(bound) - million(worker) == pytest.approx(1.5e6 * PRICES["read unit"])
    assert standing(bound) == pytest.approx(standing(worker))
    waiting = million(replace(bound, job_ms=1000, worker_mb=256)) - million(bound)
    assert waiting == pytest.approx(1.5e6 * 0.25 * PRICES["Lambda GB-second"])


def test_the_page_says_what_a_synchronous_binding_would_save() -> None:
    """Records and settler against the dispatcher's wait, as the lines of bound jobs say."""
    page = (Path(__file__).parents[3] / "docs" / "costs-per-job.md").read_text("utf-8")
    settler_s, dispatcher_gb = SETTLE_MS / 1000, API_GB
    second = PRICES["Lambda GB-second"] * dispatcher_gb * 1e6
    saved = 1e6 * (3 * PRICES["SQS request"] + PRICES["Lambda request"]) + second * settler_s
    assert f"save at most ${saved:.2f} a million jobs" in " ".join(page.split())
    assert f"wait at ${second:.2f} a million jobs" in " ".join(page.split())
    assert f"up to {saved / second:.2f} s a job, or {10 * saved / second:.1f} s" in page
