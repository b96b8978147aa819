"""Declares operations that only the official command line and admin UI call."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.access import (
    ADMINISTERS_OWN,
    CANCELS_OWN,
    EMPTIES_QUEUE,
    INSPECTS_JOB,
    INSPECTS_OWN,
    OPERATES,
)
from ojs_aws.transport.http.route import BASE, Group, Route

_operator = functools.partial(Route, group=Group.OPERATOR, home="clients.handlers")

ROUTES: Final[tuple[Route, ...]] = (
    _operator(
        at=f"GET {BASE}/jobs/<job_id>/retries",
        operation="list_retries",
        access=INSPECTS_JOB,
        summary="List the attempts of a job that failed, and its retry policy",
    ),
    _operator(
        at=f"POST {BASE}/queues/<queue>/purge",
        has_admin_path=True,
        operation="purge_jobs",
        access=EMPTIES_QUEUE,
        summary="Purge up to a thousand jobs of a queue; the path confirms it",
        request="QueuePurgeBody",
    ),
    _operator(
        at=f"POST {BASE}/admin/workers/directive",
        operation="direct_workers",
        access=OPERATES,
        repeatable=True,
        summary="Quiet, terminate or resume the workers of a queue, with a label, or all of them",
        request="DirectiveBody",
    ),
    _operator(
        at=f"POST {BASE}/dead-letter/purge",
        has_admin_path=True,
        operation="purge_old_dead_letters",
        access=ADMINISTERS_OWN,
        summary="Remove up to a thousand dead letters; the path confirms it",
        query=("older_than",),
    ),
    _operator(
        at=f"GET {BASE}/cron/<name>/history",
        more_paths=(f"{BASE}/crons/<name>/history",),
        operation="list_cron_runs",
        access=INSPECTS_OWN,
        summary="List the latest runs of a cron job, the newest first",
        query=("limit",),
    ),
    Route(
        at=f"POST {BASE}/workflows/<workflow_id>/cancel",
        operation="post_workflow_cancel",
        group=Group.PRODUCER,
        access=CANCELS_OWN,
        home="workflows.handlers",
        repeatable=True,
        summary="Cancel a workflow, as DELETE does",
        errors=(409,),
    ),
)
