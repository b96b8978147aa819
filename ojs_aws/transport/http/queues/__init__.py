"""Declares the operations on queues and their settings."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.route import (
    ADMINISTERS,
    COUNTS_QUEUE,
    COUNTS_QUEUES,
    EMPTIES_QUEUE,
    INSPECTS_QUEUE,
    OPERATES_QUEUE,
    PAGED,
    Group,
    Route,
)

_operator = functools.partial(
    Route, group=Group.OPERATOR, module="queues.handlers", has_admin_path=True
)
_bindings = functools.partial(Route, group=Group.OPERATOR, module="queues.handlers")

# fmt: off
ROUTES: Final[tuple[Route, ...]] = (
    _operator("GET /queues", "list_queues", COUNTS_QUEUES,
        "List the queues", has_admin_path=False, query=("limit", "cursor", "offset")),
    _operator("GET /admin/queues", "list_queues_with_counts", COUNTS_QUEUES,
        "List the queues with how many jobs each has", has_admin_path=False, query=PAGED),
    _operator("GET /queues/<queue>", "get_queue", COUNTS_QUEUE, "Read a queue with its statistics"),
    _operator("POST /queues", "create_queue", ADMINISTERS,
        "Create a queue with settings of its own", request="QueueBody", statuses=(201,),
        errors=(404, 409)),
    _operator("DELETE /queues/<queue>", "delete_queue", ADMINISTERS,
        "Delete a queue that has no jobs left to run", request="QueueDeletionBody",
        is_body_optional=True, query=("strategy",), errors=(409,), repeatable=True),
    _operator("GET /queues/<queue>/config", "get_queue_config", INSPECTS_QUEUE,
        "Read the settings of a queue, or of the default policy (_default)"),
    _operator("PUT /queues/<queue>/config", "change_queue_config", ADMINISTERS,
        "Change the named settings of a queue, or of the default policy", request="QueueConfigBody",
        errors=(409,)),
    _operator("PATCH /queues/<queue>/config", "patch_queue_config", ADMINISTERS,
        "Change the named settings, as PUT does", handler="change_queue_config",
        request="QueueConfigBody", errors=(409,), repeatable=True),
    _operator("POST /queues/<queue>/drain", "drain_queue", OPERATES_QUEUE,
        "Refuse new jobs in a queue until it is resumed", repeatable=True),
    _operator("GET /queues/<queue>/stats", "queue_stats", COUNTS_QUEUE,
        "Count the jobs of a queue, and what it did in the last hour"),
    _operator("GET /queues/<queue>/priority-stats", "priority_stats", COUNTS_QUEUE,
        "Count the available jobs of a queue by priority"),
    _operator("POST /queues/<queue>/pause", "pause_queue", OPERATES_QUEUE,
        "Stop all fetches from a queue", repeatable=True),
    _operator("POST /queues/<queue>/resume", "resume_queue", OPERATES_QUEUE,
        "Let workers fetch from a queue again", repeatable=True),
    _operator("DELETE /queues/<queue>/jobs", "purge_queue", EMPTIES_QUEUE,
        "Purge up to 100 jobs of a queue: ended ones are deleted, others cancelled",
        request="PurgeBody", repeatable=True),
    _bindings("GET /queues/<queue>/bindings", "list_bindings", COUNTS_QUEUE,
        "List the bindings that a queue has, or may have"),
    _bindings("GET /queues/<queue>/bindings/<name>", "get_binding", COUNTS_QUEUE,
        "Read a binding of a queue"),
    _bindings("PUT /queues/<queue>/bindings/<name>", "put_binding", ADMINISTERS,
        "Register the job types that a binding runs, if the stack allows it",
        request="BindingBody", errors=(409,), is_recorded=True),
    _bindings("DELETE /queues/<queue>/bindings/<name>", "delete_binding", ADMINISTERS,
        "Forget what was registered for a binding", repeatable=True, is_recorded=True),
    _bindings("POST /queues/<queue>/bindings/<name>/suspend", "suspend_binding", OPERATES_QUEUE,
        "Suspend a binding: its jobs wait until it is resumed", repeatable=True,
        is_recorded=True),
    _bindings("POST /queues/<queue>/bindings/<name>/resume", "resume_binding", OPERATES_QUEUE,
        "Resume a binding", repeatable=True, is_recorded=True),
)
