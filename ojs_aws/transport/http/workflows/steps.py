"""Shows the steps of a workflow: each job, and each workflow within it.

A step's ``state`` has the names of ojs-workflows (section 4.4), for steps with ``depends_on`` in
those of the HTTP binding (section 14.1); ``job_state`` is the job's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Required, cast

from typing_extensions import TypedDict

from ojs_aws.domain.job import JobState
from ojs_aws.domain.json_text import ANY_DEPTH, parse_object
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.domain.workflows.graph import ROOT, Kind
from ojs_aws.domain.workflows.progress import StepState
from ojs_aws.transport.http.answers import JsonObject, Timestamp
from ojs_aws.transport.http.calls import JsonOf, json_of

if TYPE_CHECKING:
    from ojs_aws.services.workflows.service import WorkflowView

MAX_ARGS: Final = 250_000
"""Characters of arguments that an answer shows; steps that have no room go without them."""

MAX_RESULTS: Final = 1_000_000
"""Characters of results that an answer shows; Lambda answers 6 MB at most."""

MAX_TWICE: Final = 200
"""Steps of a group that are shown under both names that clients look for."""

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


class Parts(TypedDict, total=False):
    """Holds the steps of a workflow, under the names that its kind has."""

    steps: JsonOf[list[Step]]
    jobs: JsonOf[list[Step]]
    callbacks: dict[str, Step]


class Step(Parts, total=False):
    """Shows a step: a job, or a workflow within a workflow."""

    id: str
    name: str
    index: int
    type: Required[str]
    state: Required[str]
    job_id: Required[str | None]
    job_state: JobState
    depends_on: list[str]
    started_at: Timestamp
    completed_at: Timestamp
    args: JsonOf[list[Any]]
    result: JsonOf[Any]
    error: JsonOf[JsonObject]


class StepsOf:
    """Renders the steps of one workflow."""

    def __init__(self, view: WorkflowView, shown: range) -> None:
        self._view = view
        self._shown = shown
        self._results_left = MAX_RESULTS
        self._args_left = MAX_ARGS
        self._words = _BINDING_WORDS if view.graph.kind is Kind.DAG else _WORDS

    def of(self, index: int) -> Parts:
        """Return the parts of a workflow, under their names."""
        graph = self._view.graph
        kind = graph.steps[index].kind
        parts = [part for part in graph.parts[index] if not graph.steps[part].is_callback]
        callbacks = [part for part in graph.parts[index] if graph.steps[part].is_callback]
        if kind is Kind.DAG:  # as they were sent
            parts, callbacks = [*graph.parts[index]], []
        callbacks = [part for part in callbacks if self._is_shown(part)]
        listed = json_of([self._step(part, kind) for part in parts if self._is_shown(part)])
        shown: Parts = {}
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

    def _step(self, index: int, parent: Kind) -> Step:
        view, step = self._view, self._view.graph.steps[index]
        state = view.workflow.states[index]
        members = cast("Step", {"id": step.name or step.key})
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

    def _add_job(self, members: Step, index: int, state: str) -> None:
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

    def _add_args(self, members: Step, index: int) -> None:
        """Show the arguments of a job, if there is room."""
        envelope = self._view.envelopes.get(index)
        if envelope is None or len(envelope) > self._args_left:
            return
        args = parse_object(envelope, max_depth=ANY_DEPTH).get("args")
        if args is not None:
            self._args_left -= len(args.raw)
            members["args"] = JsonOf(args.raw)

    def _add_result(self, members: Step, index: int, state: str) -> None:
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
