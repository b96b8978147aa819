"""Deployments that refuse jobs without a tenant (ojs-multi-tenancy, section 5.1)."""

from __future__ import annotations

from typing import Any, Final

import pytest

from ojs_aws.config import Settings
from tests.api import Api, Reply
from tests.simulation.world import World

JOB: Final = {"type": "a.b", "args": []}
ACME: Final = {"X-OJS-Tenant": "acme"}
REQUESTS: Final[dict[str, tuple[str, Any]]] = {
    "a job": ("/jobs", JOB),
    "a batch": ("/jobs/batch", {"jobs": [JOB]}),
    "a workflow": ("/workflows", {"type": "chain", "steps": [JOB, JOB]}),
    "a cron job": ("/cron", {"name": "daily", "cron": "0 9 * * *", **JOB}),
}


def sent(what: str, *, is_required: bool = True, **more: Any) -> tuple[World, Reply]:
    """What a deployment answers."""
    world = World(settings=Settings(require_tenant=is_required))
    path, body = REQUESTS[what]
    return world, Api(world.backend).post(path, body, **more)


@pytest.mark.parametrize("what", REQUESTS)
def test_what_names_no_tenant_is_refused_and_not_stored(what: str) -> None:
    """With 422, and where the tenant belongs; the fault of a workflow's step is a 400."""
    world, refused = sent(what)
    assert refused.status == (400 if what == "a workflow" else 422), refused.text
    assert "meta.tenant_id" in refused.text
    assert not world.stored.jobs


@pytest.mark.parametrize("what", REQUESTS)
@pytest.mark.parametrize(("is_required", "headers"), [(True, ACME), (False, {})])
def test_others_are_accepted(what: str, is_required: bool, headers: dict[str, str]) -> None:
    """What names one, and everything in other deployments."""
    _, accepted = sent(what, is_required=is_required, headers=headers)
    assert accepted.status == 201, accepted.text


def test_a_workflow_goes_on_after_the_setting_was_made() -> None:
    """Its steps were accepted before."""
    world, _ = sent("a workflow", is_required=False)
    push = world.backend.workflows.advance.push
    assert not push.job_builder.needs_tenant
