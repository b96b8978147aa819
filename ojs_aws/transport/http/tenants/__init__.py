"""Serves tenants: isolation of requests, what was counted of each, and what is set for it."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.route import ADMINISTERS, INSPECTS_OWN, PAGED, Group, Route

_operator = functools.partial(Route, group=Group.OPERATOR, module="tenants.handlers")

# fmt: off
ROUTES: Final[tuple[Route, ...]] = (
    _operator("GET /admin/tenants", "list_tenants", INSPECTS_OWN,
        "List the tenants with their jobs by state", query=("limit", "cursor")),
    _operator("GET /admin/tenants/<tenant>", "get_tenant", INSPECTS_OWN,
        "Read a tenant with its jobs by state"),
    _operator("GET /admin/tenants/<tenant>/stats", "get_tenant_stats", INSPECTS_OWN,
        "Count what a tenant has and did"),
    _operator("GET /admin/tenants/<tenant>/jobs", "list_tenant_jobs", INSPECTS_OWN,
        "List the jobs of a tenant",
        query=("queue", "job_states", "job_type_or_prefix", *PAGED, "order")),
    _operator("PUT /admin/tenants/<tenant>", "set_tenant", ADMINISTERS,
        "Set the limits of a tenant in place of all it had", request="TenantBody",
        is_recorded=True),
    _operator("PATCH /admin/tenants/<tenant>", "change_tenant", ADMINISTERS,
        "Change the named limits of a tenant", request="TenantBody", repeatable=True,
        is_recorded=True),
    _operator("PUT /admin/tenants/<tenant>/limits", "change_tenant_limits", ADMINISTERS,
        "Change the named limits of a tenant, without a wrapper", request="TenantLimitsBody",
        is_recorded=True),
    _operator("DELETE /admin/tenants/<tenant>", "reset_tenant", ADMINISTERS,
        "Remove all that was set for a tenant", repeatable=True, is_recorded=True),
    _operator("POST /admin/tenants/<tenant>/suspend", "suspend_tenant", ADMINISTERS,
        "Refuse a tenant's new jobs, and let none of its jobs begin", repeatable=True,
        is_recorded=True),
    _operator("POST /admin/tenants/<tenant>/resume", "resume_tenant", ADMINISTERS,
        "Let a suspended tenant go on", repeatable=True, is_recorded=True),
)
