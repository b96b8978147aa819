"""Tenants as operators see them, and what a request with a tenant is refused."""

from __future__ import annotations

from typing import Final

from tests.transcript.steps import Feature, Step, get

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
    get("read another tenant", "/admin/tenants/acme", headers={"X-OJS-Tenant": "beta"}),
]

FEATURES: Final = [Feature(name="tenants", steps=STEPS)]
