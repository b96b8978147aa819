"""API keys that are bound to a tenant: what they see, and that no header leads out."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.access import Caller, Scope, permissions_of
from tests.api import Api
from tests.simulation.world import World
from tests.unit.transport.http.test_authorization import as_caller, scoped


def key_of(*scopes: Scope, tenant: str = "acme") -> dict[str, Any]:
    """What the gateway says of somebody with a key of a tenant."""
    granted = permissions_of(scopes)
    return as_caller(Caller(id="key:1", name="test", permissions=granted, tenant=tenant))


@pytest.fixture
def api() -> Api:
    """A deployment with API keys, with a job of another tenant and one of none."""
    made = Api(World(settings=Settings(auth="api-key")).backend)
    made.authorizer = scoped(Scope.PRODUCER)
    made.push(id="01912345-6789-7abc-8def-000000000001", meta={"tenant_id": "beta"})
    made.push(id="01912345-6789-7abc-8def-000000000002")
    return made


def test_a_bound_key_names_the_tenant_of_its_jobs(api: Api) -> None:
    """As the header does; the same header changes nothing, another one is refused."""
    api.authorizer = key_of(Scope.PRODUCER)
    job = {"type": "a.b", "args": []}
    assert api.post("/jobs", job).json["job"]["meta"] == {"tenant_id": "acme"}
    assert api.post("/jobs", job, headers={"X-OJS-Tenant": "acme"}).status == 201
    other = api.post("/jobs", job, headers={"X-OJS-Tenant": "beta"})
    assert (other.status, other.error["code"]) == (403, "permission_denied")
    named = api.post("/jobs", job | {"meta": {"tenant_id": "beta"}})
    assert (named.status, named.error["details"]["field"]) == (400, "meta.tenant_id")


@pytest.mark.parametrize("number", [1, 2])
def test_a_bound_key_sees_no_job_of_others(api: Api, number: int) -> None:
    """Neither another tenant's nor one without a tenant."""
    api.authorizer = key_of(Scope.OPERATOR)
    job = f"01912345-6789-7abc-8def-00000000000{number}"
    assert api.get(f"/jobs/{job}").status == 404
    assert api.delete(f"/jobs/{job}").status == 404


def test_a_workers_bound_key_fetches_for_its_tenant(api: Api) -> None:
    """And cannot count what the queues of all hold."""
    api.authorizer = key_of(Scope.WORKER, tenant="beta")
    assert [job["meta"]["tenant_id"] for job in api.fetch(count=9)] == ["beta"]
    api.authorizer = key_of(Scope.OPERATOR, tenant="beta")
    assert api.get("/admin/stats").status == 403
    assert len(api.get("/jobs").json["jobs"]) == 1
