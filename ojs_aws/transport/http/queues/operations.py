"""Declares the operations on queues."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.access import (
    ADMINISTERS,
    COUNTS_QUEUE,
    COUNTS_QUEUES,
    EMPTIES_QUEUE,
    INSPECTS_QUEUE,
    OPERATES_QUEUE,
)
from ojs_aws.transport.http.route import BASE, PAGED, Group, Route

_operator = functools.partial(
    Route, group=Group.OPERATOR, home="queues.handlers", has_admin_path=True
)

ROUTES: Final[tuple[Route, ...]] = (
    _operator(
        at=f"GET {BASE}/queues",
        has_admin_path=False,
        operation="list_queues",
        access=COUNTS_QUEUES,
        summary="List the queues",
        query=("limit", "cursor", "offset"),
    ),
    _operator(
        at=f"GET {BASE}/admin/queues",
        has_admin_path=False,
        operation="list_queues_with_counts",
        access=COUNTS_QUEUES,
        summary="List the queues with how many jobs each has",
        query=PAGED,
    ),
    _operator(
        at=f"GET {BASE}/queues/<queue>",
        operation="get_queue",
        access=COUNTS_QUEUE,
        summary="Read a queue with its statistics",
    ),
    _operator(
        at=f"POST {BASE}/queues",
        operation="create_queue",
        access=ADMINISTERS,
        summary="Create a queue with settings of its own",
        request="QueueBody",
        statuses=(201,),
        errors=(404, 409),
    ),
    _operator(
        at=f"DELETE {BASE}/queues/<queue>",
        operation="delete_queue",
        access=ADMINISTERS,
        repeatable=True,
        summary="Delete a queue that has no jobs left to run",
        request="QueueDeletionBody",
        is_body_optional=True,
        errors=(409,),
        query=("strategy",),
    ),
    _operator(
        at=f"GET {BASE}/queues/<queue>/config",
        operation="get_queue_config",
        access=INSPECTS_QUEUE,
        summary="Read the settings of a queue, or of the default policy (_default)",
    ),
    _operator(
        at=f"PUT {BASE}/queues/<queue>/config",
        operation="change_queue_config",
        access=ADMINISTERS,
        summary="Change the named settings of a queue, or of the default policy",
        request="QueueConfigBody",
        errors=(409,),
    ),
    _operator(
        at=f"PATCH {BASE}/queues/<queue>/config",
        operation="patch_queue_config",
        access=ADMINISTERS,
        repeatable=True,
        summary="Change the named settings, as PUT does",
        request="QueueConfigBody",
        errors=(409,),
    ),
    _operator(
        at=f"POST {BASE}/queues/<queue>/drain",
        operation="drain_queue",
        access=OPERATES_QUEUE,
        repeatable=True,
        summary="Refuse new jobs in a queue until it is resumed",
    ),
    _operator(
        at=f"GET {BASE}/queues/<queue>/stats",
        operation="queue_stats",
        access=COUNTS_QUEUE,
        summary="Count the jobs of a queue, and what it did in the last hour",
    ),
    _operator(
        at=f"GET {BASE}/queues/<queue>/priority-stats",
        operation="priority_stats",
        access=COUNTS_QUEUE,
        summary="Count the available jobs of a queue by priority",
    ),
    _operator(
        at=f"POST {BASE}/queues/<queue>/pause",
        operation="pause_queue",
        access=OPERATES_QUEUE,
        repeatable=True,
        summary="Stop all fetches from a queue",
    ),
    _operator(
        at=f"POST {BASE}/queues/<queue>/resume",
        operation="resume_queue",
        access=OPERATES_QUEUE,
        repeatable=True,
        summary="Let workers fetch from a queue again",
    ),
    _operator(
        at=f"DELETE {BASE}/queues/<queue>/jobs",
        operation="purge_queue",
        access=EMPTIES_QUEUE,
        repeatable=True,
        summary="Purge up to 100 jobs of a queue: ended ones are deleted, others cancelled",
        request="PurgeBody",
    ),
)
