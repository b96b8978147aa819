"""Declares the requests and answers about tenants."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field
from typing_extensions import TypedDict

from ojs_aws.transport.http.calls import JsonOf
from ojs_aws.transport.http.models import LARGEST_COUNT, Body, Further, Timestamp


class TenantLimitsBody(Body):
    """Names limits of a tenant (ojs-multi-tenancy, section 8.1); null lifts one."""

    max_concurrency: Annotated[int, Field(ge=0, le=LARGEST_COUNT)] | None = None


class TenantBody(Body):
    """Sets or changes the limits of a tenant."""

    limits: TenantLimitsBody = TenantLimitsBody()


TenantStateName: TypeAlias = Literal["active", "suspended"]


class TenantLimits(TypedDict, total=False):
    """Shows the limits that were set for a tenant."""

    max_concurrency: int


class TenantSettingsAnswer(TypedDict):
    """Shows what was set for a tenant."""

    tenant_id: str
    state: TenantStateName
    limits: TenantLimits


class TenantResetAnswer(TypedDict):
    """Says that nothing is set for a tenant any more."""

    tenant_id: str
    deleted: bool


class TenantLimitUse(TypedDict):
    """Shows a limit, and what was counted."""

    limit: int
    current: int


class TenantLimitUses(TypedDict, total=False):
    """Shows the limits of a tenant with what was counted."""

    max_concurrency: TenantLimitUse


class TenantJobs(TypedDict):
    """Counts the jobs of a tenant by state."""

    available: int
    scheduled: int
    retryable: int
    active: int
    pending: int
    completed: int
    cancelled: int
    discarded: int


class TenantDayJobs(TenantJobs):
    """Counts them, and what ended in the last 24 hours."""

    completed_24h: int
    failed_24h: int


class TenantThroughput(TypedDict):
    """Shows averages of the last five minutes that are over."""

    processed_per_minute: float
    enqueued_per_minute: float


class Tenant(TypedDict):
    """Shows a tenant, with its jobs by state."""

    tenant_id: str
    total_jobs: int
    jobs: TenantJobs
    throughput: TenantThroughput


class TenantDetail(Tenant):
    """Shows a tenant with what was set for it."""

    state: TenantStateName
    limits: TenantLimits


class TenantAnswer(TenantDetail):
    """Shows a tenant, flat and in a wrapper."""

    tenant: TenantDetail


class TenantStatsAnswer(TypedDict):
    """Shows what a tenant has and did."""

    tenant_id: str
    total_jobs: int
    jobs: TenantDayJobs
    throughput: TenantThroughput
    state: TenantStateName
    limits: TenantLimitUses
    computed_at: Timestamp


class TenantPagination(Further):
    """Says where a list of tenants goes on."""

    limit: int


class TenantsAnswer(TypedDict):
    """Shows a page of the tenants."""

    items: JsonOf[list[Tenant]]
    tenants: JsonOf[list[Tenant]]
    pagination: TenantPagination
