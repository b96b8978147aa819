"""Declares the answers about tenants."""

from __future__ import annotations

from typing_extensions import TypedDict

from ojs_aws.transport.http.calls import JsonOf
from ojs_aws.transport.http.models import Further, Timestamp


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


class TenantAnswer(Tenant):
    """Shows a tenant, flat and in a wrapper."""

    tenant: Tenant


class TenantStatsAnswer(TypedDict):
    """Shows what a tenant has and did."""

    tenant_id: str
    total_jobs: int
    jobs: TenantDayJobs
    throughput: TenantThroughput
    computed_at: Timestamp


class TenantPagination(Further):
    """Says where a list of tenants goes on."""

    limit: int


class TenantsAnswer(TypedDict):
    """Shows a page of the tenants."""

    items: JsonOf[list[Tenant]]
    tenants: JsonOf[list[Tenant]]
    pagination: TenantPagination
