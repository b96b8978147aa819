"""Holds a workflow's whole state (ojs-workflows, sections 3, 8 and 9).

What changes it is beside this: `workflow_changes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows import progress
from ojs_aws.domain.workflows.graph import Graph, Kind, job_id_of
from ojs_aws.domain.workflows.progress import StepState


class WorkflowState(StrEnum):
    """Names the states of a workflow (section 8.1).

    ``pending`` is none of them: a workflow's first jobs are enqueued with it, and an enqueued job
    makes it running.
    """

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Return whether a workflow never leaves this state."""
        return self is not WorkflowState.RUNNING


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFailure:
    """Says why a step did not complete (section 9.6)."""

    index: int
    job_id: str
    code: str
    message: str
    attempt: int

    def as_dict(self) -> dict[str, JsonValue]:
        """Return the error object of an answer."""
        return {
            "job_id": self.job_id,
            "code": self.code,
            "message": self.message,
            "attempt": self.attempt,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Describes a job of a workflow that has ended.

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
class WorkflowEvent:
    """Describes an event that a change causes: its type, its time, its data."""

    kind: str
    at: Instant
    data: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """Holds a workflow. Immutable: changes return a new one.

    :ivar name: empty when the client gave none.
    :ivar version: number of writes so far; each write is conditional on the one it read.
    :ivar digest: of the request that made it, so that the same request again is known.
    :ivar states: of its steps, by their index in the graph.
    :ivar started_at: when its first job began to execute.
    :ivar job_count: jobs in all, callbacks not among them.
    :ivar steps_total: its own steps: a nested workflow is one.
    :ivar begun: when its composites began, by their index; the workflow itself is not among them.
    :ivar failures: the first failures.
    :ivar failed_callback: the callback that failed, by its trigger; empty for none.
    :ivar events: the events of the latest write.
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
    events: tuple[WorkflowEvent, ...] = ()

    def job_id(self, index: int) -> str:
        """Return the id of a step's job."""
        return job_id_of(self.id, self.created_at, index)

    @property
    def has_ready(self) -> bool:
        """Return whether there are jobs that begin and are not enqueued yet."""
        return not self.state.is_terminal and StepState.READY in self.states

    def ready(self, limit: int) -> list[int]:
        """Return the first ready jobs that are not enqueued yet."""
        return [] if self.state.is_terminal else progress.ready(self.states, limit)

    def outstanding(self, graph: Graph) -> list[int]:
        """Return the jobs that are enqueued and have not ended."""
        return [i for i in graph.jobs if self.states[i] == StepState.RUNNING]
