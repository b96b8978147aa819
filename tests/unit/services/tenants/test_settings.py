"""What PUSH remembers of tenants' settings, and for how long."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ojs_aws.adapters.dynamodb.limits import Limits
from ojs_aws.domain.errors import BackendUnavailableError, TenantSuspendedError
from ojs_aws.domain.limits import Bucket
from ojs_aws.domain.tenants import UNLIMITED, TenantSettings
from ojs_aws.services.queues import push_settings as module
from ojs_aws.services.tenants.enqueue_limits import TenantSettingsCache
from ojs_aws.testing.deployment import FakeClock
from tests.api import Api
from tests.jobs import any_job
from tests.simulation.world import World

TWO = TenantSettings(max_concurrency=2)


class Stored:
    """A store of buckets that counts its reads."""

    def __init__(self) -> None:
        self.settings: dict[str, TenantSettings] = {}
        self.reads: list[str] = []
        self.is_broken = False

    def load(self, key: str) -> Bucket | None:
        self.reads.append(key)
        if self.is_broken:
            raise BackendUnavailableError("down")
        settings = self.settings.get(key.removeprefix("tenant/"))
        return Bucket(key=key, override=settings.text()) if settings else None


@pytest.fixture
def stored() -> Stored:
    return Stored()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def cached(stored: Stored, clock: FakeClock, age_ms: int = 5_000) -> TenantSettingsCache:
    """What a process remembers."""
    return TenantSettingsCache(clock, age_ms, lambda: cast("Limits", stored))


def test_a_tenant_is_read_once_in_the_time(stored: Stored, clock: FakeClock) -> None:
    """By each process; then a change is seen."""
    cache = cached(stored, clock)
    assert cache.of("acme") == UNLIMITED
    stored.settings["acme"] = TWO
    clock.advance(ms=4_999)
    assert cache.of("acme") == UNLIMITED
    assert cache.of("beta") == UNLIMITED
    assert stored.reads == ["tenant/acme", "tenant/beta"]
    clock.advance(ms=1)
    assert cache.of("acme") == TWO


def test_settings_that_cannot_be_read_are_those_read_last(stored: Stored, clock: FakeClock) -> None:
    """A tenant that was never read is not admitted unseen."""
    cache = cached(stored, clock)
    stored.settings["acme"] = TWO
    cache.of("acme")
    stored.is_broken = True
    clock.advance(s=60)
    assert cache.of("acme") == TWO
    with pytest.raises(BackendUnavailableError):
        cache.of("beta")


def test_one_request_reads_each_tenant_once(stored: Stored, clock: FakeClock) -> None:
    """Also where nothing is remembered beyond a request."""
    cache = cached(stored, clock, age_ms=0)
    for _ in range(2):
        cache.of("acme")
    assert len(stored.reads) == 2
    one = cache.for_one_request()
    for _ in range(2):
        one.of("acme")
    assert len(stored.reads) == 3
    cache.for_one_request().of("acme")
    assert len(stored.reads) == 4


def test_it_remembers_a_bounded_number_of_tenants(
    stored: Stored, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it begins again."""
    monkeypatch.setattr(module, "MAX_KEPT", 2)
    cache = cached(stored, clock)
    for tenant in ("a", "b", "a", "b"):
        cache.of(tenant)
    assert len(stored.reads) == 2
    for tenant in ("c", "c", "a"):
        cache.of(tenant)
    assert stored.reads[2:] == ["tenant/c", "tenant/a"]


def test_a_suspended_tenant_is_not_admitted(stored: Stored, clock: FakeClock) -> None:
    """Its producers learn when to ask again, and not to repeat the request before."""
    stored.settings |= {"acme": TenantSettings(is_suspended=True), "beta": TWO}
    cache = cached(stored, clock)
    cache.admit("beta")
    with pytest.raises(TenantSuspendedError) as refused:
        cache.admit("acme")
    error = refused.value.as_dict()
    assert (refused.value.status, error["retryable"]) == (429, False)
    shown = {"code": "TENANT_LIMIT_EXCEEDED", "tenant_id": "acme", "limit": "suspended"}
    assert error | shown | {"current": 0, "maximum": 0} == error
    assert refused.value.details["retry_after_seconds"] == 60


def test_push_reads_settings_of_tenants_only_where_one_has_some() -> None:
    """And then for jobs that name a tenant alone."""
    world = World()
    world.backend.queues.push_settings.of("default")
    acme = {"tenant_id": "acme"}
    assert _calls_of_push(world, meta=acme) == ["insert", "send"]
    world.backend.tenant_admin.change("beta", lambda _: TWO)
    world.clock.advance(s=6)
    assert _calls_of_push(world) == ["insert", "send"]
    assert _calls_of_push(world, meta=acme) == ["load", "insert", "send"]


def test_a_batch_reads_the_settings_of_the_tenants_that_it_names() -> None:
    """Jobs without a tenant have none."""
    world = World()
    world.backend.tenant_admin.change("beta", lambda _: TWO)
    named = {"type": "a.b", "args": [], "meta": {"tenant_id": "acme"}}
    world.faults.calls.clear()
    reply = Api(world.backend).post("/jobs/batch", {"jobs": [{"type": "a.b", "args": []}, named]})
    assert (reply.status, world.faults.calls.count("load")) == (201, 1)


def _calls_of_push(world: World, **attributes: Any) -> list[str]:
    world.faults.calls.clear()
    world.backend.jobs.push(any_job("a.b", [], **attributes))
    return list(world.faults.calls)
