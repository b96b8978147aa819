"""A job is built with what its queue and its tenant allow, and nothing is asked in vain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.tenants import TenantSettings
from ojs_aws.services.jobs.build import JobBuilder
from tests.jobs import any_job
from tests.simulation.world import World

ACME: dict[str, Any] = {"meta": {"tenant_id": "acme"}}


def asked(world: World, **members: Any) -> int:
    """Return how often the settings of tenants are asked for, to build a job."""
    found: list[str] = []
    plain: JobBuilder = world.backend.jobs.push.job_builder

    def tenants() -> Any:
        found.append("asked")
        return plain.tenants()

    plain.settings._kept.clear()  # as in another process
    job = any_job("a", [], **members)
    builder, now = replace(plain, tenants=tenants), world.clock.now()
    builder.record(job, now, builder.complete(job, now))
    return len(found)


@pytest.mark.parametrize("job", [{}, ACME])
def test_no_tenant_is_looked_up_where_none_has_settings(world: World, job: dict[str, Any]) -> None:
    assert asked(world, **job) == 0


@pytest.mark.parametrize(("job", "times"), [({}, 0), (ACME, 1)])
def test_only_jobs_with_a_tenant_look_it_up(world: World, job: dict[str, Any], times: int) -> None:
    world.backend.tenant_admin.change("beta", lambda _: TenantSettings(max_concurrency=1))
    assert asked(world, **job) == times


def test_a_builder_for_one_request_goes_on_for_its_parts(world: World) -> None:
    """A part would read each tenant again."""
    many = world.backend.jobs.push.job_builder.for_many()
    assert many.for_many() is many
