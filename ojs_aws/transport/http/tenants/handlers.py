"""Handles what is shown of tenants (ojs-multi-tenancy, section 10)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.access import PermissionDeniedError
from ojs_aws.domain.queues.tallies import TallyKind
from ojs_aws.domain.tenants import check_tenant
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.services.tenants.stats import RATE_MINUTES, TenantCounts
from ojs_aws.transport.http.calls import Answer, Call, json_of
from ojs_aws.transport.http.queries import further, number_of, read_mark, text_of, write_mark

if TYPE_CHECKING:
    from ojs_aws.transport.http.jobs.models import JobListAnswer
    from ojs_aws.transport.http.tenants import models

_MARK: Final = "t:"


def list_tenants(call: Call) -> Answer[models.TenantsAnswer]:
    """Return the tenants by id; to a request with a tenant, that one alone."""
    query = call.request.query
    own = _own(call, "list_tenants")
    limit, after = number_of(query, "limit"), read_mark(_MARK, text_of(query, "cursor"))
    tenants = call.backend.tenants
    found, following = ([tenants.get(own)], "") if own else tenants.page(after, limit)
    items = json_of([_shown(each) for each in found])
    pagination: models.TenantPagination = {"limit": limit, **further(write_mark(_MARK, following))}
    return Answer({"items": items, "tenants": items, "pagination": pagination})


def get_tenant(call: Call) -> Answer[models.TenantAnswer]:
    """Return one tenant."""
    shown = _shown(call.backend.tenants.get(_named(call, "get_tenant")))
    return Answer({"tenant": shown, **shown})


def get_tenant_stats(call: Call) -> Answer[models.TenantStatsAnswer]:
    """Count what a tenant has, and what it did in a day."""
    found = call.backend.tenants.with_day(_named(call, "get_tenant_stats"))
    shown, day = _shown(found), found.day.counts
    jobs: models.TenantDayJobs = {
        **shown["jobs"],
        "completed_24h": day[TallyKind.COMPLETED],
        "failed_24h": day[TallyKind.FAILED],
    }
    return Answer(
        {
            "tenant_id": found.tenant,
            "total_jobs": shown["total_jobs"],
            "jobs": jobs,
            "throughput": shown["throughput"],
            "computed_at": format_instant(found.computed_at),
        }
    )


def list_tenant_jobs(call: Call) -> Answer[JobListAnswer]:
    """Return the jobs of a tenant, as a request of the tenant itself lists them (section 10.3)."""
    from ojs_aws.transport.http.jobs.admin_handlers import list_jobs

    caller = replace(call.request.caller, tenant=_named(call, "list_tenant_jobs"))
    return list_jobs(replace(call, request=replace(call.request, caller=caller)))


def _own(call: Call, operation: str) -> str:
    """Return the only tenant that the caller may see; empty for one who may see all.

    :raises PermissionDeniedError: its credentials are bound to queues or job types.
    """
    caller = call.request.caller
    replace(caller, tenant="").check_unbound(operation)
    return caller.tenant


def _named(call: Call, operation: str) -> str:
    """Return the tenant that the path names.

    :raises InvalidRequestError: no tenant can be called so.
    :raises PermissionDeniedError: the request is for another tenant, whether or not there is this.
    """
    tenant, own = check_tenant(call.named("tenant"), "tenant"), _own(call, operation)
    if own not in ("", tenant):
        raise PermissionDeniedError(
            f"This request is for the tenant '{own}', and names another.",
            details={"field": "tenant", "tenant_id": own},
            hint="Leave out X-OJS-Tenant, and use credentials that are bound to no tenant.",
        )
    return tenant


def _shown(found: TenantCounts) -> models.Tenant:
    held = found.totals.jobs
    jobs: models.TenantJobs = {
        "available": max(0, held.get("available", 0)),
        "scheduled": max(0, held.get("scheduled", 0)),
        "retryable": max(0, held.get("retryable", 0)),
        "active": max(0, held.get("active", 0)),
        "pending": max(0, held.get("pending", 0)),
        "completed": max(0, held.get("completed", 0)),
        "cancelled": max(0, held.get("cancelled", 0)),
        "discarded": max(0, held.get("discarded", 0)),
    }
    counts = found.recent.counts
    processed = counts[TallyKind.COMPLETED] + counts[TallyKind.FAILED]
    return {
        "tenant_id": found.tenant,
        "total_jobs": sum(max(0, held.get(state, 0)) for state in jobs),
        "jobs": jobs,
        "throughput": {
            "processed_per_minute": round(processed / RATE_MINUTES, 2),
            "enqueued_per_minute": round(counts[TallyKind.ENQUEUED] / RATE_MINUTES, 2),
        },
    }
