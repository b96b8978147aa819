"""Shapes answers about outcomes, progress and checkpoints (ojs-results, ojs-progress)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.failures import render_failure
from ojs_aws.domain.jobs.outcomes import opened
from ojs_aws.domain.json_text import Member, RawJson
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.domain.workflows.graph import ROOT, Kind
from ojs_aws.domain.workflows.progress import StepState
from ojs_aws.services.jobs.render import render_outcome
from ojs_aws.transport.http.calls import JsonOf, beside_texts, json_of
from ojs_aws.transport.http.jobs.serializers import FLAT_LIMIT
from ojs_aws.transport.http.members import malformed

if TYPE_CHECKING:
    from ojs_aws.domain.job import Checkpoint as SavedCheckpoint
    from ojs_aws.services.workflows.service import WorkflowView
    from ojs_aws.transport.http.outcomes import models


NULL: Final = RawJson("null")
MAX_STEPS: Final = 1000
"""Steps of a workflow whose progress is shown one by one."""

_ENDED: Final = frozenset(
    {StepState.COMPLETED, StepState.FAILED, StepState.CANCELLED, StepState.SKIPPED}
)


# ------------------------------------------------------------------------------------- results
def result_answer(job: JobRecord) -> models.ResultAnswer:
    """Return a job's outcome; ``result`` is null until there is one."""
    return {"job_id": job.id, "id": job.id, **_outcome(job)}


def results_answer(jobs: Mapping[str, JobRecord | None]) -> models.ResultsAnswer:
    """Return the outcomes of several jobs, by id; null for one that does not exist."""
    return {"results": {name: None if job is None else _outcome(job) for name, job in jobs.items()}}


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


def ids_of(members: Mapping[str, Member]) -> list[str]:
    """Return the jobs that a body names, each once.

    :raises InvalidRequestError: ``ids`` is no array of texts.
    """
    given = members.get("ids")
    value = given.value if given else None
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return [*dict.fromkeys(str(each) for each in value)]
    raise malformed("ids", "an array of job ids", given)


# ------------------------------------------------------------------------------------ progress
def progress_answer(job: JobRecord, *, is_accepted: bool | None = None) -> models.ProgressAnswer:
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


def progress_headers(job: JobRecord) -> dict[str, str]:
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


def workflow_progress_answer(view: WorkflowView) -> models.WorkflowProgressAnswer:
    """Return how far a workflow has come (section 9.2): its first steps, and all in total."""
    workflow, graph = view.workflow, view.graph
    steps = [
        _step(view, index) for index in graph.jobs[:MAX_STEPS] if not graph.steps[index].is_callback
    ]
    return {
        "workflow_id": workflow.id,
        "type": workflow.kind,
        "state": workflow.state,
        "progress": round(_part(view, ROOT), 6),
        "steps": steps,
    }


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


_NAMES: Final[Mapping[str, str]] = {
    StepState.COMPLETED: JobState.COMPLETED,
    StepState.FAILED: JobState.DISCARDED,
    StepState.CANCELLED: JobState.CANCELLED,
    StepState.SKIPPED: JobState.CANCELLED,
}


def _part(view: WorkflowView, index: int) -> float:
    """Return how much of a step is done; for a composite the mean of its parts (section 9.1).

    The parts of a batch count when they are over, and not before.
    """
    graph, state = view.graph, view.workflow.states[index]
    if graph.steps[index].kind is Kind.JOB:
        job = view.jobs.get(index)
        known = job.current_progress if job else None
        return 1.0 if state in _ENDED else (known.fraction or 0.0) if known else 0.0
    parts = [part for part in graph.parts[index] if not graph.steps[part].is_callback]
    done = [_part(view, part) for part in parts]
    if graph.steps[index].kind is Kind.BATCH:
        done = [float(each >= 1.0) for each in done]
    return sum(done) / len(done) if done else 1.0


# --------------------------------------------------------------------------------- checkpoints
def checkpoint_answer(
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


def resume_answer(job_id: str, saved: SavedCheckpoint | None) -> models.ResumeAnswer:
    """Return whether an attempt has a checkpoint, and which, as durable replay reads it."""
    answer: models.ResumeAnswer = {"job_id": job_id, "has_checkpoint": saved is not None}
    if saved is not None:
        answer["checkpoint"] = json_of(_checkpoint(job_id, saved, with_state=True))
    return answer


def state_of(members: Mapping[str, Member]) -> RawJson:
    """Return the state to save from a body: any JSON value.

    :raises InvalidRequestError: there is none.
    """
    member = members.get("state")
    if member is not None:
        return member.raw
    message = "The 'state' attribute is required."
    hint = 'Send {"state": {...}}.'
    raise field_error("state", message, hint, expected="any JSON value", received="nothing")


def checkpoint_of(members: Mapping[str, Member]) -> RawJson | None:
    """Return the checkpoint in a progress report (ojs-progress, section 6.4)."""
    member = members.get("checkpoint")
    return None if member is None or member.value is None else member.raw
