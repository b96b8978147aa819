"""Changes workflows: each change takes one and returns the next (ojs-workflows, 8, 9, 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ojs_aws.domain.attributes import wrong_state
from ojs_aws.domain.credentials import Actor
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.failures import ending_failure, has_expired
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows import progress
from ojs_aws.domain.workflows.graph import ROOT, Graph, Kind
from ojs_aws.domain.workflows.progress import StepState
from ojs_aws.domain.workflows.workflow import (
    Ended,
    StepFailure,
    Workflow,
    WorkflowEvent,
    WorkflowState,
    cause,
    worth_keeping,
)

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


MAX_MESSAGE: Final = 1000
"""Characters of a failure's message that are kept."""

_ENDS: Final = {
    StepState.COMPLETED: WorkflowState.COMPLETED,
    StepState.FAILED: WorkflowState.FAILED,
}


def create(
    graph: Graph, workflow_id: str, now: Instant, *, name: str = "", digest: str = ""
) -> Workflow:
    """Return a workflow that begins."""
    states = progress.begin(graph)
    made = Workflow(
        id=workflow_id,
        kind=graph.kind,
        version=1,
        state=WorkflowState.RUNNING,
        states=states,
        created_at=now,
        name=name,
        digest=digest,
        job_count=len(graph.counted),
        steps_total=len(graph.members),
        begun=_begun(graph, StepState.WAITING * len(states), states, {}, now),
    )
    data: dict[str, JsonValue] = {"job_count": made.job_count, "total_steps": made.steps_total}
    return replace(made, events=(WorkflowEvent("workflow.created", now, data),))


def start(workflow: Workflow, at: Instant) -> Workflow:
    """Return the workflow once its first job began; unchanged if one had before."""
    if workflow.started_at is not None:
        return workflow
    data: dict[str, JsonValue] = {"total_steps": workflow.steps_total}
    started = WorkflowEvent("workflow.started", at, data)
    return _next(workflow, (started,), started_at=at)


def end_jobs(workflow: Workflow, graph: Graph, ended: Sequence[Ended], now: Instant) -> Workflow:
    """Return the workflow once these jobs have ended; unchanged if that was known.

    A workflow that was cancelled only counts them.
    """
    first = {each.index: each for each in reversed(ended)}
    states = progress.advance(graph, workflow.states, {i: e.state for i, e in first.items()})
    if states == workflow.states:
        return workflow
    news = [each for i, each in sorted(first.items()) if workflow.states[i] != states[i]]
    at = max([now, *(each.at for each in news)])
    failures = tuple(e.failure for e in news if e.failure and not _is_asked_for(workflow, e))
    callbacks = [f.index for f in failures if graph.steps[f.index].is_callback]
    state = workflow.state
    if not state.is_terminal:
        state = _ENDS.get(StepState(states[ROOT]), state)
    begun = _begun(graph, workflow.states, states, workflow.begun or {}, at)
    counted = _counted(graph, states)
    events = (
        step_events(workflow, graph, states, news, at) if not workflow.state.is_terminal else ()
    )
    after = _next(
        workflow,
        events,
        states=states,
        state=state,
        completed_at=at if state != workflow.state else workflow.completed_at,
        begun=begun,
        failures=worth_keeping(graph, states, (*workflow.failures, *failures)),
        failed_callback=workflow.failed_callback
        or (graph.steps[callbacks[0]].trigger if callbacks else ""),
        **counted,
    )
    return replace(after, events=(*events, *end_events(workflow, after, graph)))


def mark_enqueued(workflow: Workflow, graph: Graph, steps: Sequence[int], now: Instant) -> Workflow:
    """Return the workflow once these ready jobs are enqueued, in this write or a later one."""
    fired = tuple(
        WorkflowEvent(
            "workflow.callback_fired",
            now,
            {
                "callback": graph.steps[index].trigger,
                "step_id": graph.path(index),
                "job_id": workflow.job_id(index),
                "job_type": graph.steps[index].type,
            },
        )
        for index in steps
        if graph.steps[index].is_callback
    )
    return _next(workflow, fired, states=progress.enqueue(workflow.states, steps))


def joined(before: Workflow, *changes: Workflow) -> Workflow:
    """Join several changes, each made on the one before it, into one write."""
    events = tuple(
        each
        for one, after in zip((before, *changes), changes, strict=False)
        if after is not one
        for each in after.events
    )
    return replace(changes[-1], version=before.version + 1, events=events)


def cancel(workflow: Workflow, graph: Graph, now: Instant, by: Actor | None = None) -> Workflow:
    """Return the workflow once it is cancelled (section 11.3).

    :param by: who does it.
    :raises ConflictError: it is in a terminal state.
    """
    if workflow.state.is_terminal:
        message = f"Workflow '{workflow.id}' is already in terminal state '{workflow.state}'."
        raise wrong_state("workflow", workflow.id, workflow.state, message)
    states = progress.cancel(graph, workflow.states)
    data: dict[str, JsonValue] = {"total_steps": workflow.steps_total}
    if by is not None:
        data["by"] = by.members
    events = WorkflowEvent("workflow.cancelled", now, data)
    return _next(
        workflow,
        (events,),
        state=WorkflowState.CANCELLED,
        states=states,
        cancelled_at=now,
        **_counted(graph, states),
    )


def ended_job(job: JobRecord, index: int) -> Ended | None:
    """Return what the end of a job means for its workflow; None while it has not ended."""
    match job.state:
        case JobState.COMPLETED:
            at = job.completed_at or job.created_at
            duration = max(0, at - (job.started_at or at))
            return Ended(index=index, state=StepState.COMPLETED, at=at, duration_ms=duration)
        case JobState.CANCELLED:
            at = job.cancelled_at or job.created_at
            why = _failure(job, index, "cancelled", "The job was cancelled.")
            return Ended(index=index, state=StepState.CANCELLED, at=at, failure=why)
        case JobState.DISCARDED:
            at = job.discarded_at or job.created_at
            duration = max(0, at - (job.started_at or at)) if job.failures else 0
            why = _failure(job, index, *_words(job))
            return Ended(
                index=index, state=StepState.FAILED, at=at, duration_ms=duration, failure=why
            )
    return None


def _words(job: JobRecord) -> tuple[str, str]:
    """Return the code and the message of what ended a discarded job."""
    last = ending_failure(job)
    if last is not None:
        return last.code or last.type, last.message
    if has_expired(job):
        return "expired", "The job expired before it was executed."
    return "dropped", "The job was dropped because its limit was reached."


def _failure(job: JobRecord, index: int, code: str, message: str) -> StepFailure:
    return StepFailure(
        index=index,
        job_id=job.id,
        code=code[:MAX_MESSAGE],
        message=message[:MAX_MESSAGE],
        attempt=job.attempt,
    )


def _next(workflow: Workflow, events: Sequence[WorkflowEvent], **changes: Any) -> Workflow:
    version = workflow.version + 1
    return replace(workflow, version=version, events=tuple(events), **changes)


def _counted(graph: Graph, states: str) -> dict[str, int]:
    ends = [states[index] for index in graph.counted]
    return {
        "completed_count": ends.count(StepState.COMPLETED),
        "failed_count": ends.count(StepState.FAILED),
        "cancelled_count": ends.count(StepState.CANCELLED),
        "steps_completed": sum(states[i] == StepState.COMPLETED for i in graph.members),
    }


def _begun(
    graph: Graph, before: str, after: str, begun: Mapping[int, Instant], at: Instant
) -> dict[int, Instant]:
    """Return when each running nested workflow began."""
    running = [
        index
        for index, step in enumerate(graph.steps)
        if index != ROOT and step.kind is not Kind.JOB and after[index] == StepState.RUNNING
    ]
    return {i: at if before[i] != StepState.RUNNING else begun.get(i, at) for i in running}


def _is_asked_for(workflow: Workflow, ended: Ended) -> bool:
    """Return whether a job was cancelled with its workflow: that is no failure."""
    return workflow.state is WorkflowState.CANCELLED and ended.state is StepState.CANCELLED
