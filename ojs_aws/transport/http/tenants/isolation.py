"""Keeps a request within its tenant (ojs-multi-tenancy, sections 5.3 and 6.2).

A caller has a tenant by the header ``X-OJS-Tenant`` or by its API key. From then on it is bound, as
others are bound to queues: what is another tenant's does not exist for it. What is not listed here
is refused: no operation shows another tenant's jobs or counts because somebody forgot it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.access import Caller, PermissionDeniedError
from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.tenants import check_tenant, put_tenant, tenant_of
from ojs_aws.transport.http.route import Bounds, Route

if TYPE_CHECKING:
    from ojs_aws.domain.cron.entry import CronDefinition
    from ojs_aws.domain.envelope import Job

HEADER: Final = "X-OJS-Tenant"

_OPEN: Final = frozenset({Bounds.JOB, Bounds.NONE})
"""Bounds of operations that a tenant may use as they are: on one job, or on no job at all."""

OPERATIONS: Final = frozenset(
    {
        *("push", "push_batch", "bulk_enqueue"),
        *("fetch", "ack", "ack_job", "fail", "fail_job", "heartbeat", "get_worker_health"),
        *("report_progress", "post_progress", "report_progress_of", "get_results"),
        *("list_jobs", "bulk_retry_jobs", "bulk_reprioritise_jobs", "bulk_cancel_jobs"),
        *("bulk_delete_jobs", "bulk_cancel", "bulk_retry", "bulk_delete"),
        *("list_dead_letters", "retry_dead_letters", "delete_dead_letters", "purge_dead_letters"),
        "purge_old_dead_letters",
        *("create_workflow", "list_workflows", "get_workflow", "cancel_workflow"),
        *("get_workflow_progress", "post_workflow_cancel"),
        *("register_cron", "list_crons", "get_cron", "change_cron", "delete_cron", "pause_cron"),
        *("resume_cron", "trigger_cron", "list_cron_runs"),
        *("list_tenants", "get_tenant", "get_tenant_stats", "list_tenant_jobs"),
        *("list_sequences", "get_sequence", "skip_sequence"),
    }
)
"""The others that a tenant may use: each looks at the tenant of every job that it meets."""
_REFUSED: Final = frozenset({"show_metrics"})
"""What counts the jobs of all tenants, though it is about no job."""


def caller_for(caller: Caller, named: str) -> Caller:
    """Return the caller of a request whose header names a tenant.

    :raises InvalidRequestError: the header has another form than a tenant's id.
    :raises PermissionDeniedError: the credential is bound to another tenant.
    """
    tenant = check_tenant(named, HEADER)
    if caller.tenant not in ("", tenant):
        raise PermissionDeniedError(
            "These credentials are bound to another tenant.",
            details={"field": HEADER},
            hint=f"Leave {HEADER} out.",
        )
    return replace(caller, tenant=tenant)


def check_operation(caller: Caller, route: Route) -> None:
    """Refuse a caller of one tenant what is about the jobs of all.

    :raises PermissionDeniedError: it is.
    """
    is_open = route.access.bounds in _OPEN and route.operation not in _REFUSED
    if not is_open and route.operation not in OPERATIONS:
        caller.check_unbound(route.operation)


def bind_tenant(caller: Caller, jobs: Iterable[tuple[str, Job]]) -> None:
    """Make jobs that are to be enqueued those of the caller's tenant.

    :param jobs: each with where it stands in the body.
    :raises InvalidRequestError: one names another tenant.
    """
    for place, job in jobs:
        put_tenant(job, caller.tenant, place)


def join_tenants(jobs: Sequence[tuple[str, Job]]) -> None:
    """Make all jobs of a workflow those of one tenant (section 15.2).

    Steps that name none inherit the tenant of the others.

    :raises InvalidRequestError: they name several tenants.
    """
    named = {tenant: place for place, job in jobs if (tenant := tenant_of(job))}
    if len(named) > 1:
        field = f"{[*named.values()][-1]}meta.tenant_id"
        message = "The jobs of a workflow belong to one tenant; these name several."
        raise field_error(field, message, "Make a workflow for each tenant.")
    for tenant in named:
        for place, job in jobs:
            put_tenant(job, tenant, place)


def tenant_of_cron(definition: CronDefinition) -> str:
    """Return the tenant of the jobs that a cron job enqueues, or an empty text."""
    from ojs_aws.domain.envelope import Job

    return tenant_of(Job.from_json(definition.envelope))
