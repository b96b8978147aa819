"""What fairness keys and weights may be, whose share a job uses, and how the places sort."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.fairness import (
    COST_NS,
    EMPTY_STEP_MS,
    LEAD_NS,
    begun_at,
    check_mode,
    check_weight,
    cost_ns,
    empty_ns,
    enters_list,
    head_ns,
    lead_ns,
    placed_at,
    read_fairness,
    share_of,
    starts_before,
    starts_of,
)
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.job_policies import FairShare, Limit
from ojs_aws.domain.jobs.ready_keys import (
    begins_share,
    fair_ready_key,
    is_fair,
    limit_of,
    rank_of,
    ready_key,
    ready_since,
    ready_sort_key,
    tenant_in,
    virtual_start,
)
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant

NOW = Instant(1_760_000_000_123)
START = NOW * 1_000_000


def a_job(**more: Any) -> JobRecord:
    """An available job with a place."""
    values: dict[str, Any] = {
        "id": "j",
        "type": "t",
        "queue": "q",
        "state": JobState.AVAILABLE,
        "priority": 0,
        "attempt": 0,
        "version": 1,
        "order": NOW * 1000 + 7,
        "document": RawJson("{}"),
        "timeout_ms": 1,
        "created_at": NOW,
        "fairness": FairShare(key="a", weight=2.0, start=START),
        **more,
    }
    return JobRecord(**values)


@pytest.mark.parametrize(
    ("value", "share"),
    [
        ({"key": "customer-7"}, FairShare(key="customer-7")),
        ({"weight": 2}, FairShare(weight=2.0)),
        ({"key": "a", "weight": 0.01}, FairShare(key="a", weight=0.01)),
        ({"key": None, "weight": 1000}, FairShare(weight=1000.0)),
        ({"key": "a" * 256, "weight": None}, FairShare(key="a" * 256)),
    ],
)
def test_a_job_names_a_key_a_weight_or_both(value: JsonValue, share: FairShare) -> None:
    assert read_fairness(value) == share


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ("a", "fairness"),
        ({}, "fairness"),
        ([], "fairness"),
        ({"key": ""}, "fairness.key"),
        ({"key": "a b"}, "fairness.key"),
        ({"key": 1}, "fairness.key"),
        ({"key": "a" * 257}, "fairness.key"),
        ({"key": "a", "share": 1}, "fairness.share"),
        ({"weight": 0.009}, "fairness.weight"),
        ({"weight": 1000.1}, "fairness.weight"),
        ({"weight": True}, "fairness.weight"),
        ({"weight": "2"}, "fairness.weight"),
    ],
)
def test_anything_else_is_refused(value: JsonValue, field: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        read_fairness(value)
    assert refused.value.details["field"] == field


def test_a_weight_is_a_number() -> None:
    assert check_weight(1, "w") == 1.0
    with pytest.raises(InvalidRequestError):
        check_weight(None, "w")


@pytest.mark.parametrize(
    "value", [{}, {"by": "tenant"}, {"by": "meta.tenant_id"}, {"by": "meta." + "a" * 123}]
)
def test_a_queue_is_fair_by_its_setting(value: dict[str, JsonValue]) -> None:
    assert check_mode(value, "fairness") == value


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ("tenant", "fairness"),
        ({"key": "a"}, "fairness"),
        ({"by": "meta"}, "fairness.by"),
        ({"by": None}, "fairness.by"),
        ({"cost": "time"}, "fairness.cost"),
        ({"by": "tenant", "cost": None}, "fairness.cost"),
        ({"by": "meta."}, "fairness.by"),
        ({"by": "meta..a"}, "fairness.by"),
        ({"by": "args.0"}, "fairness.by"),
        ({"by": "tenant.id"}, "fairness.by"),
        ({"by": 1}, "fairness.by"),
        ({"by": "meta." + "a" * 124}, "fairness.by"),
    ],
)
def test_a_setting_of_another_form_is_refused(value: JsonValue, field: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        check_mode(value, "fairness")
    assert refused.value.details["field"] == field


@pytest.mark.parametrize(
    ("by", "key"),
    [
        ("", ""),
        ("tenant", "acme"),
        ("meta.id", "7"),
        ("meta.deep.er", "x"),
        ("meta.deep", ""),
        ("meta.none.er", ""),
        ("meta.id.er", ""),
        ("meta.flag", ""),
        ("meta.empty", ""),
    ],
)
def test_the_key_of_a_job_is_what_the_queue_says(by: str, key: str) -> None:
    """A job without such a value shares the empty key."""
    meta: dict[str, JsonValue] = {"id": 7, "deep": {"er": "x"}, "flag": True, "empty": ""}
    job = Job("t", [], meta=meta)
    assert share_of(job, None, by, "acme", None) == FairShare(key=key, weight=1.0)


def test_a_value_that_no_key_can_hold_is_hashed() -> None:
    """Always to the same key, and others to others."""
    keys = {
        share_of(Job("t", [], meta={"id": text}), None, "meta.id", "", None).key
        for text in ("a b", "a b", "ä", "x" * 257)
    }
    assert len(keys) == 3
    assert all(key.startswith("sha256-") and len(key) == 39 for key in keys)


def test_the_jobs_own_comes_first() -> None:
    """Key by key: it may name a weight alone, and take the queue's key."""
    job = Job("t", [], meta={"id": "m"})
    own = FairShare(key="own", weight=3.0)
    assert share_of(job, own, "meta.id", "", 2.0) == own
    assert share_of(job, FairShare(weight=3.0), "meta.id", "", 2.0) == replace(own, key="m")
    assert share_of(job, FairShare(key="own"), "meta.id", "", 2.0) == replace(own, weight=2.0)
    assert share_of(job, FairShare(key="own"), "", "", None) == replace(own, weight=1.0)


@pytest.mark.parametrize(
    ("weight", "cost"), [(1.0, 2_000), (None, 2_000), (4.0, 500), (1000.0, 2), (0.01, 200_000)]
)
def test_a_start_costs_less_the_more_the_key_weighs(weight: float | None, cost: int) -> None:
    """And a key may be ahead by as many starts, whatever its weight."""
    assert cost_ns(weight) == cost
    assert lead_ns(weight) == LEAD_NS * cost // COST_NS


@given(st.floats(0.01, 1000), st.integers(1, 9), st.integers(START, START + 9))
def test_only_the_first_job_of_a_key_is_before_the_head(
    weight: float, count: int, first: int
) -> None:
    """The sort key says so: all other virtual starts are even."""
    cost = cost_ns(weight)
    head = head_ns(fair_ready_key(0, first, 1, "", ""))
    assert head in {first, first + 1}
    starts = starts_of(begun_at(head), cost, count)
    assert starts == [head - 1, *(head + cost * number for number in range(1, count))]
    assert starts_of(head + cost, cost, count)[-1] == head + cost * count
    keys = [fair_ready_key(0, start, 1, "", "") for start in starts]
    assert [begins_share(key) for key in keys] == [True, *[False] * (count - 1)]
    assert keys == sorted(keys)
    assert not begins_share(ready_sort_key(0, 7))


def test_an_empty_list_is_at_the_begin_of_a_span() -> None:
    """So that keys that come together stand together."""
    begin = Instant(1_760_000_000_000)
    assert {empty_ns(Instant(begin + ms)) for ms in (0, 1, EMPTY_STEP_MS - 1)} == {
        begin * 1_000_000
    }
    assert empty_ns(Instant(begin + EMPTY_STEP_MS)) == (begin + EMPTY_STEP_MS) * 1_000_000


@pytest.mark.parametrize(
    ("before", "after", "enters"),
    [
        ({"state": JobState.SCHEDULED}, {}, True),
        ({"state": JobState.ACTIVE}, {}, True),
        ({}, {}, False),
        ({}, {"priority": 1}, True),
        ({}, {"queue": "another"}, True),
        ({}, {"state": JobState.ACTIVE}, False),
        ({"state": JobState.PENDING}, {"state": JobState.SCHEDULED, "priority": 1}, False),
    ],
)
def test_a_job_enters_the_list_or_does_not(
    before: dict[str, Any], after: dict[str, Any], enters: bool
) -> None:
    assert enters_list(a_job(**before), a_job(**after)) is enters


def test_a_place_keeps_key_and_weight() -> None:
    """One without a share gets the empty one."""
    assert placed_at(a_job(), 5).fairness == FairShare(key="a", weight=2.0, start=5)
    assert placed_at(a_job(fairness=None), 5).fairness == FairShare(start=5)


def test_starts_before_a_job_are_counted_by_its_weight() -> None:
    """From the first row of its priority; others say nothing."""
    job, first = a_job(), a_job(fairness=FairShare(start=START - 4 * COST_NS // 2))
    assert starts_before(job, first.ready_key) == 4
    assert starts_before(first, job.ready_key) == 0
    assert starts_before(job, replace(first, priority=5).ready_key) == 0
    assert starts_before(replace(job, fairness=None), first.ready_key) == 0
    assert starts_before(replace(job, fairness=FairShare(key="a")), first.ready_key) == 0


@pytest.mark.parametrize("limit", [None, Limit(key="crm", concurrency=1)])
@pytest.mark.parametrize("tenant", ["", "acme"])
def test_a_fair_sort_key_says_what_others_do(limit: Limit | None, tenant: str) -> None:
    """And when the job really became available."""
    key = a_job(limit=limit, tenant=tenant).ready_key
    assert key.startswith(f"100#{START}~")
    assert is_fair(key)
    assert (limit_of(key), tenant_in(key)) == ("crm" if limit else "", tenant)
    assert ready_since(key) == NOW
    assert virtual_start(key) == START
    assert rank_of(key) == "100"
    plain = a_job(limit=limit, tenant=tenant, fairness=FairShare(key="a")).ready_key
    assert plain == ready_key(ready_sort_key(0, NOW * 1000 + 7), limit_of(key), tenant)
    assert not is_fair(plain)
    assert (tenant_in(plain), ready_since(plain)) == (tenant, NOW)
    assert virtual_start(plain) == NOW * 1_000_000 + 7_000


@given(st.integers(10**15, 9 * 10**15), st.integers(10**18, 9 * 10**18))
def test_places_by_the_clock_and_by_virtual_time_sort_together(order: int, start: int) -> None:
    """As text, by the instant that both mean."""
    plain = a_job(fairness=None, order=order).ready_key
    fair = a_job(fairness=FairShare(start=start)).ready_key
    if order * 1000 // 1000 != start // 1000:
        assert (plain < fair) is (order * 1000 < start)
