"""Declares operations that only the official command line and admin UI call, by their own paths."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.route import (
    ADMINISTERS_OWN,
    CANCELS_OWN,
    EMPTIES_QUEUE,
    INSPECTS_JOB,
    INSPECTS_OWN,
    OPERATES,
    Group,
    Route,
)

_operator = functools.partial(Route, group=Group.OPERATOR, module="clients.handlers")

# fmt: off
ROUTES: Final[tuple[Route, ...]] = (
    _operator("GET /jobs/<job_id>/retries", "list_retries", INSPECTS_JOB,
        "List the attempts of a job that failed, and its retry policy"),
    _operator("POST /queues/<queue>/purge", "purge_jobs", EMPTIES_QUEUE,
        "Purge up to a thousand jobs of a queue; the path confirms it", has_admin_path=True,
        request="QueuePurgeBody"),
    _operator("POST /admin/workers/directive", "direct_workers", OPERATES,
        "Quiet, terminate or resume the workers of a queue, with a label, or all of them",
        request="DirectiveBody", repeatable=True),
    _operator("POST /dead-letter/purge", "purge_old_dead_letters", ADMINISTERS_OWN,
        "Remove up to a thousand dead letters; the path confirms it", has_admin_path=True,
        query=("older_than",)),
    _operator("GET /cron/<name>/history", "list_cron_runs", INSPECTS_OWN,
        "List the latest runs of a cron job, the newest first",
        more_paths=("/crons/<name>/history",), query=("limit",)),
    Route("POST /workflows/<workflow_id>/cancel", "post_workflow_cancel", CANCELS_OWN,
        "Cancel a workflow, as DELETE does", group=Group.PRODUCER, module="workflows.handlers",
        handler="cancel_workflow", errors=(409,), repeatable=True),
)
