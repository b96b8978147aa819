"""Declares the operations on dead letters."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.route import (
    ADMINISTERS_JOB,
    ADMINISTERS_OWN,
    COUNTS_QUEUES,
    INSPECTS_JOB,
    INSPECTS_OWN,
    OPERATES_JOB,
    OPERATES_OWN,
    PAGED,
    Group,
    Route,
)

_operator = functools.partial(
    Route, group=Group.OPERATOR, module="dead_letters.handlers", has_admin_path=True
)

# fmt: off
ROUTES: Final[tuple[Route, ...]] = (
    _operator("GET /dead-letter", "list_dead_letters", INSPECTS_OWN,
        "List the dead letters",
        query=("queue", "type", "error_type", "since_time", "until", *PAGED)),
    _operator("DELETE /dead-letter", "delete_dead_letters", ADMINISTERS_OWN,
        "Remove many dead letters for good", request="BulkBody", is_body_optional=True),
    _operator("GET /dead-letter/stats", "dead_letter_stats", COUNTS_QUEUES,
        "Count the dead letters by queue and by error"),
    _operator("POST /dead-letter/retry", "retry_dead_letters", OPERATES_OWN,
        "Enqueue many dead letters again", request="BulkBody", is_body_optional=True),
    _operator("POST /dead-letter/delete", "purge_dead_letters", ADMINISTERS_OWN,
        "Remove many dead letters, for clients whose DELETE has no body",
        handler="delete_dead_letters", request="BulkBody", is_body_optional=True),
    _operator("GET /dead-letter/<job_id>", "get_dead_letter", INSPECTS_JOB,
        "Read a dead letter with its whole history"),
    _operator("POST /dead-letter/<job_id>/retry", "retry_dead_letter", OPERATES_JOB,
        "Enqueue a discarded job again", request="RetryBody", is_body_optional=True, errors=(409,)),
    _operator("DELETE /dead-letter/<job_id>", "delete_dead_letter", ADMINISTERS_JOB,
        "Remove a discarded job for good", statuses=(200, 204), errors=(409,), is_recorded=True),
)
