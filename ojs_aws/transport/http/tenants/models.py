"""Declares the requests and answers about tenants."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field
from typing_extensions import TypedDict

from ojs_aws.transport.http.answers import Further, Timestamp
from ojs_aws.transport.http.calls import JsonOf
from ojs_aws.transport.http.requests import LARGEST_COUNT, Body

Count: TypeAlias = Annotated[int, Field(ge=0, le=LARGEST_COUNT)]


class RateBody(Body):
    """Says how many jobs may be enqueued in a period: a duration such as ``PT1M``."""

    limit: Annotated[int, Field(ge=1, le=LARGEST_COUNT)]
    period: str


class TenantLimitsBody(Body):
    """Names limits of a tenant (ojs-multi-tenancy, section 8.1); null lifts one."""

    max_concurrency: Count | None = None
    max_enqueue_rate: RateBody | None = None
    max_queue_depth: Count | None = None
    max_scheduled: Count | None = None
    fairness_weight: Annotated[float, Field(ge=0.01, le=1000)] | None = None


class TenantBody(Body):
    """Sets or changes the limits of a tenant."""

    limits: TenantLimitsBody = TenantLimitsBody()


TenantStateName: TypeAlias = Literal["active", "suspended"]


class TenantRate(TypedDict):
    """Says how many jobs of a tenant may be enqueued in a period."""

    limit: int
    period: str


class TenantLimits(TypedDict, total=False):
    """Shows the limits that were set for a tenant."""

    max_concurrency: int
    max_enqueue_rate: TenantRate
    max_queue_depth: int
    max_scheduled: int
    fairness_weight: float


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
    """Shows the limits of a tenant with what was counted; of a rate, the limit alone."""

    max_concurrency: TenantLimitUse
    max_enqueue_rate: TenantRate
    max_queue_depth: TenantLimitUse
    max_scheduled: TenantLimitUse


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

    items: JsonOf[list[TenantDetail]]
    tenants: JsonOf[list[TenantDetail]]
    pagination: TenantPagination
