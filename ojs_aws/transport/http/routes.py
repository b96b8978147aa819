"""The route table: every HTTP operation once.

From it come the resolvers of the functions, the answers to unknown routes and wrong methods, and
the OpenAPI document. It is data: handlers and models are named, and imported by who needs them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

BASE: Final = "/ojs/v1"

_PREFIXES: Final = (BASE + BASE, "/v1")
"""What some clients make of the base path."""

_PARAMETER: Final = re.compile(r"<(\w+)>")


class Group(StrEnum):
    """The functions, by trust boundary: what each may do to the table and the queues."""

    PRODUCER = "producer"
    WORKER_API = "worker_api"
    OPERATOR = "operator"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One operation.

    :ivar path: with its parameters as ``<name>``.
    :ivar operation: operation id, and the name of its handler in ``handlers/<group>.py``.
    :ivar aliases: other paths that mean the same; documents or clients name them.
    :ivar request: name of the body's model in ``models.py``; empty where a body is ignored.
    :ivar response: name of the answer's schema in ``openapi.py``.
    :ivar query: names of the query parameters, described in ``queries.py``.
    :ivar statuses: successful statuses, the usual one first.
    :ivar errors: statuses of the errors that are the operation's own.
    :ivar needs_body: whether an empty body is an error.
    :ivar media_type: of the answer, where it is not OJS's own.
    """

    method: str
    path: str
    operation: str
    group: Group
    summary: str
    aliases: tuple[str, ...] = ()
    request: str = ""
    response: str = "Object"
    query: tuple[str, ...] = ()
    statuses: tuple[int, ...] = (200,)
    errors: tuple[int, ...] = ()
    needs_body: bool = False
    media_type: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        """The path and its aliases."""
        return (self.path, *self.aliases)


_PRODUCER, _WORKER, _OPERATOR, _SYSTEM = Group

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        method="POST",
        path=f"{BASE}/jobs",
        operation="push",
        group=_PRODUCER,
        summary="Enqueue a job (PUSH)",
        request="PushBody",
        response="JobAnswer",
        statuses=(201, 200),
        errors=(409, 413, 422),
        needs_body=True,
    ),
    Route(
        method="POST",
        path=f"{BASE}/jobs/batch",
        operation="push_batch",
        group=_PRODUCER,
        summary="Enqueue up to 100 jobs, all or none (PUSH)",
        request="BatchBody",
        response="BatchAnswer",
        statuses=(201, 200),
        errors=(409, 413, 422),
        needs_body=True,
    ),
    Route(
        method="GET",
        path=f"{BASE}/admin/middleware",
        operation="show_middleware",
        group=_PRODUCER,  # the function that has loaded them
        summary="Show the enqueue middleware and the hooks of the backend, in their order",
        response="Middleware",
    ),
    Route(
        method="GET",
        path=f"{BASE}/jobs/<job_id>",
        aliases=(f"{BASE}/admin/jobs/<job_id>",),
        operation="info",
        group=_PRODUCER,
        summary="Read a job (INFO)",
        response="JobAnswer",
        errors=(404,),
    ),
    Route(
        method="DELETE",
        path=f"{BASE}/jobs/<job_id>",
        operation="cancel",
        group=_PRODUCER,
        summary="Cancel a job (CANCEL)",
        response="JobAnswer",
        errors=(404, 409),
    ),
    Route(
        method="POST",
        path=f"{BASE}/jobs/<job_id>/activate",
        operation="activate",
        group=_PRODUCER,
        summary="Release a pending job (ACTIVATE)",
        response="JobAnswer",
        errors=(404, 409),
    ),
    Route(
        method="POST",
        path=f"{BASE}/workers/fetch",
        operation="fetch",
        group=_WORKER,
        summary="Claim jobs (FETCH)",
        request="FetchBody",
        response="JobsAnswer",
        needs_body=True,
    ),
    Route(
        method="POST",
        path=f"{BASE}/workers/ack",
        operation="ack",
        group=_WORKER,
        summary="Report that a job is completed (ACK)",
        request="AckBody",
        response="OutcomeAnswer",
        errors=(404, 409, 413),
        needs_body=True,
    ),
    Route(
        method="POST",
        path=f"{BASE}/jobs/<job_id>/ack",
        operation="ack_job",
        group=_WORKER,
        summary="Report that a job is completed (ACK), by its path",
        request="AckJobBody",
        response="OutcomeAnswer",
        errors=(404, 409, 413),
    ),
    Route(
        method="POST",
        path=f"{BASE}/workers/nack",
        operation="fail",
        group=_WORKER,
        summary="Report that a job failed (FAIL)",
        request="FailBody",
        response="OutcomeAnswer",
        errors=(404, 409),
        needs_body=True,
    ),
    Route(
        method="POST",
        path=f"{BASE}/jobs/<job_id>/nack",
        operation="fail_job",
        group=_WORKER,
        summary="Report that a job failed (FAIL), by its path",
        request="FailJobBody",
        response="OutcomeAnswer",
        errors=(404, 409),
        needs_body=True,
    ),
    Route(
        method="POST",
        path=f"{BASE}/workers/heartbeat",
        aliases=(f"{BASE}/workers/beat",),
        operation="heartbeat",
        group=_WORKER,
        summary="Show that a worker lives, and keep its jobs reserved (BEAT)",
        request="HeartbeatBody",
        response="HeartbeatAnswer",
        errors=(409,),
        needs_body=True,
    ),
    Route(
        method="GET",
        path=f"{BASE}/queues",
        operation="list_queues",
        group=_OPERATOR,
        summary="List the queues",
        response="QueuesAnswer",
        query=("limit", "cursor", "offset"),
    ),
    Route(
        method="GET",
        path=f"{BASE}/admin/queues",
        operation="list_queues_with_counts",
        group=_OPERATOR,
        summary="List the queues with how many jobs each has",
        response="CountedQueuesAnswer",
        query=("limit", "cursor", "offset", "page", "per_page"),
    ),
    Route(
        method="GET",
        path=f"{BASE}/queues/<queue>",
        aliases=(f"{BASE}/admin/queues/<queue>",),
        operation="get_queue",
        group=_OPERATOR,
        summary="Read a queue with its statistics",
        response="QueueAnswer",
        errors=(404,),
    ),
    Route(
        method="GET",
        path=f"{BASE}/queues/<queue>/stats",
        aliases=(f"{BASE}/admin/queues/<queue>/stats",),
        operation="queue_stats",
        group=_OPERATOR,
        summary="Count the jobs of a queue, and what it did in the last hour",
        response="QueueStatsAnswer",
        errors=(404,),
    ),
    Route(
        method="POST",
        path=f"{BASE}/queues/<queue>/pause",
        aliases=(f"{BASE}/admin/queues/<queue>/pause",),
        operation="pause_queue",
        group=_OPERATOR,
        summary="Let nobody fetch from a queue",
        response="QueueAnswer",
        errors=(404,),
    ),
    Route(
        method="POST",
        path=f"{BASE}/queues/<queue>/resume",
        aliases=(f"{BASE}/admin/queues/<queue>/resume",),
        operation="resume_queue",
        group=_OPERATOR,
        summary="Let workers fetch from a queue again",
        response="QueueAnswer",
        errors=(404,),
    ),
    Route(
        method="DELETE",
        path=f"{BASE}/queues/<queue>/jobs",
        aliases=(f"{BASE}/admin/queues/<queue>/jobs",),
        operation="purge_queue",
        group=_OPERATOR,
        summary="Purge up to 100 jobs of a queue: ended ones are deleted, others cancelled",
        request="PurgeBody",
        response="PurgeAnswer",
        errors=(404,),
        needs_body=True,
    ),
    Route(
        method="PUT",
        path=f"{BASE}/queues/<queue>/rate-limit",
        aliases=(f"{BASE}/admin/queues/<queue>/rate-limit",),
        operation="limit_queue",
        group=_OPERATOR,
        summary="Limit how the jobs of a queue begin",
        request="RateLimitBody",
        response="RateLimitAnswer",
        errors=(404,),
        needs_body=True,
    ),
    Route(
        method="DELETE",
        path=f"{BASE}/queues/<queue>/rate-limit",
        aliases=(f"{BASE}/admin/queues/<queue>/rate-limit",),
        operation="unlimit_queue",
        group=_OPERATOR,
        summary="Limit the jobs of a queue no more",
        errors=(404,),
    ),
    Route(
        method="GET",
        path=f"{BASE}/rate-limits",
        operation="list_rate_limits",
        group=_OPERATOR,
        summary="List the limits with what they count",
        response="RateLimitsAnswer",
        query=("limit", "cursor", "page", "per_page"),
    ),
    Route(
        method="GET",
        path=f"{BASE}/rate-limits/<key>",
        operation="get_rate_limit",
        group=_OPERATOR,
        summary="What a limit counts now",
        response="RateLimitAnswer",
        errors=(404,),
    ),
    Route(
        method="GET",
        path=f"{BASE}/admin/workers",
        operation="list_workers",
        group=_OPERATOR,
        summary="List the workers that beat",
        response="WorkersAnswer",
        query=("limit", "cursor", "offset", "page", "per_page"),
    ),
    Route(
        method="GET",
        path=f"{BASE}/admin/workers/<worker_id>",
        operation="get_worker",
        group=_OPERATOR,
        summary="Read a worker",
        response="WorkerAnswer",
        errors=(404,),
    ),
    Route(
        method="DELETE",
        path=f"{BASE}/admin/workers/<worker_id>",
        operation="deregister_worker",
        group=_OPERATOR,
        summary="Remove a worker that missed its heartbeats",
        errors=(404, 409),
    ),
    Route(
        method="POST",
        path=f"{BASE}/admin/workers/<worker_id>/quiet",
        operation="quiet_worker",
        group=_OPERATOR,
        summary="Let a worker fetch no more, with its next heartbeat",
        response="WorkerAnswer",
        errors=(404, 409),
    ),
    Route(
        method="POST",
        path=f"{BASE}/admin/workers/<worker_id>/terminate",
        operation="terminate_worker",
        group=_OPERATOR,
        summary="Let a worker end within its grace period, with its next heartbeat",
        response="WorkerAnswer",
        errors=(404, 409),
    ),
    Route(
        method="POST",
        path=f"{BASE}/admin/workers/<worker_id>/resume",
        operation="resume_worker",
        group=_OPERATOR,
        summary="Let a worker fetch again, with its next heartbeat",
        response="WorkerAnswer",
        errors=(404, 409),
    ),
    Route(
        method="POST",
        path=f"{BASE}/admin/workers/quiet",
        operation="quiet_workers",
        group=_OPERATOR,
        summary="Quiet the workers of a queue, with a label, or all of them",
        request="SelectionBody",
        response="DirectedAnswer",
    ),
    Route(
        method="POST",
        path=f"{BASE}/admin/workers/terminate",
        operation="terminate_workers",
        group=_OPERATOR,
        summary="Terminate the workers of a queue, with a label, or all of them",
        request="SelectionBody",
        response="DirectedAnswer",
    ),
    Route(
        method="POST",
        path=f"{BASE}/admin/workers/resume",
        operation="resume_workers",
        group=_OPERATOR,
        summary="Resume the workers of a queue, with a label, or all of them",
        request="SelectionBody",
        response="DirectedAnswer",
    ),
    Route(
        method="GET",
        path=f"{BASE}/dead-letter",
        aliases=(f"{BASE}/admin/dead-letter",),
        operation="list_dead_letters",
        group=_OPERATOR,
        summary="List the dead letters",
        response="JobPageAnswer",
        query=(
            "queue",
            "type",
            "error_type",
            "since_time",
            "until",
            "limit",
            "cursor",
            "offset",
            "page",
            "per_page",
        ),
    ),
    Route(
        method="DELETE",
        path=f"{BASE}/dead-letter",
        aliases=(f"{BASE}/admin/dead-letter",),
        operation="delete_dead_letters",
        group=_OPERATOR,
        summary="Remove many dead letters for good",
        request="BulkBody",
        response="BulkAnswer",
    ),
    Route(
        method="GET",
        path=f"{BASE}/dead-letter/stats",
        aliases=(f"{BASE}/admin/dead-letter/stats",),
        operation="dead_letter_stats",
        group=_OPERATOR,
        summary="Count the dead letters by queue and by error",
    ),
    Route(
        method="POST",
        path=f"{BASE}/dead-letter/retry",
        aliases=(f"{BASE}/admin/dead-letter/retry",),
        operation="retry_dead_letters",
        group=_OPERATOR,
        summary="Enqueue many dead letters again",
        request="BulkBody",
        response="BulkAnswer",
    ),
    Route(
        method="POST",
        path=f"{BASE}/dead-letter/delete",
        aliases=(f"{BASE}/admin/dead-letter/delete",),
        operation="purge_dead_letters",
        group=_OPERATOR,
        summary="Remove many dead letters, for clients whose DELETE has no body",
        request="BulkBody",
        response="BulkAnswer",
    ),
    Route(
        method="GET",
        path=f"{BASE}/dead-letter/<job_id>",
        aliases=(f"{BASE}/admin/dead-letter/<job_id>",),
        operation="get_dead_letter",
        group=_OPERATOR,
        summary="Read a dead letter with its whole history",
        response="JobAnswer",
        errors=(404,),
    ),
    Route(
        method="POST",
        path=f"{BASE}/dead-letter/<job_id>/retry",
        aliases=(f"{BASE}/admin/dead-letter/<job_id>/retry",),
        operation="retry_dead_letter",
        group=_OPERATOR,
        summary="Enqueue a discarded job again",
        request="RetryBody",
        response="JobAnswer",
        errors=(404, 409, 413),
    ),
    Route(
        method="DELETE",
        path=f"{BASE}/dead-letter/<job_id>",
        aliases=(f"{BASE}/admin/dead-letter/<job_id>",),
        operation="delete_dead_letter",
        group=_OPERATOR,
        summary="Remove a discarded job for good",
        response="DeletedAnswer",
        statuses=(200, 204),
        errors=(404, 409),
    ),
    Route(
        method="GET",
        path=f"{BASE}/events",
        operation="list_events",
        group=_OPERATOR,
        summary="Read the lifecycle events",
        response="EventsAnswer",
        query=(
            "types",
            "queues",
            "queue",
            "job_types",
            "job_type",
            "job_id",
            "since",
            "event_limit",
            "cursor",
            "after",
        ),
    ),
    Route(
        method="POST",
        path=f"{BASE}/cron",
        operation="register_cron",
        group=_OPERATOR,
        summary="Register a cron job, or change the one of this name",
        request="CronBody",
        response="CronAnswer",
        statuses=(201, 200),
        errors=(413, 422),
        needs_body=True,
    ),
    Route(
        method="GET",
        path=f"{BASE}/cron",
        operation="list_crons",
        group=_OPERATOR,
        summary="List the cron jobs",
        response="CronsAnswer",
        query=("limit", "cursor", "offset", "page", "per_page", "enabled"),
    ),
    Route(
        method="GET",
        path=f"{BASE}/cron/<name>",
        operation="get_cron",
        group=_OPERATOR,
        summary="Read a cron job",
        response="CronAnswer",
        errors=(404,),
    ),
    Route(
        method="PATCH",
        path=f"{BASE}/cron/<name>",
        operation="change_cron",
        group=_OPERATOR,
        summary="Enable or disable a cron job",
        request="CronChangeBody",
        response="CronAnswer",
        errors=(404,),
        needs_body=True,
    ),
    Route(
        method="DELETE",
        path=f"{BASE}/cron/<name>",
        operation="delete_cron",
        group=_OPERATOR,
        summary="Remove a cron job; its jobs stay",
        response="CronAnswer",
        errors=(404,),
    ),
    Route(
        method="POST",
        path=f"{BASE}/cron/<name>/pause",
        operation="pause_cron",
        group=_OPERATOR,
        summary="Disable a cron job",
        response="CronAnswer",
        errors=(404,),
    ),
    Route(
        method="POST",
        path=f"{BASE}/cron/<name>/resume",
        operation="resume_cron",
        group=_OPERATOR,
        summary="Enable a cron job",
        response="CronAnswer",
        errors=(404,),
    ),
    Route(
        method="POST",
        path=f"{BASE}/cron/<name>/trigger",
        operation="trigger_cron",
        group=_OPERATOR,
        summary="Run a cron job now, under its overlap policy",
        response="CronTriggerAnswer",
        statuses=(201, 200),
        errors=(404,),
    ),
    Route(
        method="GET",
        path=f"{BASE}/schemas",
        aliases=(f"{BASE}/admin/schemas",),
        operation="list_schemas",
        group=_OPERATOR,
        summary="List the schemas of job types",
        response="SchemasAnswer",
        query=("limit", "cursor", "offset", "page", "per_page"),
    ),
    Route(
        method="POST",
        path=f"{BASE}/schemas",
        aliases=(f"{BASE}/admin/schemas",),
        operation="register_schema",
        group=_OPERATOR,
        summary="Register a schema of a job type",
        request="SchemaBody",
        response="SchemaAnswer",
        statuses=(201,),
        errors=(409, 413),
        needs_body=True,
    ),
    Route(
        method="GET",
        path=f"{BASE}/schemas/<name>",
        aliases=(f"{BASE}/admin/schemas/<name>",),
        operation="get_schema",
        group=_OPERATOR,
        summary="Read the schema of a URI, or of a type's latest version",
        response="SchemaAnswer",
        errors=(404,),
    ),
    Route(
        method="DELETE",
        path=f"{BASE}/schemas/<name>",
        aliases=(f"{BASE}/admin/schemas/<name>",),
        operation="delete_schema",
        group=_OPERATOR,
        summary="Remove the schema of a URI",
        response="SchemaDeletedAnswer",
        errors=(404,),
    ),
    Route(
        method="GET",
        path=f"{BASE}/schemas/<type>/versions",
        aliases=(f"{BASE}/admin/schemas/<type>/versions",),
        operation="list_schema_versions",
        group=_OPERATOR,
        summary="List the versions of a type's schema, the newest first",
        response="SchemaVersionsAnswer",
        errors=(404,),
    ),
    Route(
        method="GET",
        path=f"{BASE}/schemas/<type>/<version>",
        aliases=(f"{BASE}/admin/schemas/<type>/<version>",),
        operation="get_schema_version",
        group=_OPERATOR,
        summary="Read the schema of one version",
        response="SchemaAnswer",
        errors=(404,),
    ),
    Route(
        method="PUT",
        path=f"{BASE}/schemas/<type>/<version>",
        aliases=(f"{BASE}/admin/schemas/<type>/<version>",),
        operation="put_schema",
        group=_OPERATOR,
        summary="Register the schema of one version; the same again changes nothing",
        request="SchemaPutBody",
        response="SchemaAnswer",
        statuses=(201, 200),
        errors=(409, 413),
        needs_body=True,
    ),
    Route(
        method="DELETE",
        path=f"{BASE}/schemas/<type>/<version>",
        aliases=(f"{BASE}/admin/schemas/<type>/<version>",),
        operation="delete_schema_version",
        group=_OPERATOR,
        summary="Remove the schema of one version",
        response="SchemaDeletedAnswer",
        errors=(404,),
    ),
    Route(
        method="POST",
        path=f"{BASE}/workflows",
        operation="create_workflow",
        group=_PRODUCER,
        summary="Create and start a workflow",
        request="WorkflowBody",
        response="WorkflowAnswer",
        statuses=(201, 200),
        errors=(409, 413, 422),
        needs_body=True,
    ),
    Route(
        method="GET",
        path=f"{BASE}/workflows",
        operation="list_workflows",
        group=_OPERATOR,
        summary="List the workflows, the newest first",
        response="WorkflowsAnswer",
        query=("limit", "cursor", "state"),
    ),
    Route(
        method="GET",
        path=f"{BASE}/workflows/<workflow_id>",
        operation="get_workflow",
        group=_PRODUCER,
        summary="Read a workflow and its steps",
        response="WorkflowAnswer",
        errors=(404,),
    ),
    Route(
        method="DELETE",
        path=f"{BASE}/workflows/<workflow_id>",
        operation="cancel_workflow",
        group=_PRODUCER,
        summary="Cancel a workflow; jobs that are executed may end",
        response="WorkflowAnswer",
        errors=(404, 409),
    ),
    Route(
        method="GET",
        path="/ojs/manifest",
        operation="manifest",
        group=_SYSTEM,
        summary="What this server implements",
    ),
    Route(
        method="GET",
        path=f"{BASE}/health",
        aliases=("/health", "/ready", f"{BASE}/ready"),
        operation="health",
        group=_SYSTEM,
        summary="Whether the server and its table can be reached",
        errors=(503,),
    ),
    Route(
        method="GET",
        path=f"{BASE}/openapi.json",
        operation="openapi",
        group=_SYSTEM,
        summary="This API as an OpenAPI 3.1 document",
        media_type="application/json",
    ),
    Route(
        method="GET",
        path=f"{BASE}/metrics",
        aliases=("/metrics",),
        operation="metrics",
        group=_SYSTEM,
        summary="That the function is up, in the Prometheus text format",
        media_type="text/plain",
    ),
)


def canonical_path(path: str) -> str:
    """The path that is meant: some clients repeat or shorten the prefix, or end with a slash."""
    for prefix in _PREFIXES:
        if path.startswith(prefix + "/"):
            path = BASE + path.removeprefix(prefix)
            break
    return path.rstrip("/") or "/"


def pattern_of(path: str) -> re.Pattern[str]:
    """What a path of the table matches; a parameter is any one segment."""
    parts = _PARAMETER.split(path)
    escaped = [
        f"(?P<{part}>[^/]+)" if position % 2 else re.escape(part)
        for position, part in enumerate(parts)
    ]
    return re.compile("".join(escaped) + r"\Z")


def routes_of(group: Group) -> tuple[Route, ...]:
    """The routes that a function serves."""
    return tuple(route for route in ROUTES if route.group is group)


_PATTERNS: list[tuple[re.Pattern[str], Route]] = []


def _matching(path: str) -> Iterable[Route]:
    """The routes of a path, whatever their method; fixed paths before those with parameters."""
    if not _PATTERNS:  # made when first asked for: the functions' own routes do not need them
        made = [(pattern_of(known), route) for route in ROUTES for known in route.paths]
        _PATTERNS.extend(sorted(made, key=lambda pair: pair[0].groups))
    found = canonical_path(path)
    return [route for pattern, route in _PATTERNS if pattern.fullmatch(found)]


def find(method: str, path: str) -> Route | None:
    """The route of a request, or None."""
    return next((route for route in _matching(path) if route.method == method), None)


def methods_of(path: str) -> tuple[str, ...]:
    """The methods that a path knows; none for an unknown path."""
    return tuple(sorted({route.method for route in _matching(path)}))


def group_of(method: str, path: str) -> Group:
    """The function that answers a request; what is not in the table is the system function's."""
    route = find(method, path)
    return Group.SYSTEM if route is None else route.group
