"""Makes the events of steps that ended (ojs-workflows, appendix B)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows import progress
from ojs_aws.domain.workflows.graph import ROOT, Graph, Kind
from ojs_aws.domain.workflows.progress import StepState
from ojs_aws.domain.workflows.workflow import Ended, Workflow, WorkflowEvent, WorkflowState, cause

_LINEAR: Final = frozenset({Kind.CHAIN, Kind.DAG})


def step_events(
    workflow: Workflow, graph: Graph, states: str, news: Sequence[Ended], at: Instant
) -> tuple[WorkflowEvent, ...]:
    """Return one event for each step that ended by itself: jobs first, then their composites."""
    left = sum(progress.is_open(states[index]) for index in graph.members)
    events: list[WorkflowEvent] = []
    for each in news:
        step = graph.steps[each.index]
        data: dict[str, JsonValue] = {
            **_step_data(graph, each.index, left),
            "job_id": workflow.job_id(each.index),
            "step_type": step.type,
            "duration_ms": each.duration_ms,
        }
        if each.failure is not None:
            data["error"] = each.failure.as_dict()
        events.append(WorkflowEvent(_kind(graph, each.index, each.state), each.at, data))
    for index in range(len(graph.steps) - 1, ROOT, -1):
        step = graph.steps[index]
        was_running = workflow.states[index] == StepState.RUNNING
        if step.kind is Kind.JOB or not was_running or progress.is_open(states[index]):
            continue
        since = (workflow.begun or {}).get(index, at)
        data = {
            **_step_data(graph, index, left),
            "step_type": step.kind,
            "duration_ms": max(0, at - since),
        }
        events.append(WorkflowEvent(_kind(graph, index, StepState(states[index])), at, data))
    return tuple(events)


def _step_data(graph: Graph, index: int, left: int) -> dict[str, JsonValue]:
    step = graph.steps[index]
    data: dict[str, JsonValue] = {"step_id": graph.path(index), "steps_remaining": left}
    if step.is_callback:
        data["callback"] = step.trigger
    elif step.key.isdigit():
        data["step_index"] = int(step.key)
        data["remaining_steps"] = left
    return data


def _kind(graph: Graph, index: int, state: StepState) -> str:
    what = "step" if graph.steps[graph.steps[index].parent].kind in _LINEAR else "job"
    how = "completed" if state is StepState.COMPLETED else "failed"
    return f"workflow.{what}_{how}"


def end_events(before: Workflow, after: Workflow, graph: Graph) -> tuple[WorkflowEvent, ...]:
    """Return the event of a workflow that ended by itself."""
    if before.state.is_terminal or not after.state.is_terminal:
        return ()
    at = after.completed_at or after.created_at
    data: dict[str, JsonValue] = {
        "total_steps": after.steps_total,
        "duration_ms": max(0, at - (after.started_at or after.created_at)),
    }
    if after.state is WorkflowState.FAILED:
        first = cause(after, graph)
        data["failed_step_id"] = graph.path(first.index) if first else ""
        data["failed_step_type"] = graph.steps[first.index].type if first else ""
        data["error"] = first.as_dict() if first else None
    return (WorkflowEvent(f"workflow.{after.state}", at, data),)
