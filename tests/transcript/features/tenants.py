"""Tenants as operators see and limit them, and what a request with a tenant is refused."""

from __future__ import annotations

from typing import Final

from tests.transcript.steps import Feature, Step, delete, get, patch, post, put

ACME: Final = {"X-OJS-Tenant": "acme"}
JOB: Final = {"type": "a.b", "args": []}


LIMITS: Final[list[Step]] = [
    put("set the limits of a tenant", "/admin/tenants/acme", {"limits": {"max_concurrency": 20}}),
    put("set an unknown limit of a tenant", "/admin/tenants/acme", {"limits": {"max_size": 5}}),
    put("set limits of a tenant in another form", "/admin/tenants/acme", {"limits": 5}),
    patch("change no limit of a tenant", "/admin/tenants/acme", {}),
    patch("change a limit of a tenant", "/admin/tenants/acme", {"limits": {"max_concurrency": 7}}),
    put("change a limit to a wrong value", "/admin/tenants/acme/limits", {"max_concurrency": "7"}),
    put("change a limit for a reason", "/admin/tenants/acme/limits", {"max_concurrency": 5}),
    put("limit a tenant with a wrong name", "/admin/tenants/-acme/limits", {"max_concurrency": 5}),
    post("suspend a tenant", "/admin/tenants/acme/suspend"),
    post("enqueue a job of a suspended tenant", "/jobs", JOB, headers=ACME),
    get("read a suspended tenant", "/admin/tenants/acme"),
    get("count what a suspended tenant did", "/admin/tenants/acme/stats"),
    post("resume a tenant", "/admin/tenants/acme/resume"),
    delete("remove all that was set for a tenant", "/admin/tenants/acme"),
]

STEPS: Final[list[Step]] = [
    get("list no tenants", "/admin/tenants"),
    get("list a page of tenants", "/admin/tenants?limit=1"),
    get("list tenants with a wrong limit", "/admin/tenants?limit=x"),
    get("list tenants with a wrong cursor", "/admin/tenants?cursor=%3F"),
    get("list tenants as one of them", "/admin/tenants", headers={"X-OJS-Tenant": "acme"}),
    get("read a tenant", "/admin/tenants/acme"),
    get("read a tenant with a wrong name", "/admin/tenants/-acme"),
    get("count what a tenant did", "/admin/tenants/acme/stats"),
    get("list the jobs of a tenant", "/admin/tenants/acme/jobs"),
    *LIMITS,
    get("read another tenant", "/admin/tenants/acme", headers={"X-OJS-Tenant": "beta"}),
]

FEATURES: Final = [Feature(name="tenants", steps=STEPS)]
