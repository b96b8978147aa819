"""Declares the answers about cron jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ojs_aws.transport.http.schema_parts import (
    BOOLEAN,
    INSTANT,
    INTEGER,
    STRING,
    Schema,
    array,
    members,
    ref,
)

_INSTANT_OR_NULL: Final[Schema] = {"type": ["string", "null"], "format": "date-time"}

_CRON: Final = members(
    ("name", "cron", "timezone", "type", "args", "overlap_policy", "enabled", "created_at"),
    name=STRING,
    cron=STRING,
    expression=STRING,
    timezone=STRING,
    type=STRING,
    args={"type": "array"},
    meta={"type": "object"},
    options={"type": "object"},
    job_template={"type": "object"},
    queue=STRING,
    overlap_policy={"type": "string", "enum": ["skip", "allow", "cancel_previous", "enqueue"]},
    enabled=BOOLEAN,
    status={"type": "string", "enum": ["active", "paused"]},
    description=STRING,
    last_run_at=_INSTANT_OR_NULL,
    next_run_at=_INSTANT_OR_NULL,
    run_count=INTEGER,
    last_occurrence={"type": ["object", "null"]},
    created_at=INSTANT,
    updated_at=INSTANT,
)

ANSWERS: Final[Mapping[str, Schema]] = {
    "Cron": _CRON,
    "CronAnswer": members(
        ("cron", "cron_job", "name"),
        cron=ref("Cron"),
        cron_job=ref("Cron"),
        name=STRING,
        deleted=BOOLEAN,
        warnings=array(STRING),
    ),
    "CronTriggerAnswer": members(
        ("cron", "cron_job", "triggered"),
        cron=ref("Cron"),
        cron_job=ref("Cron"),
        triggered=BOOLEAN,
        job_id={"type": ["string", "null"]},
        reason={"type": ["string", "null"]},
        active_job_id={"type": ["string", "null"]},
    ),
    "CronsAnswer": members(
        ("crons", "cron_jobs", "entries", "count", "pagination"),
        crons=array(ref("Cron")),
        cron_jobs=array(ref("Cron")),
        entries=array(ref("Cron")),
        count=INTEGER,
        pagination=ref("Pagination"),
    ),
}
