"""Declares the operations on jobs: PUSH, INFO, CANCEL, FETCH, ACK, FAIL, BEAT."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.route import (
    ADMINISTERS_OWN,
    CANCELS_JOB,
    ENQUEUES,
    ENQUEUES_JOB,
    INSPECTS,
    INSPECTS_JOB,
    INSPECTS_OWN,
    OPERATES_JOB,
    OPERATES_OWN,
    PAGED,
    WORKS,
    Group,
    Route,
)

_producer = functools.partial(Route, group=Group.PRODUCER, module="jobs.handlers")
_operator = functools.partial(Route, group=Group.OPERATOR, module="jobs.admin_handlers")
_bulk = functools.partial(Route, group=Group.OPERATOR, module="jobs.bulk_handlers")
_worker = functools.partial(Route, group=Group.WORKER_API, module="jobs.worker_handlers")

# fmt: off
ROUTES: Final[tuple[Route, ...]] = (
    _producer("POST /jobs", "push", ENQUEUES,
        "Enqueue a job (PUSH)", request="PushBody", events="application/cloudevents+json",
        statuses=(201, 200), errors=(404, 409), repeatable=True),
    _producer("POST /jobs/batch", "push_batch", ENQUEUES,
        "Enqueue some thousands of jobs, all or none (PUSH)", request="BatchBody",
        statuses=(201, 200), errors=(404, 409), repeatable=True),
    # The producers' function: it has loaded the middleware.
    _producer("GET /admin/middleware", "show_middleware", INSPECTS,
        "Show the enqueue middleware and the hooks of the backend, in their order"),
    _producer("GET /jobs/<job_id>", "info", INSPECTS_JOB, "Read a job (INFO)"),
    _producer("DELETE /jobs/<job_id>", "cancel", CANCELS_JOB,
        "Cancel a job (CANCEL)", errors=(409,), repeatable=True),
    _producer("PATCH /jobs/<job_id>", "change_job", OPERATES_JOB,
        "Change the priority of a job that waits to begin", has_admin_path=True,
        request="JobChangeBody", errors=(409,), repeatable=True),
    _producer("POST /jobs/<job_id>/activate", "activate", ENQUEUES_JOB,
        "Release a pending job (ACTIVATE)", errors=(409,), repeatable=True),
    _worker("POST /workers/fetch", "fetch", WORKS, "Claim jobs (FETCH)", request="FetchBody",
        errors=(404,)),
    _worker("POST /workers/ack", "ack", WORKS,
        "Report that a job is completed (ACK)", request="AckBody", errors=(404, 409),
        repeatable=True),
    _worker("POST /jobs/<job_id>/ack", "ack_job", WORKS,
        "Report that a job is completed (ACK), by its path", request="AckJobBody",
        is_body_optional=True, errors=(409,), repeatable=True),
    _worker("POST /workers/nack", "fail", WORKS,
        "Report that a job failed (FAIL)", request="FailBody", errors=(404, 409)),
    _worker("POST /jobs/<job_id>/nack", "fail_job", WORKS,
        "Report that a job failed (FAIL), by its path", request="FailJobBody", errors=(409,)),
    _worker("POST /workers/heartbeat", "heartbeat", WORKS,
        "Show that a worker lives, and keep its jobs reserved (BEAT)",
        more_paths=("/workers/beat",), request="HeartbeatBody", repeatable=True),
    _operator("GET /admin/jobs", "list_jobs", INSPECTS_OWN,
        "List or search jobs by queue, state, type, tag, error and time", more_paths=("/jobs",),
        query=("queue", "job_states", "job_type_or_prefix", "since_time", "until", "tag",
               "error_text", *PAGED, "order", "sort")),
    _operator("GET /admin/jobs/<job_id>", "get_job_detail", INSPECTS_JOB,
        "Read a job with its history", query=("events",)),
    _operator("GET /admin/jobs/<job_id>/why", "why", INSPECTS_JOB,
        "Say why a job does not run now"),
    Route("POST /admin/jobs/<job_id>/cancel", "cancel_job", CANCELS_JOB,
        "Cancel a job", group=Group.OPERATOR, module="jobs.handlers", handler="cancel",
        errors=(409,)),
    _operator("POST /admin/jobs/<job_id>/retry", "retry_job", OPERATES_JOB,
        "Make a discarded job available again, or a retryable one at once", errors=(409, 413)),
    _bulk("POST /admin/jobs/bulk/retry", "bulk_retry_jobs", OPERATES_OWN,
        "Retry the discarded jobs of a filter, a hundred at a time", request="JobBulkBody"),
    _bulk("POST /admin/jobs/bulk/priority", "bulk_reprioritise_jobs", OPERATES_OWN,
        "Give the jobs of a filter that wait to begin a priority, a hundred at a time",
        request="JobBulkPriorityBody", repeatable=True),
    _bulk("POST /admin/jobs/bulk/cancel", "bulk_cancel_jobs", ADMINISTERS_OWN,
        "Cancel the jobs of a filter that have not ended, a hundred at a time",
        request="JobBulkBody"),
    _bulk("POST /admin/jobs/bulk/delete", "bulk_delete_jobs", ADMINISTERS_OWN,
        "Delete the jobs of a filter that have ended, a hundred at a time", request="JobBulkBody"),
)
