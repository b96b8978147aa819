"""A workflow's whole state, and what changes it (ojs-workflows, sections 3, 8 and 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from ojs_aws.domain import workflow_progress as progress
from ojs_aws.domain.errors import ConflictError, JsonValue
from ojs_aws.domain.job import Failure, JobRecord, JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflow_graph import ROOT, Graph, Kind, job_id_of
from ojs_aws.domain.workflow_progress import StepState

MAX_ERRORS: Final = 20
"""Failures that a workflow keeps; each failed job keeps its own."""

MAX_MESSAGE: Final = 1000
"""Characters of a failure's message that are kept."""


class WorkflowState(StrEnum):
    """The states of a workflow (section 8.1).

    ``pending`` is none of them: a workflow's first jobs are enqueued with it, and an enqueued job
    makes it running.
    """

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Whether nothing leaves this state."""
        return self is not WorkflowState.RUNNING


_ENDS: Final = {
    StepState.COMPLETED: WorkflowState.COMPLETED,
    StepState.FAILED: WorkflowState.FAILED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFailure:
    """Why a step did not complete (section 9.6)."""

    index: int
    job_id: str
    code: str
    message: str
    attempt: int

    def as_dict(self) -> dict[str, JsonValue]:
        """The error object of an answer."""
        return {
            "job_id": self.job_id,
            "code": self.code,
            "message": self.message,
            "attempt": self.attempt,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A job of a workflow that has ended.

    :ivar index: of its step.
    :ivar at: when.
    :ivar duration_ms: of its last attempt.
    :ivar failure: unless it completed.
    """

    index: int
    state: StepState
    at: Instant
    duration_ms: int = 0
    failure: StepFailure | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What a change brought that is an event: its type, its time, its data."""

    kind: str
    at: Instant
    data: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A workflow. Immutable: changes return a new one.

    :ivar name: empty when the client gave none.
    :ivar version: number of writes so far; each write is conditional on the one it read.
    :ivar digest: of the request that made it, so that the same request again is known.
    :ivar states: of its steps, by their index in the graph.
    :ivar started_at: when its first job began to execute.
    :ivar job_count: jobs in all, callbacks not among them.
    :ivar steps_total: its own steps: a nested workflow is one.
    :ivar begun: when its composites began, by their index; the workflow itself is not among them.
    :ivar failures: the first ones.
    :ivar failed_callback: the callback that failed, by its trigger; empty for none.
    :ivar told: what the latest write brought.
    """

    id: str
    kind: Kind
    version: int
    state: WorkflowState
    states: str
    created_at: Instant
    job_count: int
    steps_total: int
    name: str = ""
    digest: str = ""
    started_at: Instant | None = None
    completed_at: Instant | None = None
    cancelled_at: Instant | None = None
    completed_count: int = 0
    failed_count: int = 0
    cancelled_count: int = 0
    steps_completed: int = 0
    begun: Mapping[int, Instant] | None = None
    failures: tuple[StepFailure, ...] = ()
    failed_callback: str = ""
    told: tuple[Told, ...] = ()

    def job_id(self, index: int) -> str:
        """The id of a step's job."""
        return job_id_of(self.id, self.created_at, index)

    @property
    def has_ready(self) -> bool:
        """Whether there are jobs that begin and are not enqueued yet."""
        return not self.state.is_terminal and StepState.READY in self.states

    def ready(self, limit: int) -> list[int]:
        """The first of them."""
        return [] if self.state.is_terminal else progress.ready(self.states, limit)

    def outstanding(self, graph: Graph) -> list[int]:
        """The jobs that were enqueued and have not ended."""
        return [i for i in graph.jobs if self.states[i] == StepState.RUNNING]


def create(
    graph: Graph, workflow_id: str, now: Instant, *, name: str = "", digest: str = ""
) -> Workflow:
    """A workflow that begins."""
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
    return replace(made, told=(Told("workflow.created", now, data),))


def start(workflow: Workflow, at: Instant) -> Workflow:
    """The workflow once its first job began to execute; the same if one had before."""
    if workflow.started_at is not None:
        return workflow
    data: dict[str, JsonValue] = {"total_steps": workflow.steps_total}
    started = Told("workflow.started", at, data)
    return _next(workflow, (started,), started_at=at)


def end_jobs(workflow: Workflow, graph: Graph, ended: Sequence[Ended], now: Instant) -> Workflow:
    """The workflow once these jobs have ended; the same if that was known.

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
    told = _told(workflow, graph, states, news, at) if not workflow.state.is_terminal else ()
    after = _next(
        workflow,
        told,
        states=states,
        state=state,
        completed_at=at if state != workflow.state else workflow.completed_at,
        begun=begun,
        failures=_worth_keeping(graph, states, (*workflow.failures, *failures)),
        failed_callback=workflow.failed_callback
        or (graph.steps[callbacks[0]].trigger if callbacks else ""),
        **counted,
    )
    return replace(after, told=(*told, *_end_told(workflow, after, graph)))


def mark_enqueued(workflow: Workflow, graph: Graph, steps: Sequence[int], now: Instant) -> Workflow:
    """The workflow once these ready jobs are enqueued, as part of the same write or a later one."""
    fired = tuple(
        Told(
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
    """Several changes, each of the one before it, as one write."""
    told = tuple(
        each
        for one, after in zip((before, *changes), changes, strict=False)
        if after is not one
        for each in after.told
    )
    return replace(changes[-1], version=before.version + 1, told=told)


def cancel(workflow: Workflow, graph: Graph, now: Instant) -> Workflow:
    """The workflow once it is cancelled (section 11.3).

    :raises ConflictError: it is in a terminal state.
    """
    if workflow.state.is_terminal:
        raise ConflictError(
            f"Workflow '{workflow.id}' is already in terminal state '{workflow.state}'.",
            details={"workflow_id": workflow.id, "current_state": workflow.state},
        )
    states = progress.cancel(graph, workflow.states)
    told = Told("workflow.cancelled", now, {"total_steps": workflow.steps_total})
    return _next(
        workflow,
        (told,),
        state=WorkflowState.CANCELLED,
        states=states,
        cancelled_at=now,
        **_counted(graph, states),
    )


def ended_job(job: JobRecord, index: int) -> Ended | None:
    """What the end of a job means for its workflow; None while it has not ended."""
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
            last = job.failures[-1] if job.failures else None
            duration = max(0, at - (job.started_at or at)) if last else 0
            why = _failure(job, index, *_words(last))
            return Ended(
                index=index, state=StepState.FAILED, at=at, duration_ms=duration, failure=why
            )
    return None


def _words(failure: Failure | None) -> tuple[str, str]:
    if failure is None:
        return "expired", "The job expired before it was executed."
    return failure.code or failure.type, failure.message


def _failure(job: JobRecord, index: int, code: str, message: str) -> StepFailure:
    return StepFailure(
        index=index,
        job_id=job.id,
        code=code[:MAX_MESSAGE],
        message=message[:MAX_MESSAGE],
        attempt=job.attempt,
    )


def _next(workflow: Workflow, told: Sequence[Told], **changes: object) -> Workflow:
    version = workflow.version + 1
    return replace(workflow, version=version, told=tuple(told), **changes)  # type: ignore[arg-type]


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
    """When the nested workflows that are under way began."""
    running = [
        index
        for index, step in enumerate(graph.steps)
        if index != ROOT and step.kind is not Kind.JOB and after[index] == StepState.RUNNING
    ]
    return {i: at if before[i] != StepState.RUNNING else begun.get(i, at) for i in running}


def _is_asked_for(workflow: Workflow, ended: Ended) -> bool:
    """Whether a job was cancelled because its workflow was: that is no failure."""
    return workflow.state is WorkflowState.CANCELLED and ended.state is StepState.CANCELLED


def cause(workflow: Workflow, graph: Graph) -> StepFailure | None:
    """The first failure that its workflow did not get over; None when there is none."""
    found = (each for each in workflow.failures if _tells(graph, workflow.states, each.index))
    return next(found, None)


def _tells(graph: Graph, states: str, index: int) -> bool:
    """Whether a failed step is why what it is part of failed, or may yet be.

    It is not, where callbacks were told of it: a callback that failed then is why.
    """
    while index > ROOT:
        parent = graph.steps[index].parent
        if not progress.is_open(states[parent]):
            callbacks = [i for i in graph.parts[parent] if graph.steps[i].is_callback]
            bad = [i for i in callbacks if states[i] in _BAD]
            if states[parent] == StepState.COMPLETED or (bad and index not in bad):
                return False
        index = parent
    return True


_BAD: Final = frozenset({StepState.FAILED, StepState.CANCELLED})


def _worth_keeping(
    graph: Graph, states: str, failures: tuple[StepFailure, ...]
) -> tuple[StepFailure, ...]:
    """So many of the failures as are kept, in their order.

    Callbacks and what still counts go before what the workflow got over, or nobody could tell why
    a workflow with many failures failed in the end (sections 9.2 and 9.5).
    """
    if len(failures) <= MAX_ERRORS:
        return failures

    def rank(each: StepFailure) -> tuple[bool, bool]:
        is_callback = graph.steps[each.index].is_callback
        return not _tells(graph, states, each.index), not is_callback

    kept = {each.index for each in sorted(failures, key=rank)[:MAX_ERRORS]}
    return tuple(each for each in failures if each.index in kept)


_LINEAR: Final = frozenset({Kind.CHAIN, Kind.DAG})


def _told(
    workflow: Workflow, graph: Graph, states: str, news: Sequence[Ended], at: Instant
) -> tuple[Told, ...]:
    """One event for each step that ended by itself: jobs first, then what they were part of."""
    left = sum(progress.is_open(states[index]) for index in graph.members)
    told: list[Told] = []
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
        told.append(Told(_kind(graph, each.index, each.state), each.at, data))
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
        told.append(Told(_kind(graph, index, StepState(states[index])), at, data))
    return tuple(told)


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


def _end_told(before: Workflow, after: Workflow, graph: Graph) -> tuple[Told, ...]:
    """The event of a workflow that ended by itself."""
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
    return (Told(f"workflow.{after.state}", at, data),)
