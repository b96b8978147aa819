"""Declares the operations on results, progress and checkpoints."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.route import (
    INSPECTS_JOB,
    INSPECTS_NAMED,
    INSPECTS_OWN,
    WORKS,
    WORKS_ON_JOB,
    Group,
    Route,
)

_CHECKPOINTS: Final = ("/checkpoints/<job_id>",)

_worker = functools.partial(Route, group=Group.WORKER_API, module="outcomes.handlers")
_producer = functools.partial(Route, group=Group.PRODUCER, module="outcomes.handlers")

# fmt: off
ROUTES: Final[tuple[Route, ...]] = (
    _producer("GET /jobs/<job_id>/result", "get_result", INSPECTS_JOB,
        "Read the outcome of a job; may wait until it has ended", query=("wait", "timeout"),
        errors=(408, 410)),
    _producer("POST /jobs/results", "get_results", INSPECTS_NAMED,
        "Read the outcomes of up to 100 jobs", request="ResultsBody", repeatable=True),
    _worker("PUT /jobs/<job_id>/progress", "report_progress", WORKS,
        "Report how far a job has come (PROGRESS)", request="ProgressBody"),
    _worker("POST /jobs/<job_id>/progress", "post_progress", WORKS,
        "Report how far a job has come, for clients without PUT",
        handler="report_progress", request="ProgressBody"),
    _worker("POST /workers/progress", "report_progress_of", WORKS,
        "Report how far a job has come; the body names it", request="ProgressOfBody",
        errors=(404,)),
    _producer("GET /jobs/<job_id>/progress", "get_progress", INSPECTS_JOB,
        "Read how far a job has come"),
    _producer("GET /workflows/<workflow_id>/progress", "get_workflow_progress", INSPECTS_OWN,
        "Read how far a workflow has come"),
    _worker("POST /jobs/<job_id>/checkpoint", "save_checkpoint", WORKS_ON_JOB,
        "Save a checkpoint of an active job", more_paths=_CHECKPOINTS, request="CheckpointBody",
        errors=(409,), repeatable=True),
    _worker("PUT /jobs/<job_id>/checkpoint", "put_checkpoint", WORKS_ON_JOB,
        "Set the checkpoint of a job that is not over", more_paths=_CHECKPOINTS,
        request="CheckpointBody", errors=(409,)),
    _worker("GET /jobs/<job_id>/checkpoint", "get_checkpoint", WORKS_ON_JOB,
        "Read the latest checkpoint of a job", more_paths=_CHECKPOINTS),
    _worker("GET /jobs/<job_id>/checkpoint/resume", "resume_checkpoint", WORKS_ON_JOB,
        "Read the latest checkpoint of a job, if there is one",
        more_paths=("/checkpoints/<job_id>/resume",)),
    _worker("DELETE /jobs/<job_id>/checkpoint", "delete_checkpoint", WORKS_ON_JOB,
        "Clear the checkpoint of a job", more_paths=_CHECKPOINTS, repeatable=True),
)
