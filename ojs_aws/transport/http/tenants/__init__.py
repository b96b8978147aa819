"""Serves tenants: isolation of requests, and what was counted of each."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.route import INSPECTS_OWN, PAGED, Group, Route

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
)
