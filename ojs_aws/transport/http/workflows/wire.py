"""Shapes workflows: every field that a document or an official client reads.

A step's ``state`` has the names of ojs-workflows (section 4.4), for steps with
``depends_on`` in those of the HTTP binding (section 14.1); ``job_state`` is the job's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.job import JobState
from ojs_aws.domain.json_text import (
    ANY_DEPTH,
    RawJson,
    assemble,
    assemble_array,
    encode,
    parse_object,
)
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.domain.workflows.graph import ROOT, Kind
from ojs_aws.domain.workflows.progress import StepState
from ojs_aws.domain.workflows.workflow import Workflow, WorkflowState
from ojs_aws.transport.http.jobs.wire import FLAT_LIMIT, Rendered

if TYPE_CHECKING:
    from ojs_aws.domain.errors import JsonValue
    from ojs_aws.services.workflows.service import WorkflowView

MAX_ARGS: Final = 250_000
"""Characters of arguments that an answer shows; steps that have no room go without them."""

MAX_RESULTS: Final = 1_000_000
"""Characters of results that an answer shows; Lambda answers 6 MB at most."""

MAX_TWICE: Final = 200
"""Steps of a group that are shown under both names that clients look for."""

MAX_FAILED_IDS: Final = 1000

_WORDS: Final[Mapping[str, str]] = {
    StepState.WAITING: "waiting",
    StepState.READY: "pending",
    StepState.RUNNING: "pending",
    StepState.COMPLETED: "completed",
    StepState.FAILED: "failed",
    StepState.CANCELLED: "cancelled",
    StepState.SKIPPED: "skipped",
}
_BINDING_WORDS: Final = {**_WORDS, StepState.WAITING: "pending", StepState.READY: "available"}


def workflow_answer(view: WorkflowView, more: Mapping[str, RawJson] | None = None) -> RawJson:
    """Return one workflow with its steps, wrapped and flat.

    :param more: further members, in both places.
    """
    workflow = render_summary(view.workflow)
    workflow["metadata"] = encode(_metadata(view))
    workflow |= _Steps(view).of(ROOT)
    workflow |= dict(more or {})
    wrapped = assemble(workflow)
    if len(wrapped) > FLAT_LIMIT:
        few = {name: workflow[name] for name in ("id", "state")}
        return assemble({"workflow": wrapped} | few)
    return assemble({"workflow": wrapped} | workflow)


def workflows_answer(items: Sequence[RawJson], pagination: Mapping[str, JsonValue]) -> RawJson:
    """Return a page of workflows."""
    listed = assemble_array(items)
    return assemble(
        {
            "workflows": listed,
            "items": listed,
            "pagination": encode({**pagination}),
            "total": encode(pagination["total"]),
        }
    )


def render_summary(workflow: Workflow) -> Rendered:
    """Return how a workflow describes itself, without its steps."""
    members: dict[str, JsonValue] = {
        "id": workflow.id,
        "type": workflow.kind,
        "name": workflow.name,
        "state": workflow.state,
        "steps_total": workflow.steps_total,
        "steps_completed": workflow.steps_completed,
        "step_count": workflow.steps_total,
        "jobs_total": workflow.steps_total,
        "jobs_completed": workflow.steps_completed,
        **_instants(workflow),
        "metadata": _counted(workflow),
    }
    return {name: encode(value) for name, value in members.items()}


def cancelled_steps(view: WorkflowView) -> Rendered:
    """Return what a cancellation says of the steps (HTTP binding, section 14.3)."""
    workflow = view.workflow
    return {
        "steps_cancelled": encode(workflow.cancelled_count),
        "cancelled_steps": encode(workflow.cancelled_count),
        "steps_already_completed": encode(workflow.completed_count),
    }


def _instants(workflow: Workflow) -> dict[str, JsonValue]:
    instants: dict[str, Instant | None] = {
        "created_at": workflow.created_at,
        "started_at": workflow.started_at,
        "completed_at": workflow.completed_at,
        "cancelled_at": workflow.cancelled_at,
    }
    return {name: format_instant(at) for name, at in instants.items() if at is not None}


def _counted(workflow: Workflow) -> dict[str, JsonValue]:
    return {
        **_instants(workflow),
        "job_count": workflow.job_count,
        "completed_count": workflow.completed_count,
        "failed_count": workflow.failed_count,
        "cancelled_count": workflow.cancelled_count,
    }


def _metadata(view: WorkflowView) -> dict[str, JsonValue]:
    """Return times, counters, and what went wrong (ojs-workflows, sections 3.3, 9.5 and 9.6)."""
    workflow, graph = view.workflow, view.graph
    metadata = _counted(workflow)
    if workflow.cancelled_at is not None:  # terminal, as section 3.3 has it
        metadata["completed_at"] = format_instant(workflow.cancelled_at)
    told = {each.index for each in workflow.failures}
    failed = [i for i in graph.jobs if workflow.states[i] == StepState.FAILED or i in told]
    if not failed:
        return metadata
    if graph.kind is Kind.CHAIN:
        ended_badly = (StepState.FAILED, StepState.CANCELLED)
        first = (i for i in graph.members if workflow.states[i] in ended_badly)
        if workflow.state is WorkflowState.FAILED:
            metadata["failed_step_index"] = int(graph.steps[next(first)].key)
    metadata["failed_job_ids"] = [workflow.job_id(index) for index in failed[:MAX_FAILED_IDS]]
    metadata["errors"] = [
        {**each.as_dict(), "step_id": graph.path(each.index)} for each in workflow.failures
    ]
    if workflow.failed_callback:
        metadata["failed_callback"] = workflow.failed_callback
    return metadata


class _Steps:
    """Renders the steps of one workflow."""

    def __init__(self, view: WorkflowView) -> None:
        self._view = view
        self._results_left = MAX_RESULTS
        self._args_left = MAX_ARGS
        self._words = _BINDING_WORDS if view.graph.kind is Kind.DAG else _WORDS

    def of(self, index: int) -> Rendered:
        """Return the parts of a workflow, under their names."""
        graph = self._view.graph
        kind = graph.steps[index].kind
        parts = [part for part in graph.parts[index] if not graph.steps[part].is_callback]
        callbacks = [part for part in graph.parts[index] if graph.steps[part].is_callback]
        if kind is Kind.DAG:  # as they were sent
            parts, callbacks = [*graph.parts[index]], []
        listed = assemble_array(assemble(self._step(part, kind)) for part in parts)
        names = ["steps"] if kind in {Kind.CHAIN, Kind.DAG} else ["jobs"]
        if names == ["jobs"] and len(parts) <= MAX_TWICE and index == ROOT:
            names.append("steps")
        members = dict.fromkeys(names, listed)
        if callbacks:
            told = {graph.steps[part].key: assemble(self._step(part, kind)) for part in callbacks}
            members["callbacks"] = assemble(told)
        return members

    def _step(self, index: int, parent: Kind) -> Rendered:
        view, step = self._view, self._view.graph.steps[index]
        state = view.workflow.states[index]
        members: dict[str, JsonValue] = {"id": step.name or step.key}
        if step.label:
            members["name"] = step.label
        if step.key.isdigit() and parent is not Kind.DAG:
            members["index"] = int(step.key)
        members["type"] = step.type or step.kind
        if step.kind is Kind.JOB:
            members |= self._job(index, state)
        else:
            words = "active" if state == StepState.RUNNING else self._words[state]
            members |= {"state": words, "job_id": None}
        if parent in {Kind.CHAIN, Kind.DAG}:
            before = [view.graph.steps[index] for index in step.waits_for]
            members["depends_on"] = [each.name or each.key for each in before]
        rendered = {name: encode(value) for name, value in members.items()}
        if step.kind is not Kind.JOB:
            return rendered | self.of(index)
        return rendered | self._args(index) | self._result(index, state)

    def _job(self, index: int, state: str) -> dict[str, JsonValue]:
        workflow, job = self._view.workflow, self._view.jobs.get(index)
        was_enqueued = (
            job is not None
            or index in self._view.enqueued
            or state in {StepState.RUNNING, StepState.COMPLETED, StepState.FAILED}
        )
        members: dict[str, JsonValue] = {
            "state": self._words[state],
            "job_id": workflow.job_id(index) if was_enqueued else None,
        }
        if job is None:
            return members
        if state == StepState.RUNNING and (
            self._words is _BINDING_WORDS or job.state is JobState.ACTIVE
        ):
            members["state"] = job.state
        members["job_state"] = job.state
        ended = job.completed_at or job.discarded_at or job.cancelled_at
        for name, at in (("started_at", job.started_at), ("completed_at", ended)):
            if at is not None:
                members[name] = format_instant(at)
        return members

    def _args(self, index: int) -> Rendered:
        """Return the arguments of a job, if there is room."""
        envelope = self._view.envelopes.get(index)
        if envelope is None or len(envelope) > self._args_left:
            return {}
        args = parse_object(envelope, max_depth=ANY_DEPTH).get("args")
        if args is None:
            return {}
        self._args_left -= len(args.raw)
        return {"args": args.raw}

    def _result(self, index: int, state: str) -> Rendered:
        """Return the result of a completed job, if there is room."""
        value = self._view.results.get(index)
        if value is None or state == StepState.SKIPPED:
            return {}
        self._results_left -= len(value)
        if self._results_left < 0:
            return {}
        if state == StepState.COMPLETED:
            return {"result": value}
        return {"error": RawJson(value[len('{"error":') : -1])}
