"""Shapes answers about outcomes, progress and checkpoints (ojs-results, ojs-progress)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.checkpoints import NOTES, opened
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.failures import render_failure
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.json_text import (
    ANY_DEPTH,
    Member,
    RawJson,
    assemble,
    assemble_array,
    encode,
    json_type,
    parse_object,
)
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.domain.workflows.graph import ROOT, Kind
from ojs_aws.domain.workflows.progress import StepState
from ojs_aws.services.jobs.render import render_outcome
from ojs_aws.transport.http.jobs.wire import FLAT_LIMIT

if TYPE_CHECKING:
    from ojs_aws.domain.job import Checkpoint
    from ojs_aws.services.workflows.service import WorkflowView

Rendered = dict[str, RawJson]

NULL: Final = RawJson("null")
MAX_STEPS: Final = 1000
"""Steps of a workflow whose progress is shown one by one."""

_ENDED: Final = frozenset(
    {StepState.COMPLETED, StepState.FAILED, StepState.CANCELLED, StepState.SKIPPED}
)


# ------------------------------------------------------------------------------------- results
def result_answer(job: JobRecord) -> RawJson:
    """Return a job's outcome; ``result`` is null until there is one."""
    return assemble({"job_id": encode(job.id), "id": encode(job.id), **_outcome(job)})


def results_answer(jobs: Mapping[str, JobRecord | None]) -> RawJson:
    """Return the outcomes of several jobs, by id; null for one that does not exist."""
    told = {
        job_id: NULL if job is None else assemble(_outcome(job)) for job_id, job in jobs.items()
    }
    return assemble({"results": assemble(told)})


def _outcome(job: JobRecord) -> Rendered:
    members: Rendered = {
        "type": encode(job.type),
        "queue": encode(job.queue),
        "state": encode(str(job.state)),
        "attempt": encode(job.attempt),
        "result": job.result if isinstance(job.result, str) else NULL,
    }
    if job.error is not None and job.state.is_terminal:
        members["error"] = render_failure(job.error)
    return members | render_outcome(job)


def ids_of(members: Mapping[str, Member]) -> list[str]:
    """Return the jobs that a body names, each once.

    :raises InvalidRequestError: ``ids`` is no array of texts.
    """
    given = members.get("ids")
    value = given.value if given else None
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return [*dict.fromkeys(str(each) for each in value)]
    received = "nothing" if given is None else json_type(value)
    raise InvalidRequestError(
        f"The 'ids' attribute must be an array of job ids; received {received}.",
        details={"field": "ids", "expected": "an array of job ids", "received": received},
    )


# ------------------------------------------------------------------------------------ progress
def progress_answer(job: JobRecord, more: Mapping[str, RawJson] | None = None) -> RawJson:
    """Return how far a job has come: null if nothing was reported."""
    return assemble(
        {
            "job_id": encode(job.id),
            "state": encode(str(job.state)),
            "attempt": encode(job.attempt),
            **_progress(job),
            **(more or {}),
        }
    )


def _progress(job: JobRecord | None) -> Rendered:
    known = job.current_progress if job else None
    fraction = known.fraction if known else None
    members: Rendered = {
        "progress": encode(fraction),
        "percentage": encode(None if fraction is None else round(fraction * 100, 10)),
        "data": (known.data if known else None) or NULL,
        "message": encode(known.message if known and known.message else None),
        "updated_at": encode(format_instant(known.updated_at) if known else None),
    }
    return members


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


def workflow_progress_answer(view: WorkflowView) -> RawJson:
    """Return how far a workflow has come (section 9.2): its first steps, and all in total."""
    workflow, graph = view.workflow, view.graph
    steps = [
        _step(view, index) for index in graph.jobs[:MAX_STEPS] if not graph.steps[index].is_callback
    ]
    return assemble(
        {
            "workflow_id": encode(workflow.id),
            "type": encode(str(workflow.kind)),
            "state": encode(str(workflow.state)),
            "progress": encode(round(_part(view, ROOT), 6)),
            "steps": assemble_array(steps),
        }
    )


def _step(view: WorkflowView, index: int) -> RawJson:
    job = view.jobs.get(index)
    known = _progress(job)
    state = view.workflow.states[index]
    is_waiting = state in {StepState.WAITING, StepState.READY}
    word = job.state if job else "pending" if is_waiting else _NAMES.get(state, "active")
    if state == StepState.COMPLETED:
        known["progress"] = encode(1.0)
    members: Rendered = {
        "job_id": encode(None if is_waiting and job is None else view.workflow.job_id(index)),
        "type": encode(view.graph.steps[index].type),
        "state": encode(str(word)),
        "progress": known["progress"],
    }
    if known["data"] != NULL:
        members["data"] = known["data"]
    return assemble(members)


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
def checkpoint_answer(job_id: str, saved: Checkpoint, *, with_state: bool) -> RawJson:
    """Return a checkpoint, wrapped as the specification shows it and flat as its cases read it."""
    members: Rendered = {"job_id": encode(job_id)}
    if with_state:
        members |= {"state": NULL, **opened(saved)}
    members["sequence"] = encode(saved.sequence)
    members["created_at"] = encode(format_instant(saved.created_at))
    wrapped = assemble(members)
    if len(wrapped) > FLAT_LIMIT:
        for name in ("state", *NOTES):
            members.pop(name, None)
    return assemble({"checkpoint": wrapped, **members})


def resume_answer(job_id: str, saved: Checkpoint | None) -> RawJson:
    """Return whether an attempt has a checkpoint, and which, as durable replay reads it."""
    has_one = {"job_id": encode(job_id), "has_checkpoint": encode(saved is not None)}
    if saved is None:
        return assemble(has_one)
    wrapped = parse_object(checkpoint_answer(job_id, saved, with_state=True), max_depth=ANY_DEPTH)
    return assemble({**has_one, "checkpoint": wrapped["checkpoint"].raw})


def state_of(members: Mapping[str, Member]) -> RawJson:
    """Return the state to save from a body: any JSON value.

    :raises InvalidRequestError: there is none.
    """
    member = members.get("state")
    if member is not None:
        return member.raw
    raise InvalidRequestError(
        "The 'state' attribute is required.",
        details={"field": "state", "expected": "any JSON value", "received": "nothing"},
        hint='Send {"state": {...}}.',
    )


def checkpoint_of(members: Mapping[str, Member]) -> RawJson | None:
    """Return the checkpoint in a progress report (ojs-progress, section 6.4)."""
    member = members.get("checkpoint")
    return None if member is None or member.value is None else member.raw
