"""Handles outcomes, progress and checkpoints of jobs (ojs-results, ojs-progress)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.failures import render_failure
from ojs_aws.domain.jobs.outcomes import opened, read_notes
from ojs_aws.domain.jobs.progress import read_report
from ojs_aws.domain.json_text import Member, RawJson
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.domain.workflows.graph import ROOT, Kind
from ojs_aws.domain.workflows.progress import StepState
from ojs_aws.services.jobs.render import render_outcome
from ojs_aws.services.outcomes.results import check_ids, is_job_id
from ojs_aws.transport.http.authorization import check_job, check_workflow, within_bounds
from ojs_aws.transport.http.calls import Answer, Call, JsonOf, beside_texts, json_of
from ojs_aws.transport.http.jobs.reports import report_values, reporter_of
from ojs_aws.transport.http.jobs.serializers import FLAT_LIMIT
from ojs_aws.transport.http.members import malformed
from ojs_aws.transport.http.queries import boolean_of, number_of

if TYPE_CHECKING:
    from ojs_aws.domain.job import Checkpoint as SavedCheckpoint
    from ojs_aws.services.workflows.service import WorkflowView
    from ojs_aws.transport.http.outcomes import models
    from ojs_aws.transport.http.workers.models import ReportBody

AGAIN: Final = {"Retry-After": "1"}
NULL: Final = RawJson("null")
MAX_STEPS: Final = 1000
"""Steps of a workflow whose progress is shown one by one."""

_NAMES: Final[Mapping[str, str]] = {
    StepState.COMPLETED: JobState.COMPLETED,
    StepState.FAILED: JobState.DISCARDED,
    StepState.CANCELLED: JobState.CANCELLED,
    StepState.SKIPPED: JobState.CANCELLED,
}
"""How the steps of a workflow that are over are shown without their jobs."""


def get_result(call: Call) -> Answer[models.ResultAnswer]:
    """Return a job's outcome; with ``wait=true`` the answer may wait for its end."""
    query, results = call.request.query, call.backend.outcomes.results
    if boolean_of(query, "wait"):
        job = results.wait(call.job_id, number_of(query, "timeout") * 1000)
    else:
        job = results(call.job_id)
    body: models.ResultAnswer = {"job_id": job.id, "id": job.id, **_outcome(job)}
    return Answer(body, headers={} if job.state.is_terminal else AGAIN)


def get_results(call: Call) -> Answer[models.ResultsAnswer]:
    """Return the outcomes of several jobs."""
    ids = _ids_of(call.members())
    check_ids(ids)
    seen = within_bounds(call, [job_id for job_id in ids if is_job_id(job_id)])
    jobs = call.backend.outcomes.results.many(seen) if seen else {}
    return Answer(
        {"results": {each: _outcome(job) if (job := jobs.get(each)) else None for each in ids}}
    )


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
    given = members.get("checkpoint")  # ojs-progress, section 6.4
    checkpoint = None if given is None or given.value is None else given.raw
    job, is_noted = call.backend.outcomes.progress(
        body.job_id, worker_id, read_report(members), checkpoint, which=which
    )
    return Answer(_progress_answer(job, is_accepted=is_noted))


def _reporter(members: Mapping[str, Member], job_id: str) -> ReportBody:
    from ojs_aws.transport.http.workers.models import ReportBody  # imports pydantic

    values = report_values(members, job_id)
    named = {name: values[name] for name in ReportBody.model_fields if name in values}
    return ReportBody.model_validate(named)


def get_progress(call: Call) -> Answer[models.ProgressAnswer]:
    """Return how far a job has come."""
    job = call.backend.outcomes.progress.read(call.job_id)
    return Answer(_progress_answer(job), headers=_progress_headers(job))


def get_workflow_progress(call: Call) -> Answer[models.WorkflowProgressAnswer]:
    """Return how far a workflow has come (ojs-progress, 9.2): its first steps, and all in total."""
    workflow_id = call.named("workflow_id")
    check_workflow(call, workflow_id)
    view = call.backend.workflows.service.get(workflow_id)
    known, graph = view.workflow, view.graph
    jobs = [index for index in graph.jobs[:MAX_STEPS] if not graph.steps[index].is_callback]
    body: models.WorkflowProgressAnswer = {
        "workflow_id": known.id,
        "type": known.kind,
        "state": known.state,
        "progress": round(_part(view, ROOT), 6),
        "steps": [_step(view, index) for index in jobs],
    }
    return Answer(body, headers={"Cache-Control": "no-cache"})


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
        _state_of(members),
        which=which,
        notes=read_notes(members),
        only_active=only_active,
    )
    return Answer(_checkpoint_answer(body.job_id, saved.checkpoint, with_state=False))


def get_checkpoint(call: Call) -> Answer[models.CheckpointAnswer]:
    """Return the latest checkpoint of a job."""
    saved = call.backend.outcomes.checkpoints.get(call.job_id)
    return Answer(_checkpoint_answer(call.job_id, saved.checkpoint, with_state=True))


def resume_checkpoint(call: Call) -> Answer[models.ResumeAnswer]:
    """Return the latest checkpoint of a job, if any: durable replay begins with it."""
    saved = call.backend.outcomes.checkpoints.find(call.job_id)
    answer: models.ResumeAnswer = {"job_id": call.job_id, "has_checkpoint": saved is not None}
    if saved is not None:
        answer["checkpoint"] = json_of(_checkpoint(call.job_id, saved.checkpoint, with_state=True))
    return Answer(answer)


def delete_checkpoint(call: Call) -> Answer[models.CheckpointDeletedAnswer]:
    """Clear the checkpoint of a job; twice is the same as once."""
    was_there = call.backend.outcomes.checkpoints.delete(call.job_id)
    return Answer({"deleted": True, "existed": was_there, "job_id": call.job_id})


# ------------------------------------------------------------------------------------- results
def _outcome(job: JobRecord) -> models.Outcome:
    members: models.Outcome = {
        "type": job.type,
        "queue": job.queue,
        "state": job.state,
        "attempt": job.attempt,
        "result": JsonOf(job.result if isinstance(job.result, str) else NULL),
    }
    if job.error is not None and job.state.is_terminal:
        members["error"] = JsonOf(render_failure(job.error))
    return beside_texts(members, render_outcome(job))


def _ids_of(members: Mapping[str, Member]) -> list[str]:
    """Return the jobs that a body names, each once.

    :raises InvalidRequestError: ``ids`` is no array of texts.
    """
    given = members.get("ids")
    value = given.value if given else None
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return [*dict.fromkeys(str(each) for each in value)]
    raise malformed("ids", "an array of job ids", given)


# ------------------------------------------------------------------------------------ progress
def _progress_answer(job: JobRecord, *, is_accepted: bool | None = None) -> models.ProgressAnswer:
    """Return how far a job has come: null if nothing was reported."""
    answer: models.ProgressAnswer = {
        "job_id": job.id,
        "state": job.state,
        "attempt": job.attempt,
        **_progress(job),
    }
    if is_accepted is not None:
        answer["accepted"] = is_accepted
    return answer


def _progress(job: JobRecord | None) -> models.ProgressMembers:
    known = job.current_progress if job else None
    fraction = known.fraction if known else None
    return {
        "progress": fraction,
        "percentage": None if fraction is None else round(fraction * 100, 10),
        "data": JsonOf(known.data) if known and known.data else None,
        "message": known.message or None if known else None,
        "updated_at": format_instant(known.updated_at) if known else None,
    }


def _progress_headers(job: JobRecord) -> dict[str, str]:
    """Return the headers of ojs-progress, section 10.3."""
    known = job.current_progress
    headers = {"Cache-Control": "no-cache"}
    if known is None:
        return headers
    from email.utils import formatdate  # few requests need it

    headers["Last-Modified"] = formatdate(known.updated_at / 1000, usegmt=True)
    if known.fraction is not None:
        headers["X-OJS-Progress"] = str(known.fraction)
    return headers


def _step(view: WorkflowView, index: int) -> models.StepProgress:
    job = view.jobs.get(index)
    known = _progress(job)
    state = view.workflow.states[index]
    is_waiting = state in {StepState.WAITING, StepState.READY}
    word = job.state if job else "pending" if is_waiting else _NAMES.get(state, "active")
    step: models.StepProgress = {
        "job_id": None if is_waiting and job is None else view.workflow.job_id(index),
        "type": view.graph.steps[index].type,
        "state": word,
        "progress": 1.0 if state == StepState.COMPLETED else known["progress"],
    }
    if known["data"] is not None:
        step["data"] = known["data"]
    return step


def _part(view: WorkflowView, index: int) -> float:
    """Return how much of a step is done; for a composite the mean of its parts (section 9.1).

    The parts of a batch count when they are over, and not before.
    """
    graph, state = view.graph, view.workflow.states[index]
    if graph.steps[index].kind is Kind.JOB:
        job = view.jobs.get(index)
        known = job.current_progress if job else None
        return 1.0 if state in _NAMES else (known.fraction or 0.0) if known else 0.0
    parts = [part for part in graph.parts[index] if not graph.steps[part].is_callback]
    done = [_part(view, part) for part in parts]
    if graph.steps[index].kind is Kind.BATCH:
        done = [float(each >= 1.0) for each in done]
    return sum(done) / len(done) if done else 1.0


# --------------------------------------------------------------------------------- checkpoints
def _checkpoint_answer(
    job_id: str, saved: SavedCheckpoint, *, with_state: bool
) -> models.CheckpointAnswer:
    """Return a checkpoint, wrapped as the specification shows it and flat as its cases read it."""
    members = _checkpoint(job_id, saved, with_state=with_state)
    wrapped = json_of(members)
    if len(wrapped) > FLAT_LIMIT:
        members = _checkpoint(job_id, saved, with_state=False)
    return {"checkpoint": wrapped, **members}


def _checkpoint(job_id: str, saved: SavedCheckpoint, *, with_state: bool) -> models.Checkpoint:
    kept = {"state": NULL, **opened(saved)} if with_state else {}
    return {
        "job_id": job_id,
        **cast("models.CheckpointState", {name: JsonOf(raw) for name, raw in kept.items()}),
        "sequence": saved.sequence,
        "created_at": format_instant(saved.created_at),
    }


def _state_of(members: Mapping[str, Member]) -> RawJson:
    """Return the state to save from a body: any JSON value.

    :raises InvalidRequestError: there is none.
    """
    member = members.get("state")
    if member is not None:
        return member.raw
    message = "The 'state' attribute is required."
    hint = 'Send {"state": {...}}.'
    raise field_error("state", message, hint, expected="any JSON value", received="nothing")
