"""How many jobs a tenant may enqueue, and what a process asks to know that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from ojs_aws.adapters.dynamodb.access import ClientBuckets
from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.adapters.dynamodb.queues.depths import Pressures
from ojs_aws.adapters.dynamodb.queues.tallies import Tallies
from ojs_aws.domain.errors import TenantLimitError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.job_policies import Window
from ojs_aws.domain.queues.tallies import QueueTotals
from ojs_aws.domain.tenants import TenantRefusals, TenantSettings
from ojs_aws.services.tenants import enqueue_limits as module
from ojs_aws.services.tenants.enqueue_limits import TenantEnqueueLimits
from ojs_aws.testing.deployment import FakeClock
from ojs_aws.topology import PRESSURE_PARTITION
from tests.aws import EmbeddedAws, items_of
from tests.contract.test_event_log import instead
from tests.contract.test_job_store import a_job

FIVE_A_SECOND = TenantSettings(max_enqueue_rate=Window(5, 1_000))
DEEP = TenantSettings(max_queue_depth=10, max_scheduled=4)


class Counted:
    """Counters of tenants that counts how often they are read."""

    def __init__(self) -> None:
        self.jobs: dict[str, dict[str, int]] = {}
        self.reads: list[str] = []

    def load(self, tenant: str) -> QueueTotals:
        self.reads.append(tenant)
        return QueueTotals(jobs=self.jobs.get(tenant, {}))


@pytest.fixture
def counted() -> Counted:
    return Counted()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def limits(aws: EmbeddedAws, counted: Counted, clock: FakeClock) -> TenantEnqueueLimits:
    """The limits as a process keeps them."""
    buckets = ClientBuckets(aws.clients.dynamodb, aws.settings.table)
    pressures = Pressures(aws.clients.dynamodb, aws.settings.table)
    tallies = cast("Tallies", counted)
    return TenantEnqueueLimits(lambda: buckets, lambda: tallies, lambda: pressures, clock)


def jobs(count: int, state: JobState = JobState.AVAILABLE) -> list[JobRecord]:
    """Jobs of a request."""
    return [replace(a_job(number), state=state) for number in range(1, count + 1)]


def refusal(
    limits: TenantEnqueueLimits, settings: TenantSettings, records: list[JobRecord]
) -> dict[str, object]:
    """Return the details of the error of a refused request."""
    with pytest.raises(TenantLimitError) as refused:
        limits.admit("acme", settings, records)
    assert (refused.value.status, refused.value.as_dict()["retryable"]) == (429, True)
    return {**refused.value.details}


def test_a_tenant_without_limits_of_enqueuing_costs_no_call(
    limits: TenantEnqueueLimits, counted: Counted, aws: EmbeddedAws
) -> None:
    with aws.calls.counted() as calls:
        limits.admit("acme", TenantSettings(max_concurrency=1), jobs(100))
    assert (calls, counted.reads) == ({}, [])


def test_a_rate_lets_so_many_jobs_in_at_once_and_then_one_after_another(
    limits: TenantEnqueueLimits, clock: FakeClock
) -> None:
    """Five a second are one in 200 ms."""
    for _ in range(5):
        limits.admit("acme", FIVE_A_SECOND, jobs(1))
    shown = {"limit": "max_enqueue_rate", "current": 5, "maximum": 5, "retry_after_seconds": 1}
    assert refusal(limits, FIVE_A_SECOND, jobs(1)) == {"tenant_id": "acme", **shown}
    clock.advance(ms=199)
    refusal(limits, FIVE_A_SECOND, jobs(1))
    clock.advance(ms=1)
    limits.admit("acme", FIVE_A_SECOND, jobs(1))
    refusal(limits, FIVE_A_SECOND, jobs(1))
    limits.admit("beta", FIVE_A_SECOND, jobs(1))


def test_a_batch_is_let_in_whole_and_paid_for_afterwards(
    limits: TenantEnqueueLimits, clock: FakeClock
) -> None:
    """A batch of 20 at five a second: the next job may come when there is room for one again."""
    limits.admit("acme", FIVE_A_SECOND, jobs(20))
    assert refusal(limits, FIVE_A_SECOND, jobs(1))["retry_after_seconds"] == 4
    clock.advance(ms=3_199)
    assert refusal(limits, FIVE_A_SECOND, jobs(1))["retry_after_seconds"] == 1
    clock.advance(ms=1)
    limits.admit("acme", FIVE_A_SECOND, jobs(1))


def test_a_rate_costs_a_write_for_each_request(
    limits: TenantEnqueueLimits, clock: FakeClock, aws: EmbeddedAws
) -> None:
    """However many jobs it has; the process remembers whether the bucket was full."""
    with aws.calls.counted() as calls:
        for _ in range(2):
            limits.admit("acme", FIVE_A_SECOND, jobs(2))
        clock.advance(s=60)
        limits.admit("acme", FIVE_A_SECOND, jobs(2))
    assert calls == {"UpdateItem": 3}


def test_the_depth_counts_what_is_available_and_what_is_scheduled(
    limits: TenantEnqueueLimits, counted: Counted
) -> None:
    """And nothing else; up to the limit, and no further."""
    counted.jobs["acme"] = {"available": 5, "scheduled": 3, "retryable": 9, "active": 9}
    shown = {"limit": "max_queue_depth", "current": 8, "maximum": 10, "retry_after_seconds": 1}
    assert refusal(limits, DEEP, jobs(3)) == {"tenant_id": "acme", **shown}
    limits.admit("acme", DEEP, jobs(2))
    limits.admit("acme", DEEP, jobs(5, JobState.PENDING))
    assert refusal(limits, DEEP, jobs(1))["current"] == 10
    limits.admit("beta", DEEP, jobs(10))


def test_scheduled_jobs_have_a_limit_of_their_own(
    limits: TenantEnqueueLimits, counted: Counted
) -> None:
    """And count for the depth as well."""
    counted.jobs["acme"] = {"scheduled": 3}
    limits.admit("acme", DEEP, jobs(1, JobState.SCHEDULED))
    refused = refusal(limits, DEEP, jobs(1, JobState.SCHEDULED))
    assert (refused["limit"], refused["current"], refused["maximum"]) == ("max_scheduled", 4, 4)
    limits.admit("acme", DEEP, jobs(6))
    assert refusal(limits, DEEP, jobs(1))["limit"] == "max_queue_depth"
    deep = TenantSettings(max_queue_depth=10)
    assert refusal(limits, deep, jobs(1, JobState.SCHEDULED))["current"] == 10


def test_counters_below_zero_count_as_none(limits: TenantEnqueueLimits, counted: Counted) -> None:
    """They may be, after a tenant was forgotten."""
    counted.jobs["acme"] = {"available": -5, "scheduled": -5}
    limits.admit("acme", DEEP, jobs(10))
    refusal(limits, DEEP, jobs(1))


def test_the_counters_are_read_once_in_a_second(
    limits: TenantEnqueueLimits, counted: Counted, clock: FakeClock
) -> None:
    """In between a process counts what it lets in itself."""
    for _ in range(10):
        limits.admit("acme", DEEP, jobs(1))
    refusal(limits, DEEP, jobs(1))
    clock.advance(ms=999)
    refusal(limits, DEEP, jobs(1))
    assert counted.reads == ["acme"]
    clock.advance(ms=1)
    limits.admit("acme", DEEP, jobs(10))
    assert counted.reads == ["acme", "acme"]


def test_what_is_refused_counts_nowhere(limits: TenantEnqueueLimits, counted: Counted) -> None:
    """Neither for the depth, where the rate refuses, nor for the rate, where the depth does."""
    both = TenantSettings(max_enqueue_rate=Window(5, 1_000), max_queue_depth=7)
    assert refusal(limits, both, jobs(8))["limit"] == "max_queue_depth"
    limits.admit("acme", both, jobs(5))
    assert refusal(limits, both, jobs(1))["limit"] == "max_enqueue_rate"
    limits.admit("acme", TenantSettings(max_queue_depth=7), jobs(2))


def test_it_remembers_a_bounded_number_of_tenants(
    limits: TenantEnqueueLimits, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it begins again."""
    monkeypatch.setattr(module, "MAX_KEPT", 2)
    both = TenantSettings(max_enqueue_rate=Window(5, 1_000), max_queue_depth=7)
    for tenant in ("a", "b", "a", "b", "c", "a"):
        limits.admit(tenant, both, jobs(1))
    assert counted.reads == ["a", "b", "c", "a"]


NONE = TenantSettings(max_queue_depth=0)


def reported(aws: EmbeddedAws) -> list[tuple[str, str, int]]:
    """The tenants whose refusals the stream finds, with the limit and their number."""
    found = [read_image(item) for item in items_of(aws, PRESSURE_PARTITION)]
    return [(x.tenant, x.limit, x.count) for x in found if isinstance(x, TenantRefusals)]


def test_refusals_cost_one_write_a_minute_and_none_is_lost(
    limits: TenantEnqueueLimits, clock: FakeClock, aws: EmbeddedAws
) -> None:
    """However many they are."""
    with aws.calls.counted() as calls:
        for _ in range(50):
            refusal(limits, NONE, jobs(2))
    assert calls == {"UpdateItem": 1}
    assert reported(aws) == [("acme", "max_queue_depth", 2)]
    clock.advance(ms=59_999)
    refusal(limits, NONE, jobs(1))
    assert reported(aws) == [("acme", "max_queue_depth", 2)]
    clock.advance(ms=1)
    refusal(limits, NONE, jobs(1))
    assert reported(aws) == [("acme", "max_queue_depth", 102)]
    refusal(limits, replace(FIVE_A_SECOND, max_queue_depth=0), jobs(1))


def test_processes_share_the_minute_of_a_tenant(
    limits: TenantEnqueueLimits, clock: FakeClock, aws: EmbeddedAws
) -> None:
    """What one may not report now it reports later."""
    other = replace(limits, _refused={})
    refusal(limits, NONE, jobs(1))
    refusal(other, NONE, jobs(1))
    assert reported(aws) == [("acme", "max_queue_depth", 1)]
    clock.advance(ms=60_000)
    refusal(other, NONE, jobs(1))
    assert reported(aws) == [("acme", "max_queue_depth", 3)]


def test_a_refusal_that_cannot_be_reported_is_a_refusal_still(
    limits: TenantEnqueueLimits,
    clock: FakeClock,
    aws: EmbeddedAws,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Before and after the write took effect; a count that was written twice is the worst."""
    client = aws.clients.dynamodb

    def lost(**request: Any) -> Any:
        client.update_item(**request)
        raise ClientError({"Error": {"Code": "InternalServerError"}}, "UpdateItem")

    broken = Pressures(instead(client, update_item=lost), aws.settings.table)
    with caplog.at_level("WARNING"):
        refusal(replace(limits, pressures=lambda: broken), NONE, jobs(1))
    assert "Could not publish refusals of tenant acme" in caplog.text
    assert reported(aws) == [("acme", "max_queue_depth", 1)]
    clock.advance(ms=60_000)
    refusal(limits, NONE, jobs(1))
    assert reported(aws) == [("acme", "max_queue_depth", 3)]


def test_what_is_remembered_of_refused_tenants_is_bounded(
    limits: TenantEnqueueLimits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_KEPT", 2)
    for number in range(5):
        with pytest.raises(TenantLimitError):
            limits.admit(f"t{number}", NONE, jobs(1))
    assert len(limits._refused) <= 2
