"""Declares the operations on cron jobs."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.route import (
    INSPECTS_OWN,
    OPERATES_NAMED,
    OPERATES_OWN,
    PAGED,
    Group,
    Route,
)

_operator = functools.partial(Route, group=Group.OPERATOR, module="cron.handlers")

# fmt: off
ROUTES: Final[tuple[Route, ...]] = (
    _operator("POST /cron", "register_cron", OPERATES_NAMED,
        "Register a cron job, or change the one of this name", request="CronBody",
        statuses=(201, 200), errors=(404, 409), repeatable=True),
    _operator("GET /cron", "list_crons", INSPECTS_OWN,
        "List the cron jobs", more_paths=("/crons",), query=(*PAGED, "enabled")),
    _operator("GET /cron/<name>", "get_cron", INSPECTS_OWN,
        "Read a cron job", more_paths=("/crons/<name>",)),
    _operator("PATCH /cron/<name>", "change_cron", OPERATES_OWN,
        "Enable or disable a cron job, or change its named members", more_paths=("/crons/<name>",),
        request="CronChangeBody", errors=(409,), repeatable=True),
    _operator("DELETE /cron/<name>", "delete_cron", OPERATES_OWN,
        "Remove a cron job; jobs that it has enqueued stay", more_paths=("/crons/<name>",),
        is_recorded=True),
    _operator("POST /cron/<name>/pause", "pause_cron", OPERATES_OWN,
        "Disable a cron job", repeatable=True),
    _operator("POST /cron/<name>/resume", "resume_cron", OPERATES_OWN,
        "Enable a cron job", repeatable=True),
    _operator("POST /cron/<name>/trigger", "trigger_cron", OPERATES_OWN,
        "Run a cron job now; its overlap policy applies", statuses=(201, 200)),
)
