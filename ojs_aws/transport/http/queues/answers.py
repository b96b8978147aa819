"""Declares the answers about queues and limits."""

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

_STATUS: Final[Schema] = {"type": "string", "enum": ["active", "paused", "draining"]}

_QUEUE: Final = members(
    ("name", "status", "paused"),
    name=STRING,
    status=_STATUS,
    state=_STATUS,
    paused=BOOLEAN,
    paused_at=INSTANT,
    created_at=INSTANT,
    counts={"type": "object"},
    depth=INTEGER,
    available=INTEGER,
    active=INTEGER,
    completed=INTEGER,
    estimated=array(STRING),
)

_RATE_LIMIT: Final = members(
    ("key",),
    key=STRING,
    concurrency=members((), limit=INTEGER, active=INTEGER, available=INTEGER),
    rate=members((), limit=INTEGER, period=STRING, current_count=INTEGER),
    throttle=members((), limit=INTEGER, period=STRING, next_allowed_at=INSTANT),
    blocked_until=INSTANT,
    override={"type": "object"},
    waiting_count=INTEGER,
    estimated=array(STRING),
)

ANSWERS: Final[Mapping[str, Schema]] = {
    "Queue": _QUEUE,
    "PurgeAnswer": members(
        ("purged_count", "states", "has_more"),
        purged_count=INTEGER,
        deleted=INTEGER,
        cancelled=INTEGER,
        dry_run=BOOLEAN,
        states=array(STRING),
        has_more=BOOLEAN,
        next_cursor=STRING,
    ),
    "RateLimitAnswer": _RATE_LIMIT,
    "RateLimitsAnswer": members(
        ("items", "pagination"), items=array(_RATE_LIMIT), pagination=ref("Pagination")
    ),
    "QueueAnswer": members(
        ("queue", "name", "status", "paused"),
        queue=ref("Queue"),
        name=STRING,
        status=_STATUS,
        paused=BOOLEAN,
        paused_at=INSTANT,
        resumed_at=INSTANT,
    ),
    "ConfiguredQueueAnswer": members(
        ("name", "config", "set"),
        name=STRING,
        queue=STRING,
        state=_STATUS,
        status=_STATUS,
        paused=BOOLEAN,
        config={"type": "object"},
        configuration={"type": "object"},
        set={"type": "object"},
        created_at=INSTANT,
        updated_at=INSTANT,
    ),
    "QueueDeletionAnswer": members(
        ("queue", "strategy", "state", "jobs_affected"),
        queue=STRING,
        strategy=STRING,
        state=STRING,
        jobs_affected=INTEGER,
    ),
    "QueueStatsAnswer": members(
        ("queue", "stats", "status", "computed_at"),
        queue=ref("Queue"),
        stats={"type": "object"},
        status=_STATUS,
        computed_at=INSTANT,
    ),
    "PriorityStatsAnswer": members(
        ("queue", "counts_by_priority", "total", "is_exact"),
        queue=STRING,
        counts_by_priority={"type": "object"},
        total=INTEGER,
        is_exact=BOOLEAN,
    ),
    "CountedQueuesAnswer": members(
        ("items", "pagination"), items=array(ref("Queue")), pagination=ref("Pagination")
    ),
    "QueuesAnswer": members(
        ("queues", "pagination"),
        queues=array(members(("name", "status"), name=STRING, status=STRING, paused=BOOLEAN)),
        pagination=ref("Pagination"),
    ),
}
