"""Declares the answers about jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ojs_aws.transport.http.schema_parts import (
    BOOLEAN,
    INSTANT,
    INTEGER,
    JOB_ID,
    STATE,
    STRING,
    Schema,
    array,
    members,
    ref,
)

_JOB: Final = members(
    ("id", "type", "state", "queue", "args", "attempt", "max_attempts", "created_at"),
    id=JOB_ID,
    type=STRING,
    queue=STRING,
    state=STATE,
    args={"type": "array"},
    meta={"type": "object"},
    priority=INTEGER,
    attempt=INTEGER,
    max_attempts=INTEGER,
    timeout_ms=INTEGER,
    scheduled_at=STRING,
    expires_at=STRING,
    tags=array(STRING),
    retry={"type": "object"},
    unique={"type": "object"},
    parent_results={"type": "object"},
    created_at=INSTANT,
    enqueued_at=INSTANT,
    started_at=INSTANT,
    completed_at=INSTANT,
    cancelled_at=INSTANT,
    discarded_at=INSTANT,
    next_attempt_at=INSTANT,
    retry_delay_ms=INTEGER,
    previous_state=STATE,
    error=ref("Failure"),
    errors=array(ref("Failure")),
    result={},
    result_stored_at=INSTANT,
    result_expires_at=INSTANT,
    result_size_bytes=INTEGER,
    checkpoint=members(
        ("state", "sequence"),
        state={},
        step_index=INTEGER,
        metadata={"type": "object"},
        sequence=INTEGER,
        created_at=INSTANT,
    ),
    last_checkpoint={},
)

_PAGINATION: Final = members(
    ("total", "limit", "offset", "has_more"),
    total=INTEGER,
    limit=INTEGER,
    offset=INTEGER,
    has_more=BOOLEAN,
    next_cursor=STRING,
    total_is_exact=BOOLEAN,
    page=INTEGER,
    per_page=INTEGER,
)

ANSWERS: Final[Mapping[str, Schema]] = {
    "Job": _JOB,
    "Failure": members(
        ("type", "message", "attempt", "occurred_at"),
        type=STRING,
        code=STRING,
        message=STRING,
        retryable=BOOLEAN,
        backtrace=array(STRING),
        attempt=INTEGER,
        occurred_at=INSTANT,
    ),
    "Pagination": _PAGINATION,
    "JobAnswer": members(
        ("job", "id"),
        job={"oneOf": [ref("Job"), {"type": "null"}]},
        id=JOB_ID,
        dropped_by=STRING,
    ),
    "BatchAnswer": members(
        ("jobs", "count"), jobs=array(ref("Job")), count=INTEGER, dropped=array({})
    ),
    "ClaimedJob": {**_JOB, "properties": {**_JOB["properties"], "reservation_id": STRING}},
    "FetchAnswer": members(("jobs", "count"), jobs=array(ref("ClaimedJob")), count=INTEGER),
    "JobPageAnswer": members(
        ("pagination",),
        jobs=array(ref("Job")),
        items=array(ref("Job")),
        pagination=ref("Pagination"),
    ),
    "OutcomeAnswer": members(
        ("id", "job_id", "state", "attempt", "max_attempts", "job"),
        id=JOB_ID,
        job_id=JOB_ID,
        state=STATE,
        attempt=INTEGER,
        max_attempts=INTEGER,
        acknowledged=BOOLEAN,
        completed_at=INSTANT,
        discarded_at=INSTANT,
        next_attempt_at=INSTANT,
        retry_delay_ms=INTEGER,
        job=ref("Job"),
    ),
    "DeletedAnswer": members(("deleted", "job_id"), deleted=BOOLEAN, job_id=JOB_ID),
    "BulkAnswer": members(
        ("results", "has_more"),
        retried=INTEGER,
        deleted=INTEGER,
        failed=INTEGER,
        results=array(
            members(("id", "status"), id=JOB_ID, status=STRING, reason=STRING),
        ),
        has_more=BOOLEAN,
        next_cursor=STRING,
    ),
}
