"""Handles what is shown of tenants, and set for them (ojs-multi-tenancy, section 10)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from ojs_aws.domain.access import PermissionDeniedError
from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.queues.tallies import TallyKind
from ojs_aws.domain.tenants import (
    CHANGES,
    LIMITS,
    UNLIMITED,
    TenantSettings,
    changes_of,
    check_tenant,
)
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.services.tenants.admin import RATE_MINUTES, Change, TenantCounts, TenantState
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
    admin = call.backend.tenant_admin
    page = ([tenants.get(own)], "") if own else tenants.page(after, limit, admin.with_settings)
    found, following = page
    states = admin.get_many([each.tenant for each in found])
    items = json_of([_detail(each, of) for each, of in zip(found, states, strict=True)])
    pagination: models.TenantPagination = {"limit": limit, **further(write_mark(_MARK, following))}
    return Answer({"items": items, "tenants": items, "pagination": pagination})


def get_tenant(call: Call) -> Answer[models.TenantAnswer]:
    """Return one tenant."""
    tenant = _named(call, "get_tenant")
    shown = _detail(call.backend.tenants.get(tenant), call.backend.tenant_admin.get(tenant))
    return Answer({"tenant": shown, **shown})


def get_tenant_stats(call: Call) -> Answer[models.TenantStatsAnswer]:
    """Count what a tenant has, and what it did in a day."""
    tenant = _named(call, "get_tenant_stats")
    found, state = call.backend.tenants.with_day(tenant), call.backend.tenant_admin.get(tenant)
    shown, day, settings = _shown(found), found.day.counts, _settings(state)
    used = _used(settings["limits"], shown["jobs"], state.active)
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
            "state": settings["state"],
            "limits": used,
            "computed_at": format_instant(found.computed_at),
        }
    )


def list_tenant_jobs(call: Call) -> Answer[JobListAnswer]:
    """Return the jobs of a tenant, as a request of the tenant itself lists them (section 10.3)."""
    from ojs_aws.transport.http.jobs.admin_handlers import list_jobs

    caller = replace(call.request.caller, tenant=_named(call, "list_tenant_jobs"))
    return list_jobs(replace(call, request=replace(call.request, caller=caller)))


def set_tenant(call: Call) -> Answer[models.TenantSettingsAnswer]:
    """Set the limits of a tenant; what is not named is not limited. A suspension stays."""
    given = _limits(call)

    def change(before: TenantSettings) -> TenantSettings:
        return replace(UNLIMITED, is_suspended=before.is_suspended).with_limits(given)

    return _changed(call, change)


def change_tenant(call: Call) -> Answer[models.TenantSettingsAnswer]:
    """Change the limits of a tenant that the body names; null lifts one."""
    given = _limits(call)
    return _changed(call, lambda before: before.with_limits(given))


def change_tenant_limits(call: Call) -> Answer[models.TenantSettingsAnswer]:
    """Change limits that stand in the body as they are, maybe with a reason (section 9.3)."""
    given = {name: each for name, each in call.values().items() if name != "reason"}
    return _changed(call, lambda before: before.with_limits(given))


def reset_tenant(call: Call) -> Answer[models.TenantResetAnswer]:
    """Remove limits and suspension of a tenant; its jobs and their counts stay."""
    state = _change(call, lambda _: UNLIMITED)
    return Answer({"tenant_id": state.tenant, "deleted": True})


def suspend_tenant(call: Call) -> Answer[models.TenantSettingsAnswer]:
    """Keep a tenant from enqueuing and running jobs."""
    return _changed(call, lambda before: replace(before, is_suspended=True))


def resume_tenant(call: Call) -> Answer[models.TenantSettingsAnswer]:
    """Resume a tenant; its limits are those that it had."""
    return _changed(call, lambda before: replace(before, is_suspended=False))


def _limits(call: Call) -> JsonValue:
    """Return the limits that the body has.

    :raises InvalidRequestError: some stand beside ``limits``, where they would not count.
    """
    values = call.values()
    if misplaced := sorted(values.keys() & {*LIMITS}):
        name = misplaced[0]
        raise field_error(name, f"The '{name}' attribute must be a member of 'limits'.")
    return values.get("limits", {})


def _changed(call: Call, change: Change) -> Answer[models.TenantSettingsAnswer]:
    return Answer(_settings(_change(call, change)))


def _change(call: Call, change: Change) -> TenantState:
    """Change what is set for a tenant; the operation's record says what that did."""
    state = call.backend.tenant_admin.change(_target(call), change)
    if changes := changes_of(state.before, state.settings):
        call.done[CHANGES] = changes
    return state


def _target(call: Call) -> str:
    """Return the tenant to change. Who may change tenants is bound to none."""
    return check_tenant(call.named("tenant"), "tenant")


def _settings(state: TenantState) -> models.TenantSettingsAnswer:
    settings = state.applied
    limits = cast("models.TenantLimits", settings.limits())
    name: models.TenantStateName = "suspended" if settings.is_suspended else "active"
    return {"tenant_id": state.tenant, "state": name, "limits": limits}


def _used(
    limits: models.TenantLimits, jobs: models.TenantJobs, active: int
) -> models.TenantLimitUses:
    """Return the limits with what they count."""
    used: models.TenantLimitUses = {}
    if (most := limits.get("max_concurrency")) is not None:
        used["max_concurrency"] = {"limit": most, "current": active}
    if (rate := limits.get("max_enqueue_rate")) is not None:
        used["max_enqueue_rate"] = rate
    if (most := limits.get("max_queue_depth")) is not None:
        used["max_queue_depth"] = {"limit": most, "current": jobs["available"] + jobs["scheduled"]}
    if (most := limits.get("max_scheduled")) is not None:
        used["max_scheduled"] = {"limit": most, "current": jobs["scheduled"]}
    return used


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


def _detail(found: TenantCounts, state: TenantState) -> models.TenantDetail:
    settings = _settings(state)
    return {**_shown(found), "state": settings["state"], "limits": settings["limits"]}


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
