"""Declares the answers for operators about jobs, statistics and settings."""

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

_NUMBER: Final[Schema] = {"type": "number"}

ANSWERS: Final[Mapping[str, Schema]] = {
    "JobSummary": members(
        ("id", "type", "queue", "state", "priority", "attempt", "created_at"),
        id=JOB_ID,
        type=STRING,
        queue=STRING,
        state=STATE,
        priority=INTEGER,
        attempt=INTEGER,
        max_attempts=INTEGER,
        created_at=INSTANT,
        enqueued_at=INSTANT,
        started_at=INSTANT,
        completed_at=INSTANT,
        cancelled_at=INSTANT,
        discarded_at=INSTANT,
        next_attempt_at=INSTANT,
        dead_letter=BOOLEAN,
        error=members((), type=STRING, message=STRING),
        workflow_id=STRING,
        worker_id=STRING,
    ),
    "JobListAnswer": members(
        ("items", "pagination", "total"),
        items=array(ref("JobSummary")),
        jobs=array(ref("JobSummary")),
        pagination=ref("Pagination"),
        total=INTEGER,
        order={"type": "object"},
    ),
    "JobDetailAnswer": {
        "allOf": [
            ref("Job"),
            members(
                ("job", "id", "history"),
                job=ref("Job"),
                id=JOB_ID,
                history=array(
                    members(
                        ("at", "what"),
                        at=INSTANT,
                        what=STRING,
                        attempt=INTEGER,
                        error=ref("Failure"),
                        before_retry=BOOLEAN,
                    )
                ),
                events=members(("items", "cursor", "has_more"), cursor=STRING, has_more=BOOLEAN),
            ),
        ]
    },
    "JobBulkAnswer": members(
        ("action", "dry_run", "matched", "succeeded", "failed", "errors", "has_more"),
        action={"type": "string", "enum": ["retry", "cancel", "delete"]},
        dry_run=BOOLEAN,
        matched=INTEGER,
        succeeded=INTEGER,
        retried=INTEGER,
        failed=INTEGER,
        job_ids=array(JOB_ID),
        errors=array(
            members(("job_id", "error"), job_id=JOB_ID, status=STRING, error=STRING),
        ),
        has_more=BOOLEAN,
        next_cursor=STRING,
    ),
    "RepairAnswer": members(
        ("dry_run", "queues", "ready", "waiting", "paused", "workflows", "has_more"),
        dry_run=BOOLEAN,
        queues=array(STRING),
        ready=INTEGER,
        waiting=INTEGER,
        paused=INTEGER,
        workflows=INTEGER,
        has_more=BOOLEAN,
        next_cursor=STRING,
    ),
    "TotalsAnswer": members(
        ("queues", "workers", "jobs", "throughput", "is_exact"),
        queues=INTEGER,
        queues_counted=INTEGER,
        workers=INTEGER,
        workers_by_state={"type": "object"},
        jobs={"type": "object", "additionalProperties": INTEGER},
        throughput=members((), processed_per_minute=_NUMBER, failed_per_minute=_NUMBER),
        is_exact=BOOLEAN,
        uptime_seconds=INTEGER,
        computed_at=INSTANT,
    ),
    "HistoryAnswer": members(
        ("period", "data"),
        period=STRING,
        data=array(
            members(
                ("timestamp", "processed", "failed"),
                timestamp=INSTANT,
                processed=INTEGER,
                completed=INTEGER,
                failed=INTEGER,
                is_exact=BOOLEAN,
            )
        ),
    ),
    "ConfigAnswer": members(
        ("implementation", "settings"),
        implementation={"type": "object"},
        specversion=STRING,
        settings={"type": "object"},
    ),
}
