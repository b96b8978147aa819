"""Settings of tenants as operators change them: races, faults, and what follows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from ojs_aws.domain.errors import BackendUnavailableError, InvalidPolicyError, OjsError
from ojs_aws.domain.limits import tenant_key
from ojs_aws.domain.tenants import UNLIMITED, TenantSettings, settings_in
from ojs_aws.services.limits import admin as limit_admin
from ojs_aws.services.tenants.admin import TRIES, Change, TenantAdmin
from tests.job_steps import fetched_ids, pushed
from tests.simulation.world import World

OF_ACME = {"tenant_id": "acme"}


@pytest.fixture
def tenants(world: World) -> TenantAdmin:
    return world.backend.tenant_admin


def limit(most: int | None) -> Change:
    """The change to a limit."""
    return lambda before: before.with_limits({"max_concurrency": most})


def suspend(before: TenantSettings) -> TenantSettings:
    """The change to a suspended tenant."""
    return replace(before, is_suspended=True)


def test_settings_are_changed_one_after_another(tenants: TenantAdmin) -> None:
    """What one change does not name stays."""
    assert tenants.get("acme").settings == UNLIMITED
    tenants.change("acme", limit(3))
    tenants.change("acme", suspend)
    assert tenants.get("acme").settings == TenantSettings(max_concurrency=3, is_suspended=True)
    assert tenants.get("beta").settings == UNLIMITED
    tenants.change("acme", lambda _: UNLIMITED)
    assert tenants.get("acme").settings == UNLIMITED


def test_a_change_meanwhile_is_not_lost(tenants: TenantAdmin) -> None:
    """The other one is made on top of it; somebody who always loses gets an error."""
    calls = []

    def change(before: TenantSettings) -> TenantSettings:
        calls.append(before)
        if len(calls) == 1:
            tenants.change("acme", suspend)
        return before.with_limits({"max_concurrency": 3})

    done = tenants.change("acme", change)
    assert done.settings == TenantSettings(max_concurrency=3, is_suspended=True)
    assert len(calls) == 2

    def lose(before: TenantSettings) -> TenantSettings:
        calls.append(before)
        tenants.change("acme", limit(100 + len(calls)))
        return replace(before, is_suspended=not before.is_suspended)

    calls.clear()
    with pytest.raises(BackendUnavailableError, match="too many requests"):
        tenants.change("acme", lose)
    assert len(calls) == TRIES


def test_an_earlier_change_does_not_take_effect_after_a_later_one(
    world: World, tenants: TenantAdmin
) -> None:
    """Not even where the later one left all as it was: a suspension that timed out, and a resume.

    Nobody is woken by a change to what is set already.
    """
    key, clock = tenant_key("acme"), world.clock
    tenants.change("acme", limit(3))
    bucket = world.limits.load(key)
    assert bucket is not None
    before = Counter(world.aws.calls.made)
    assert tenants.change("acme", limit(3)).settings.max_concurrency == 3
    made = Counter(world.aws.calls.made) - before
    assert made == {"GetItem": 2, "UpdateItem": 1, "TransactWriteItems": 1}
    late = suspend(settings_in(bucket)).text()
    done = world.limits.set_tenant("acme", bucket.revision, late, clock.now(), limits_starts=True)
    assert (done, tenants.get("acme").settings) == (False, TenantSettings(max_concurrency=3))


def test_the_jobs_that_hold_places_are_counted(world: World, tenants: TenantAdmin) -> None:
    """From the first limit on, whether it changes or not."""
    tenants.change("acme", limit(3))
    job = pushed(world.backend, meta=OF_ACME)
    assert fetched_ids(world.backend) == [job.id]
    assert tenants.get("acme").active == 1
    assert tenants.change("acme", limit(3)).active == 1
    assert tenants.change("acme", limit(2)).active == 1
    world.backend.jobs.ack(job.id, "w", None)
    assert tenants.get("acme").active == 0


def test_so_many_tenants_and_types_may_have_limits(
    tenants: TenantAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All fetches read their list. One that has a limit may change it, and lift it."""
    monkeypatch.setattr(limit_admin, "MAX_TYPES", 1)
    tenants.change("acme", limit(3))
    tenants.change("acme", limit(4))
    with pytest.raises(InvalidPolicyError, match="have limits already"):
        tenants.change("beta", suspend)
    assert tenants.get("beta").settings == UNLIMITED
    tenants.change("acme", lambda _: UNLIMITED)
    tenants.change("beta", suspend)


def test_whoever_waits_is_woken_by_a_change(world: World, tenants: TenantAdmin) -> None:
    """Messages are hidden because of the limit that there was."""
    job = pushed(world.backend, meta=OF_ACME)
    tenants.change("acme", suspend)
    assert fetched_ids(world.backend) == []
    before = world.aws.calls.made["SendMessage"]
    tenants.change("acme", lambda _: UNLIMITED)
    assert world.aws.calls.made["SendMessage"] == before + 1
    assert fetched_ids(world.backend) == [job.id]


def test_a_change_fails_as_a_whole_or_takes_effect(world: World) -> None:
    """At each call that may fail: PUSH hears of a tenant with settings before there are any."""
    for number in range(8):
        fresh = World()
        tenants = fresh.backend.tenant_admin
        fresh.faults.faulty = number
        try:
            tenants.change("acme", suspend)
        except OjsError:
            fresh.faults.faulty = None
        fresh.faults.faulty = None
        if tenants.get("acme").settings.is_suspended:
            settings = fresh.backend.stores.queue_settings()
            assert settings.load_for_push("default") == ({}, True)
        tenants.change("acme", suspend)
        with pytest.raises(OjsError, match="suspended"):
            pushed(fresh.backend, meta=OF_ACME)
