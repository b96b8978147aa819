"""Declares the answers about workers, and to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ojs_aws.transport.http.schema_parts import (
    BOOLEAN,
    INSTANT,
    INTEGER,
    JOB_ID,
    STRING,
    Schema,
    array,
    members,
    ref,
)

_DIRECTIVE: Final[Schema] = {"type": "string", "enum": ["running", "quiet", "terminate"]}
_STATE: Final[Schema] = {"type": "string", "enum": ["running", "quiet", "terminate", "stale"]}

_WORKER: Final = members(
    ("id", "state", "directive", "last_heartbeat_at"),
    id=STRING,
    state=_STATE,
    directive=_DIRECTIVE,
    hostname=STRING,
    queues=array(STRING),
    concurrency=INTEGER,
    labels=array(STRING),
    active_jobs=INTEGER,
    active_job_ids=array(JOB_ID),
    last_heartbeat_at=INSTANT,
    expected_until=INSTANT,
    heartbeat_interval_ms=INTEGER,
)

ANSWERS: Final[Mapping[str, Schema]] = {
    "HeartbeatAnswer": members(
        ("state", "jobs_extended", "server_time"),
        state=_DIRECTIVE,
        directive={"type": "string", "enum": ["", "quiet", "terminate"]},
        acknowledged=BOOLEAN,
        jobs_extended=array(JOB_ID),
        jobs_cancelled=array(JOB_ID),
        jobs_lost=array(JOB_ID),
        server_time=INSTANT,
    ),
    "Worker": _WORKER,
    "WorkerHealthAnswer": members(
        ("status", "worker_id", "state", "directive", "draining"),
        status={"type": "string", "enum": ["ok", "draining", "stale"]},
        worker_id=STRING,
        state=_STATE,
        directive=_DIRECTIVE,
        draining=BOOLEAN,
        active_jobs=INTEGER,
        last_heartbeat_at=INSTANT,
    ),
    "WorkerAnswer": members(("worker", "id"), worker=ref("Worker"), id=STRING),
    "WorkersAnswer": members(
        ("items", "summary", "pagination"),
        items=array(ref("Worker")),
        summary=members(("total",), total=INTEGER, running=INTEGER, stale=INTEGER),
        pagination=ref("Pagination"),
    ),
    "DirectedAnswer": members(
        ("directive", "updated", "workers"),
        directive=STRING,
        updated=INTEGER,
        workers=array(STRING),
        refused=array(STRING),
        has_more=BOOLEAN,
        next_cursor=STRING,
    ),
}
