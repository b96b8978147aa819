"""Who may call what: of every operation the permission it needs, and how bounds apply. Once.

An operation that is not here is an administrator's, and refused to credentials with bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ojs_aws.domain.access import GRANTS, Permission, Scope


class Bounds(StrEnum):
    """Where an operation names the queue, which credentials with bounds need it to."""

    NONE = "none"
    """Nowhere, and none is meant: everybody may who has the permission."""
    JOB = "job"
    """The path names a job: its queue and type. A foreign job is as if there were none."""
    QUEUE = "queue"
    """The path names a queue."""
    QUERY = "query"
    """The query must name a queue, and a type where the credentials are bound to types."""
    BODY = "body"
    """The handler checks what the body names."""
    REFUSED = "refused"
    """The operation is about more than single queues."""


@dataclass(frozen=True, slots=True)
class Access:
    """What an operation asks of its caller."""

    permission: Permission
    bounds: Bounds = Bounds.REFUSED


_PUBLIC = Access(Permission.PUBLIC, Bounds.NONE)
_KNOWN = Access(Permission.KNOWN, Bounds.NONE)
_INSPECT = Access(Permission.INSPECT)
_OPERATE = Access(Permission.OPERATE)
_ADMIN = Access(Permission.ADMIN)
_ENQUEUES = Access(Permission.ENQUEUE, Bounds.BODY)
_WORKS = Access(Permission.DEQUEUE, Bounds.BODY)
_WORKS_ON_JOB = Access(Permission.DEQUEUE, Bounds.JOB)
_SEES_JOB = Access(Permission.INSPECT, Bounds.JOB)
_SEES_QUEUE = Access(Permission.INSPECT, Bounds.QUEUE)
_CANCELS_JOB = Access(Permission.CANCEL, Bounds.JOB)
_OPERATES_QUEUE = Access(Permission.OPERATE, Bounds.QUEUE)

ACCESS: Final[Mapping[str, Access]] = {
    # what the server says of itself
    "health": _PUBLIC,
    "manifest": _PUBLIC,
    "metrics": _KNOWN,
    "show_metrics": _KNOWN,
    "openapi": _KNOWN,
    # enqueueing
    "push": _ENQUEUES,
    "push_batch": _ENQUEUES,
    "bulk_enqueue": _ENQUEUES,
    "activate": Access(Permission.ENQUEUE, Bounds.JOB),
    "create_workflow": _ENQUEUES,
    # working
    "fetch": _WORKS,
    "ack": _WORKS,
    "ack_job": _WORKS,
    "fail": _WORKS,
    "fail_job": _WORKS,
    "heartbeat": _WORKS,
    "get_worker_health": _WORKS,
    "report_progress": _WORKS,
    "post_progress": _WORKS,
    "report_progress_of": _WORKS,
    "save_checkpoint": _WORKS_ON_JOB,
    "put_checkpoint": _WORKS_ON_JOB,
    "get_checkpoint": _WORKS_ON_JOB,
    "resume_checkpoint": _WORKS_ON_JOB,
    "delete_checkpoint": _WORKS_ON_JOB,
    # jobs and workflows
    "get_result": _SEES_JOB,
    "get_results": Access(Permission.INSPECT, Bounds.BODY),
    "get_progress": _SEES_JOB,
    "get_workflow_progress": _INSPECT,
    "info": _SEES_JOB,
    "get_job_detail": _SEES_JOB,
    "cancel": _CANCELS_JOB,
    "cancel_job": _CANCELS_JOB,
    "change_job": Access(Permission.OPERATE, Bounds.JOB),
    "retry_job": Access(Permission.OPERATE, Bounds.JOB),
    "list_jobs": _INSPECT,
    "list_retries": _SEES_JOB,
    "bulk_cancel": Access(Permission.CANCEL),
    "bulk_retry": _OPERATE,
    "bulk_delete": _ADMIN,
    "bulk_retry_jobs": _OPERATE,
    "bulk_cancel_jobs": _ADMIN,
    "bulk_delete_jobs": _ADMIN,
    "repair": _ADMIN,
    "get_workflow": _INSPECT,
    "list_workflows": _INSPECT,
    "cancel_workflow": Access(Permission.CANCEL),
    "post_workflow_cancel": Access(Permission.CANCEL),
    # queues
    "list_queues": _INSPECT,
    "list_queues_with_counts": _INSPECT,
    "get_queue": _SEES_QUEUE,
    "queue_stats": _SEES_QUEUE,
    "priority_stats": _SEES_QUEUE,
    "pause_queue": _OPERATES_QUEUE,
    "resume_queue": _OPERATES_QUEUE,
    "get_queue_config": _SEES_QUEUE,
    "drain_queue": _OPERATES_QUEUE,
    "create_queue": _ADMIN,
    "delete_queue": _ADMIN,
    "change_queue_config": _ADMIN,
    "patch_queue_config": _ADMIN,
    "purge_queue": _ADMIN,
    "purge_jobs": _ADMIN,
    "limit_queue": _ADMIN,
    "unlimit_queue": _ADMIN,
    "list_rate_limits": _INSPECT,
    "get_rate_limit": _INSPECT,
    "override_rate_limit": _ADMIN,
    "lift_rate_limit": _ADMIN,
    # dead letters
    "list_dead_letters": Access(Permission.INSPECT, Bounds.QUERY),
    "dead_letter_stats": _INSPECT,
    "get_dead_letter": _SEES_JOB,
    "retry_dead_letter": Access(Permission.OPERATE, Bounds.JOB),
    "retry_dead_letters": _OPERATE,
    "delete_dead_letter": _ADMIN,
    "delete_dead_letters": _ADMIN,
    "purge_dead_letters": _ADMIN,
    "purge_old_dead_letters": _ADMIN,
    # cron jobs
    "list_crons": _INSPECT,
    "get_cron": _INSPECT,
    "list_cron_runs": _INSPECT,
    "register_cron": Access(Permission.OPERATE, Bounds.BODY),
    "change_cron": _OPERATE,
    "pause_cron": _OPERATE,
    "resume_cron": _OPERATE,
    "trigger_cron": _OPERATE,
    "delete_cron": _OPERATE,
    # workers
    "list_workers": _INSPECT,
    "get_worker": _INSPECT,
    "quiet_worker": _OPERATE,
    "quiet_workers": _OPERATE,
    "resume_worker": _OPERATE,
    "resume_workers": _OPERATE,
    "terminate_worker": _OPERATE,
    "terminate_workers": _OPERATE,
    "direct_workers": _OPERATE,
    "deregister_worker": _OPERATE,
    # the rest
    "list_events": _INSPECT,
    "show_gauges": _INSPECT,
    "show_stats": _INSPECT,
    "show_stats_history": _INSPECT,
    "show_config": _INSPECT,
    "show_middleware": _INSPECT,
    "list_schemas": _INSPECT,
    "get_schema": _INSPECT,
    "get_schema_version": _INSPECT,
    "list_schema_versions": _INSPECT,
    "register_schema": _ADMIN,
    "put_schema": _ADMIN,
    "delete_schema": _ADMIN,
    "delete_schema_version": _ADMIN,
}
"""By the names of the operations in the route table."""


def access_of(operation: str) -> Access:
    """What an operation asks of its caller."""
    return ACCESS.get(operation, _ADMIN)


def is_public(operation: str) -> bool:
    """Whether an operation answers everybody, unless the deployment closes it."""
    return access_of(operation).permission is Permission.PUBLIC


def scopes_of(operation: str) -> tuple[Scope, ...]:
    """The scopes that allow an operation; all of them where it needs no more than to be known."""
    permission = access_of(operation).permission
    if permission in {Permission.PUBLIC, Permission.KNOWN}:
        return tuple(Scope)
    return tuple(scope for scope in Scope if permission in GRANTS[scope])
