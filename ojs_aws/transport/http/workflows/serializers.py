"""Shapes workflows: every field that a document or an official client reads.

A step's ``state`` has the names of ojs-workflows (section 4.4), for steps with
``depends_on`` in those of the HTTP binding (section 14.1); ``job_state`` is the job's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

from ojs_aws.domain.job import JobState
from ojs_aws.domain.json_text import ANY_DEPTH, parse_object
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.domain.workflows.graph import ROOT, Graph, Kind
from ojs_aws.domain.workflows.progress import StepState
from ojs_aws.domain.workflows.workflow import Workflow as WorkflowRecord
from ojs_aws.domain.workflows.workflow import WorkflowState
from ojs_aws.services.workflows.service import FIRST_STEPS
from ojs_aws.transport.http.calls import JsonOf, json_of
from ojs_aws.transport.http.jobs.serializers import FLAT_LIMIT

if TYPE_CHECKING:
    from ojs_aws.services.workflows.service import WorkflowView
    from ojs_aws.transport.http.models import Pagination
    from ojs_aws.transport.http.workflows import models


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


def workflow_answer(
    view: WorkflowView, shown: range = FIRST_STEPS, *, is_cancelled: bool = False
) -> models.WorkflowAnswer:
    """Return one workflow with its steps, wrapped and flat.

    :param shown: which steps; the answer says so if there are others.
    :param is_cancelled: show what the cancellation found, too.
    """
    cancelled: models.CancelledSteps = _cancelled(view.workflow) if is_cancelled else {}
    workflow: models.Workflow = {
        **render_summary(view.workflow, _metadata(view)),
        **_Steps(view, shown).of(ROOT),
        **_others(view.graph, shown),
        **cancelled,
    }
    wrapped = json_of(workflow)
    if len(wrapped) > FLAT_LIMIT:
        return {"workflow": wrapped, "id": workflow["id"], "state": workflow["state"]}
    return cast("models.WorkflowAnswer", {"workflow": wrapped, **workflow})


def workflows_answer(
    items: Sequence[WorkflowRecord], pagination: Pagination
) -> models.WorkflowsAnswer:
    """Return a page of workflows."""
    listed = json_of([render_summary(each, _counted(each)) for each in items])
    return {
        "workflows": listed,
        "items": listed,
        "pagination": pagination,
        "total": pagination["total"],
    }


def render_summary(
    workflow: WorkflowRecord, metadata: models.WorkflowMetadata
) -> models.WorkflowSummary:
    """Return how a workflow describes itself, without its steps."""
    return {
        "id": workflow.id,
        "type": cast("models.WorkflowKind", workflow.kind),
        "name": workflow.name,
        "state": workflow.state,
        "steps_total": workflow.steps_total,
        "steps_completed": workflow.steps_completed,
        "step_count": workflow.steps_total,
        "jobs_total": workflow.steps_total,
        "jobs_completed": workflow.steps_completed,
        **_instants(workflow),
        "metadata": metadata,
    }


def _others(graph: Graph, shown: range) -> models.ShownSteps:
    """Return which steps of all are shown; nothing if that are all."""
    total = len(graph.steps) - 1
    if shown.start == 1 and total < shown.stop:
        return {}
    limit, offset = len(shown), shown.start - 1
    return {
        "pagination": {
            "total": total,
            "total_is": "exact",
            "total_is_exact": True,
            "limit": limit,
            "offset": offset,
            "has_more": shown.stop <= total,
        }
    }


def _cancelled(workflow: WorkflowRecord) -> models.CancelledSteps:
    """Return what a cancellation says of the steps (HTTP binding, section 14.3)."""
    return {
        "steps_cancelled": workflow.cancelled_count,
        "cancelled_steps": workflow.cancelled_count,
        "steps_already_completed": workflow.completed_count,
    }


def _instants(workflow: WorkflowRecord) -> models.WorkflowInstants:
    instants: models.WorkflowInstants = {"created_at": format_instant(workflow.created_at)}
    if workflow.started_at is not None:
        instants["started_at"] = format_instant(workflow.started_at)
    if workflow.completed_at is not None:
        instants["completed_at"] = format_instant(workflow.completed_at)
    if workflow.cancelled_at is not None:
        instants["cancelled_at"] = format_instant(workflow.cancelled_at)
    return instants


def _counted(workflow: WorkflowRecord) -> models.WorkflowMetadata:
    return cast(
        "models.WorkflowMetadata",
        {
            **_instants(workflow),
            "job_count": workflow.job_count,
            "completed_count": workflow.completed_count,
            "failed_count": workflow.failed_count,
            "cancelled_count": workflow.cancelled_count,
        },
    )


def _metadata(view: WorkflowView) -> models.WorkflowMetadata:
    """Return times, counters, and what went wrong (ojs-workflows, sections 3.3, 9.5 and 9.6)."""
    workflow, graph = view.workflow, view.graph
    metadata = _counted(workflow)
    if workflow.cancelled_at is not None:  # terminal, as section 3.3 has it
        metadata["completed_at"] = format_instant(workflow.cancelled_at)
    known = {each.index for each in workflow.failures}
    failed = [i for i in graph.jobs if workflow.states[i] == StepState.FAILED or i in known]
    if not failed:
        return metadata
    if graph.kind is Kind.CHAIN:
        ended_badly = (StepState.FAILED, StepState.CANCELLED)
        first = (i for i in graph.members if workflow.states[i] in ended_badly)
        if workflow.state is WorkflowState.FAILED:
            metadata["failed_step_index"] = int(graph.steps[next(first)].key)
    metadata["failed_job_ids"] = [workflow.job_id(index) for index in failed[:MAX_FAILED_IDS]]
    metadata["errors"] = [
        cast("models.WorkflowError", {**each.as_dict(), "step_id": graph.path(each.index)})
        for each in workflow.failures
    ]
    if workflow.failed_callback:
        metadata["failed_callback"] = workflow.failed_callback
    return metadata


class _Steps:
    """Renders the steps of one workflow."""

    def __init__(self, view: WorkflowView, shown: range) -> None:
        self._view = view
        self._shown = shown
        self._results_left = MAX_RESULTS
        self._args_left = MAX_ARGS
        self._words = _BINDING_WORDS if view.graph.kind is Kind.DAG else _WORDS

    def of(self, index: int) -> models.Parts:
        """Return the parts of a workflow, under their names."""
        graph = self._view.graph
        kind = graph.steps[index].kind
        parts = [part for part in graph.parts[index] if not graph.steps[part].is_callback]
        callbacks = [part for part in graph.parts[index] if graph.steps[part].is_callback]
        if kind is Kind.DAG:  # as they were sent
            parts, callbacks = [*graph.parts[index]], []
        callbacks = [part for part in callbacks if self._is_shown(part)]
        listed = json_of([self._step(part, kind) for part in parts if self._is_shown(part)])
        shown: models.Parts = {}
        if kind in {Kind.CHAIN, Kind.DAG}:
            shown["steps"] = listed
        else:
            shown["jobs"] = listed
            if len(parts) <= MAX_TWICE and index == ROOT:
                shown["steps"] = listed
        if callbacks:
            shown["callbacks"] = {graph.steps[at].key: self._step(at, kind) for at in callbacks}
        return shown

    def _is_shown(self, index: int) -> bool:
        """Return whether a step is among those shown, or contains one that is."""
        shown = self._shown
        return index < shown.stop and self._view.graph.ends[index] > shown.start

    def _step(self, index: int, parent: Kind) -> models.Step:
        view, step = self._view, self._view.graph.steps[index]
        state = view.workflow.states[index]
        members = cast("models.Step", {"id": step.name or step.key})
        if step.label:
            members["name"] = step.label
        if step.key.isdigit() and parent is not Kind.DAG:
            members["index"] = int(step.key)
        members["type"] = step.type or step.kind
        if step.kind is Kind.JOB:
            self._add_job(members, index, state)
        else:
            members["state"] = "active" if state == StepState.RUNNING else self._words[state]
            members["job_id"] = None
        if parent in {Kind.CHAIN, Kind.DAG}:
            before = [view.graph.steps[index] for index in step.waits_for]
            members["depends_on"] = [each.name or each.key for each in before]
        if step.kind is not Kind.JOB:
            return {**members, **self.of(index)}
        self._add_args(members, index)
        self._add_result(members, index, state)
        return members

    def _add_job(self, members: models.Step, index: int, state: str) -> None:
        workflow, job = self._view.workflow, self._view.jobs.get(index)
        was_enqueued = (
            job is not None
            or index in self._view.enqueued
            or state in {StepState.RUNNING, StepState.COMPLETED, StepState.FAILED}
        )
        members["state"] = self._words[state]
        members["job_id"] = workflow.job_id(index) if was_enqueued else None
        if job is None:
            return
        if state == StepState.RUNNING and (
            self._words is _BINDING_WORDS or job.state is JobState.ACTIVE
        ):
            members["state"] = job.state
        members["job_state"] = job.state
        if job.started_at is not None:
            members["started_at"] = format_instant(job.started_at)
        ended = job.completed_at or job.discarded_at or job.cancelled_at
        if ended is not None:
            members["completed_at"] = format_instant(ended)

    def _add_args(self, members: models.Step, index: int) -> None:
        """Show the arguments of a job, if there is room."""
        envelope = self._view.envelopes.get(index)
        if envelope is None or len(envelope) > self._args_left:
            return
        args = parse_object(envelope, max_depth=ANY_DEPTH).get("args")
        if args is not None:
            self._args_left -= len(args.raw)
            members["args"] = JsonOf(args.raw)

    def _add_result(self, members: models.Step, index: int, state: str) -> None:
        """Show the result of a completed job, if there is room."""
        value = self._view.results.get(index)
        if value is None or state == StepState.SKIPPED:
            return
        self._results_left -= len(value)
        if self._results_left < 0:
            return
        if state == StepState.COMPLETED:
            members["result"] = JsonOf(value)
        else:
            members["error"] = JsonOf(value[len('{"error":') : -1])
