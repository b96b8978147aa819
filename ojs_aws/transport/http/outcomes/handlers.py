"""Handles outcomes of jobs (ojs-results, section 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ojs_aws.domain.jobs.outcomes import read_notes, read_report
from ojs_aws.services.outcomes.results import check_ids, is_job_id
from ojs_aws.transport.http.authorization import check_job, check_workflow, within_bounds
from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.jobs.reports import report_values, reporter_of
from ojs_aws.transport.http.outcomes import serializers as shapes
from ojs_aws.transport.http.queries import boolean_of, number_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ojs_aws.domain.json_text import Member
    from ojs_aws.transport.http.outcomes import models
    from ojs_aws.transport.http.workers.models import ReportBody

AGAIN: Final = {"Retry-After": "1"}


def get_result(call: Call) -> Answer[models.ResultAnswer]:
    """Return a job's outcome; with ``wait=true`` the answer may wait for its end."""
    query = call.request.query
    results = call.backend.outcomes.results
    if boolean_of(query, "wait"):
        return Answer(
            shapes.result_answer(results.wait(call.job_id, number_of(query, "timeout") * 1000))
        )
    job = results(call.job_id)
    return Answer(shapes.result_answer(job), headers={} if job.state.is_terminal else AGAIN)


def get_results(call: Call) -> Answer[models.ResultsAnswer]:
    """Return the outcomes of several jobs."""
    ids = shapes.ids_of(call.members())
    check_ids(ids)
    seen = within_bounds(call, [job_id for job_id in ids if is_job_id(job_id)])
    jobs = call.backend.outcomes.results.many(seen) if seen else {}
    return Answer(shapes.results_answer({job_id: jobs.get(job_id) for job_id in ids}))


def report_progress(call: Call) -> Answer[models.ProgressAnswer]:
    """Record progress of the job that the path names."""
    return _report(call, call.job_id)


def report_progress_of(call: Call) -> Answer[models.ProgressAnswer]:
    """Record progress of the job that the body names."""
    return _report(call, "")


def _report(call: Call, job_id: str) -> Answer[models.ProgressAnswer]:
    members = call.members()
    body = _reporter(members, job_id)
    check_job(call, body.job_id)
    worker_id, which = reporter_of(call, body)
    report, checkpoint = read_report(members), shapes.checkpoint_of(members)
    job, is_noted = call.backend.outcomes.progress(
        body.job_id, worker_id, report, checkpoint, which=which
    )
    return Answer(shapes.progress_answer(job, is_accepted=is_noted))


def _reporter(members: Mapping[str, Member], job_id: str) -> ReportBody:
    from ojs_aws.transport.http.workers.models import ReportBody  # imports pydantic

    values = report_values(members, job_id)
    named = {name: values[name] for name in ReportBody.model_fields if name in values}
    return ReportBody.model_validate(named)


def get_progress(call: Call) -> Answer[models.ProgressAnswer]:
    """Return how far a job has come."""
    job = call.backend.outcomes.progress.read(call.job_id)
    return Answer(shapes.progress_answer(job), headers=shapes.progress_headers(job))


def get_workflow_progress(call: Call) -> Answer[models.WorkflowProgressAnswer]:
    """Return how far a workflow has come."""
    workflow_id = call.named("workflow_id")
    check_workflow(call, workflow_id)
    view = call.backend.workflows.service.get(workflow_id)
    return Answer(shapes.workflow_progress_answer(view), headers={"Cache-Control": "no-cache"})


def save_checkpoint(call: Call) -> Answer[models.CheckpointAnswer]:
    """Save a checkpoint of an active job."""
    return _save(call, only_active=True)


def put_checkpoint(call: Call) -> Answer[models.CheckpointAnswer]:
    """Set the checkpoint of a job that has not ended, even before an attempt."""
    return _save(call, only_active=False)


def _save(call: Call, *, only_active: bool) -> Answer[models.CheckpointAnswer]:
    members = call.members()
    body = _reporter(members, call.job_id)
    worker_id, which = reporter_of(call, body)
    saved = call.backend.outcomes.checkpoints.save(
        body.job_id,
        worker_id,
        shapes.state_of(members),
        which=which,
        notes=read_notes(members),
        only_active=only_active,
    )
    return Answer(shapes.checkpoint_answer(body.job_id, saved.checkpoint, with_state=False))


def get_checkpoint(call: Call) -> Answer[models.CheckpointAnswer]:
    """Return the latest checkpoint of a job."""
    saved = call.backend.outcomes.checkpoints.get(call.job_id)
    return Answer(shapes.checkpoint_answer(call.job_id, saved.checkpoint, with_state=True))


def resume_checkpoint(call: Call) -> Answer[models.ResumeAnswer]:
    """Return the latest checkpoint of a job, if any: durable replay begins with it."""
    saved = call.backend.outcomes.checkpoints.find(call.job_id)
    return Answer(shapes.resume_answer(call.job_id, saved.checkpoint if saved else None))


def delete_checkpoint(call: Call) -> Answer[models.CheckpointDeletedAnswer]:
    """Clear the checkpoint of a job; twice is the same as once."""
    was_there = call.backend.outcomes.checkpoints.delete(call.job_id)
    return Answer({"deleted": True, "existed": was_there, "job_id": call.job_id})
