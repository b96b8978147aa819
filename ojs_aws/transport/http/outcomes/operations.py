"""Declares the operations on results, progress and checkpoints."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.access import (
    INSPECTS_JOB,
    INSPECTS_NAMED,
    INSPECTS_OWN,
    WORKS,
    WORKS_ON_JOB,
)
from ojs_aws.transport.http.route import BASE, Group, Route

_CHECKPOINTS: Final = (f"{BASE}/checkpoints/<job_id>",)

_worker = functools.partial(Route, group=Group.WORKER_API, home="outcomes.handlers")
_producer = functools.partial(Route, group=Group.PRODUCER, home="outcomes.handlers")

ROUTES: Final[tuple[Route, ...]] = (
    _producer(
        at=f"GET {BASE}/jobs/<job_id>/result",
        operation="get_result",
        access=INSPECTS_JOB,
        summary="Read the outcome of a job; may wait until it has ended",
        query=("wait", "timeout"),
        errors=(408, 410),
    ),
    _producer(
        at=f"POST {BASE}/jobs/results",
        operation="get_results",
        access=INSPECTS_NAMED,
        repeatable=True,
        summary="Read the outcomes of up to 100 jobs",
        request="ResultsBody",
    ),
    _worker(
        at=f"PUT {BASE}/jobs/<job_id>/progress",
        operation="report_progress",
        access=WORKS,
        summary="Report how far a job has come (PROGRESS)",
        request="ProgressBody",
    ),
    _worker(
        at=f"POST {BASE}/jobs/<job_id>/progress",
        operation="post_progress",
        access=WORKS,
        summary="Report how far a job has come, for clients without PUT",
        request="ProgressBody",
    ),
    _worker(
        at=f"POST {BASE}/workers/progress",
        operation="report_progress_of",
        access=WORKS,
        summary="Report how far a job has come; the body names it",
        request="ProgressOfBody",
        errors=(404,),
    ),
    _producer(
        at=f"GET {BASE}/jobs/<job_id>/progress",
        operation="get_progress",
        access=INSPECTS_JOB,
        summary="Read how far a job has come",
    ),
    _producer(
        at=f"GET {BASE}/workflows/<workflow_id>/progress",
        operation="get_workflow_progress",
        access=INSPECTS_OWN,
        summary="Read how far a workflow has come",
    ),
    _worker(
        at=f"POST {BASE}/jobs/<job_id>/checkpoint",
        more_paths=_CHECKPOINTS,
        operation="save_checkpoint",
        access=WORKS_ON_JOB,
        repeatable=True,
        summary="Save a checkpoint of an active job",
        request="CheckpointBody",
        errors=(409,),
    ),
    _worker(
        at=f"PUT {BASE}/jobs/<job_id>/checkpoint",
        more_paths=_CHECKPOINTS,
        operation="put_checkpoint",
        access=WORKS_ON_JOB,
        summary="Set the checkpoint of a job that is not over",
        request="CheckpointBody",
        errors=(409,),
    ),
    _worker(
        at=f"GET {BASE}/jobs/<job_id>/checkpoint",
        more_paths=_CHECKPOINTS,
        operation="get_checkpoint",
        access=WORKS_ON_JOB,
        summary="Read the latest checkpoint of a job",
    ),
    _worker(
        at=f"GET {BASE}/jobs/<job_id>/checkpoint/resume",
        more_paths=(f"{BASE}/checkpoints/<job_id>/resume",),
        operation="resume_checkpoint",
        access=WORKS_ON_JOB,
        summary="Read the latest checkpoint of a job, if there is one",
    ),
    _worker(
        at=f"DELETE {BASE}/jobs/<job_id>/checkpoint",
        more_paths=_CHECKPOINTS,
        operation="delete_checkpoint",
        access=WORKS_ON_JOB,
        repeatable=True,
        summary="Clear the checkpoint of a job",
    ),
)
