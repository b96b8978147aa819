"""Limits that a deployment sets for each tenant, without a row for any of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.config import Settings, SettingsError
from ojs_aws.domain.errors import TenantLimitError
from ojs_aws.domain.limits import Bucket, queue_key, tenant_key, type_key
from ojs_aws.domain.tenants import UNLIMITED, TenantSettings, limits_of_all
from ojs_aws.services.limits.admin import MAX_TYPES
from ojs_aws.services.limits.check import LimitCheck
from tests.contract.test_job_store import NOW, a_job
from tests.job_steps import fetched_ids, pushed
from tests.simulation.world import World


def world_of(**limits: Any) -> World:
    """A deployment whose tenants have these limits."""
    return World(settings=Settings(tenant_limits=json.dumps(limits)))


def job(world: World, tenant: str) -> str:
    """The id of a job of a tenant that is enqueued later than the one before."""
    world.clock.advance(ms=5)
    return pushed(world.backend, meta={"tenant_id": tenant} if tenant else {}).id


def own(world: World, tenant: str, **limits: Any) -> None:
    """Set limits of one tenant, and let each process learn of them."""
    world.backend.tenant_admin.change(tenant, lambda _: UNLIMITED.with_limits(limits))
    world.clock.advance(s=6)


def test_so_many_jobs_of_each_tenant_run() -> None:
    """Those of others pass them by; a job that ends makes room; jobs without a tenant go on."""
    world = world_of(max_concurrency=1)
    ids = {name: job(world, name[0]) for name in ("a1", "a2", "b1", "b2")}
    free = [job(world, "") for _ in range(3)]
    assert fetched_ids(world.backend, count=9) == [ids["a1"], ids["b1"], *free]
    assert fetched_ids(world.backend, count=9) == []
    world.backend.jobs.ack(ids["a1"], "w", None)
    world.clock.advance(s=20)
    assert fetched_ids(world.backend, count=9) == [ids["a2"]]
    assert world.limits.scopes(world.clock.now()) == [], "no list names the tenants"


def test_a_limit_of_its_own_counts_instead() -> None:
    """Limits that are not set for the tenant are those of all."""
    world = world_of(max_concurrency=1, max_queue_depth=3)
    own(world, "acme", max_concurrency=2)
    ids = [job(world, "acme") for _ in range(3)]
    with pytest.raises(TenantLimitError, match="max_queue_depth"):
        job(world, "acme")
    assert fetched_ids(world.backend, count=9) == ids[:2]
    own(world, "beta", max_queue_depth=5)
    beta = [job(world, "beta") for _ in range(5)]
    assert fetched_ids(world.backend, count=9) == beta[:1]


def test_a_tenant_without_settings_is_refused_beyond_the_limit_of_all() -> None:
    """Whether or not some other tenant has settings."""
    world = world_of(max_queue_depth=1)
    for tenant in ("acme", "beta"):
        job(world, tenant)
        with pytest.raises(TenantLimitError) as refused:
            job(world, tenant)
        assert refused.value.details["maximum"] == 1
        own(world, "other", max_queue_depth=9)
    job(world, "")


def test_more_tenants_are_limited_than_may_have_a_limit_of_their_own() -> None:
    check = LimitCheck("default", most_of_tenant=1)
    names = [f"t{number}" for number in range(MAX_TYPES + 100)]
    assert all(check.keys_of("", "a.b", name) == [f"tenant/{name}"] for name in names)
    assert check.keys_of("", "a.b", "") == []
    assert not LimitCheck("default").limits_tenant("acme")
    assert LimitCheck("default", most_of_tenant=0).limits_tenant("acme")


def test_the_limit_of_all_tenants_is_none_of_queues_and_job_types() -> None:
    """Their buckets count jobs, also where nothing limits them any more."""
    check = LimitCheck("default", most_of_tenant=0)
    for key in (queue_key("default"), type_key("a.b")):
        assert isinstance(check.take(a_job(), {key: Bucket(key=key)}, NOW), list)
    key = tenant_key("acme")
    assert not isinstance(check.take(a_job(), {key: Bucket(key=key)}, NOW), list)


def test_operators_see_the_limits_that_apply() -> None:
    """And why a job waits."""
    world = world_of(max_concurrency=1, max_scheduled=7)
    first, second = job(world, "acme"), job(world, "acme")
    assert fetched_ids(world.backend, count=9) == [first]
    reasons = world.backend.jobs.why(second).reasons
    assert [each.data["key"] for each in reasons if "key" in each.data] == ["tenant/acme"]
    state = world.backend.tenant_admin.get("acme")
    assert (state.settings, state.applied.max_concurrency, state.active) == (UNLIMITED, 1, 1)
    own(world, "acme", max_concurrency=5)
    [state] = world.backend.tenant_admin.get_many(["acme"])
    assert state.settings == TenantSettings(max_concurrency=5)
    assert state.applied == TenantSettings(max_concurrency=5, max_scheduled=7)


def test_each_limit_that_is_missing_is_the_one_of_all() -> None:
    """Zero is a limit, and a suspension stays."""
    of_all = limits_of_all('{"max_concurrency": 3, "max_queue_depth": 9}')
    assert of_all == TenantSettings(max_concurrency=3, max_queue_depth=9)
    assert UNLIMITED.over(of_all) == of_all
    mine = TenantSettings(max_concurrency=0, fairness_weight=2, is_suspended=True)
    assert mine.over(of_all) == replace(mine, max_queue_depth=9)
    assert limits_of_all("") == UNLIMITED


@pytest.mark.parametrize(
    "text", ["5", "[", '{"max_size": 1}', '{"max_concurrency": -1}', '{"fairness_weight": 2}']
)
def test_limits_that_cannot_be_followed_start_no_process(text: str) -> None:
    with pytest.raises(SettingsError, match="OJS_TENANT_LIMITS"):
        World(settings=Settings.from_env({"OJS_TENANT_LIMITS": text}))


def test_the_setting_is_read_from_the_environment() -> None:
    text = '{"max_enqueue_rate": {"limit": 10, "period": "PT1S"}}'
    assert Settings.from_env({"OJS_TENANT_LIMITS": text}).tenant_limits == text
    assert Settings.from_env({"OJS_TENANT_LIMITS": " "}).tenant_limits == ""
