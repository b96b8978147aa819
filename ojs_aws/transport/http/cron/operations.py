"""Declares the operations on cron jobs."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.access import INSPECTS_OWN, OPERATES_NAMED, OPERATES_OWN
from ojs_aws.transport.http.route import BASE, PAGED, Group, Route

_operator = functools.partial(Route, group=Group.OPERATOR, home="cron.handlers")

ROUTES: Final[tuple[Route, ...]] = (
    _operator(
        at=f"POST {BASE}/cron",
        operation="register_cron",
        access=OPERATES_NAMED,
        repeatable=True,
        summary="Register a cron job, or change the one of this name",
        request="CronBody",
        statuses=(201, 200),
        errors=(404, 409),
    ),
    _operator(
        at=f"GET {BASE}/cron",
        more_paths=(f"{BASE}/crons",),
        operation="list_crons",
        access=INSPECTS_OWN,
        summary="List the cron jobs",
        query=(*PAGED, "enabled"),
    ),
    _operator(
        at=f"GET {BASE}/cron/<name>",
        more_paths=(f"{BASE}/crons/<name>",),
        operation="get_cron",
        access=INSPECTS_OWN,
        summary="Read a cron job",
    ),
    _operator(
        at=f"PATCH {BASE}/cron/<name>",
        more_paths=(f"{BASE}/crons/<name>",),
        operation="change_cron",
        access=OPERATES_OWN,
        repeatable=True,
        summary="Enable or disable a cron job, or change its named members",
        request="CronChangeBody",
        errors=(409,),
    ),
    _operator(
        at=f"DELETE {BASE}/cron/<name>",
        more_paths=(f"{BASE}/crons/<name>",),
        operation="delete_cron",
        is_recorded=True,
        access=OPERATES_OWN,
        summary="Remove a cron job; jobs that it has enqueued stay",
    ),
    _operator(
        at=f"POST {BASE}/cron/<name>/pause",
        operation="pause_cron",
        access=OPERATES_OWN,
        repeatable=True,
        summary="Disable a cron job",
    ),
    _operator(
        at=f"POST {BASE}/cron/<name>/resume",
        operation="resume_cron",
        access=OPERATES_OWN,
        repeatable=True,
        summary="Enable a cron job",
    ),
    _operator(
        at=f"POST {BASE}/cron/<name>/trigger",
        operation="trigger_cron",
        access=OPERATES_OWN,
        summary="Run a cron job now; its overlap policy applies",
        statuses=(201, 200),
    ),
)
