"""Declares the operations on jobs: PUSH, INFO, CANCEL, FETCH, ACK, FAIL, BEAT."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.access import (
    ADMINISTERS_OWN,
    CANCELS_JOB,
    ENQUEUES,
    ENQUEUES_JOB,
    INSPECTS,
    INSPECTS_JOB,
    INSPECTS_OWN,
    OPERATES_JOB,
    OPERATES_OWN,
    WORKS,
)
from ojs_aws.transport.http.route import BASE, PAGED, Group, Route

_producer = functools.partial(Route, group=Group.PRODUCER, home="jobs.handlers")
_operator = functools.partial(Route, group=Group.OPERATOR, home="jobs.admin_handlers")
_bulk = functools.partial(Route, group=Group.OPERATOR, home="jobs.bulk_handlers")
_worker = functools.partial(Route, group=Group.WORKER_API, home="jobs.worker_handlers")

ROUTES: Final[tuple[Route, ...]] = (
    _producer(
        at=f"POST {BASE}/jobs",
        operation="push",
        access=ENQUEUES,
        repeatable=True,
        summary="Enqueue a job (PUSH)",
        request="PushBody",
        statuses=(201, 200),
        errors=(404, 409),
    ),
    _producer(
        at=f"POST {BASE}/jobs/batch",
        operation="push_batch",
        access=ENQUEUES,
        repeatable=True,
        summary="Enqueue some thousands of jobs, all or none (PUSH)",
        request="BatchBody",
        statuses=(201, 200),
        errors=(404, 409),
    ),
    _producer(
        at=f"GET {BASE}/admin/middleware",
        operation="show_middleware",  # the producers' function has loaded them
        access=INSPECTS,
        summary="Show the enqueue middleware and the hooks of the backend, in their order",
    ),
    _producer(
        at=f"GET {BASE}/jobs/<job_id>",
        operation="info",
        access=INSPECTS_JOB,
        summary="Read a job (INFO)",
    ),
    _producer(
        at=f"DELETE {BASE}/jobs/<job_id>",
        operation="cancel",
        access=CANCELS_JOB,
        repeatable=True,
        summary="Cancel a job (CANCEL)",
        errors=(409,),
    ),
    _producer(
        at=f"PATCH {BASE}/jobs/<job_id>",
        has_admin_path=True,
        operation="change_job",
        access=OPERATES_JOB,
        repeatable=True,
        summary="Change the priority of a job that waits to begin",
        request="JobChangeBody",
        errors=(409,),
    ),
    _producer(
        at=f"POST {BASE}/jobs/<job_id>/activate",
        operation="activate",
        access=ENQUEUES_JOB,
        repeatable=True,
        summary="Release a pending job (ACTIVATE)",
        errors=(409,),
    ),
    _worker(
        at=f"POST {BASE}/workers/fetch",
        operation="fetch",
        access=WORKS,
        summary="Claim jobs (FETCH)",
        request="FetchBody",
    ),
    _worker(
        at=f"POST {BASE}/workers/ack",
        operation="ack",
        access=WORKS,
        repeatable=True,
        summary="Report that a job is completed (ACK)",
        request="AckBody",
        errors=(404, 409),
    ),
    _worker(
        at=f"POST {BASE}/jobs/<job_id>/ack",
        operation="ack_job",
        access=WORKS,
        repeatable=True,
        summary="Report that a job is completed (ACK), by its path",
        request="AckJobBody",
        is_body_optional=True,
        errors=(409,),
    ),
    _worker(
        at=f"POST {BASE}/workers/nack",
        operation="fail",
        access=WORKS,
        summary="Report that a job failed (FAIL)",
        request="FailBody",
        errors=(404, 409),
    ),
    _worker(
        at=f"POST {BASE}/jobs/<job_id>/nack",
        operation="fail_job",
        access=WORKS,
        summary="Report that a job failed (FAIL), by its path",
        request="FailJobBody",
        errors=(409,),
    ),
    _worker(
        at=f"POST {BASE}/workers/heartbeat",
        more_paths=(f"{BASE}/workers/beat",),
        operation="heartbeat",
        access=WORKS,
        repeatable=True,
        summary="Show that a worker lives, and keep its jobs reserved (BEAT)",
        request="HeartbeatBody",
    ),
    _operator(
        at=f"GET {BASE}/admin/jobs",
        more_paths=(f"{BASE}/jobs",),
        operation="list_jobs",
        access=INSPECTS_OWN,
        summary="List or search jobs by queue, state, type, tag, error and time",
        query=(
            "queue",
            "job_states",
            "job_type_or_prefix",
            "since_time",
            "until",
            "tag",
            "error_text",
            *PAGED,
            "order",
            "sort",
        ),
    ),
    _operator(
        at=f"GET {BASE}/admin/jobs/<job_id>",
        operation="get_job_detail",
        access=INSPECTS_JOB,
        summary="Read a job with its history",
        query=("events",),
    ),
    _operator(
        at=f"GET {BASE}/admin/jobs/<job_id>/why",
        operation="why",
        access=INSPECTS_JOB,
        summary="Say why a job does not run now",
    ),
    _operator(
        at=f"POST {BASE}/admin/jobs/<job_id>/cancel",
        operation="cancel_job",
        access=CANCELS_JOB,
        summary="Cancel a job",
        errors=(409,),
    ),
    _operator(
        at=f"POST {BASE}/admin/jobs/<job_id>/retry",
        operation="retry_job",
        access=OPERATES_JOB,
        summary="Make a discarded job available again",
        errors=(409, 413),
    ),
    _bulk(
        at=f"POST {BASE}/admin/jobs/bulk/retry",
        operation="bulk_retry_jobs",
        access=OPERATES_OWN,
        summary="Retry the discarded jobs of a filter, a hundred at a time",
        request="JobBulkBody",
    ),
    _bulk(
        at=f"POST {BASE}/admin/jobs/bulk/priority",
        operation="bulk_reprioritise_jobs",
        access=OPERATES_OWN,
        repeatable=True,
        summary="Give the jobs of a filter that wait to begin a priority, a hundred at a time",
        request="JobBulkPriorityBody",
    ),
    _bulk(
        at=f"POST {BASE}/admin/jobs/bulk/cancel",
        operation="bulk_cancel_jobs",
        access=ADMINISTERS_OWN,
        summary="Cancel the jobs of a filter that have not ended, a hundred at a time",
        request="JobBulkBody",
    ),
    _bulk(
        at=f"POST {BASE}/admin/jobs/bulk/delete",
        operation="bulk_delete_jobs",
        access=ADMINISTERS_OWN,
        summary="Delete the jobs of a filter that have ended, a hundred at a time",
        request="JobBulkBody",
    ),
)
