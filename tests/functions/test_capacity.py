"""What limits a deployment is what jobs share; the capacity model counts it."""

from __future__ import annotations

import pytest

from benchmarks.capacity import (
    HEADROOM,
    Load,
    break_even,
    deployments_for,
    dollars,
    executions,
    log_rate,
    needs,
    queue_rate,
    queues_for,
)
from benchmarks.hot_keys import Writes, observe
from ojs_aws.adapters.dynamodb.queues.totals import totals_key

pytestmark = pytest.mark.moto

TOTALS = totals_key("default")["pk"]["S"]
COMPLETED = "completed#default"


@pytest.fixture(scope="module")
def writes() -> Writes:
    """A hundred jobs from PUSH to ACK."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("AWS_ENDPOINT_URL", raising=False)
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        return observe(100)


def test_jobs_share_their_lists_the_totals_and_the_event_log_alone(
    writes: Writes,
) -> None:
    """A new hot key would be a new limit, and belongs into docs/capacity.md."""
    lists = ["default|ready", "default|waiting"]
    once_a_minute = {"tally#default"}
    assert set(writes.hot()) - once_a_minute == {*lists, COMPLETED, "events", TOTALS}
    assert [writes.per_job(name) for name in lists] == [2, 2]
    assert writes.per_job("job") == 3


def test_what_jobs_share_beside_their_queue_is_written_in_batches(writes: Writes) -> None:
    assert writes.per_job("events") < 0.25
    assert writes.per_job(TOTALS) < 0.1
    assert writes.per_job(COMPLETED) < 0.1


def test_a_queue_passes_five_hundred_jobs_a_second(writes: Writes) -> None:
    assert queue_rate(writes) == 500


def test_a_thousand_jobs_a_second_fit_an_account_whose_table_is_warm(writes: Writes) -> None:
    load = Load(rate=1_000)
    short = {need.resource for need in needs(load, writes) if need.verdict != "fits"}
    assert short == {"a table made today"}
    assert (queues_for(load, writes), deployments_for(load, writes)) == (3, 1)


def test_a_hundred_thousand_need_more_deployments_for_the_event_log(writes: Writes) -> None:
    load = Load(rate=100_000)
    beyond = {need.resource for need in needs(load, writes) if need.verdict.startswith("BEYOND")}
    assert beyond == {"event log: one partition, one append at a time"}
    each = load.rate / deployments_for(load, writes)
    assert each <= log_rate(writes) * HEADROOM


def test_the_job_endpoint_needs_an_execution_for_ten_requests_a_second(writes: Writes) -> None:
    """Lambda's rate for each execution; longer requests need more of them."""
    assert executions(3_000, 0.03) == 300
    assert executions(300, 0.5) == 150
    found = {need.resource: need for need in needs(Load(rate=1_000), writes)}
    assert found["job endpoint, HTTP workers one by one"].need == 300
    assert found["job endpoint, HTTP workers in batches of ten"].need == 30
    assert found["job endpoint, Lambda workers: pushes one by one"].need == 100
    assert found["API Gateway instead, one by one"].need == 3_000


def test_long_jobs_meet_the_messages_in_flight(writes: Writes) -> None:
    load = Load(rate=1_000, job_s=300)
    beyond = {need.resource for need in needs(load, writes) if need.verdict.startswith("BEYOND")}
    assert "SQS in flight, Lambda workers" in beyond


@pytest.mark.parametrize("http", [True, False])
def test_at_the_break_even_both_cost_the_same(http: bool) -> None:
    load = Load(rate=1)
    jobs = break_even(200, load, http=http)
    month = 30 * 24 * 3600
    assert dollars(Load(rate=jobs / month), http=http) == pytest.approx(200)
