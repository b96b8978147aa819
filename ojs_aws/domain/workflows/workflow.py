"""Holds a workflow's whole state: the results of steps, and the failures that decide.

What changes it is beside this: `workflow_changes`.

========================  ==================================================================
a job that is             is given
========================  ==================================================================
first in a chain          what the chain itself is given
later in a chain          the values of all steps before it, by their index
in a group or batch       what the group or batch itself is given
a step with depends_on    the values of the steps that it names, by their ids
a step without            what the whole is given
a callback                the values of all jobs that it waits for, by their keys
========================  ==================================================================

The value of a job is its result, or null; of one that did not complete ``{"error": {...}}``. The
value of a group or batch is an object of its jobs' values by their index, of steps with
``depends_on`` one by their ids; the value of a chain is that of its last step, or of the one that
stopped it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import RawJson, assemble, encode
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows import progress
from ojs_aws.domain.workflows.graph import ROOT, Graph, Kind, job_id_of
from ojs_aws.domain.workflows.progress import StepState

MAX_BYTES: Final = 1_000_000
"""Of all that one job is given; beyond, the largest results are replaced by references."""
NULL: Final = RawJson("null")
Values = Mapping[int, RawJson]
"""What jobs left, by the index of their step; one that has not ended is absent."""
_EMPTY: Final = RawJson("{}")
MAX_FAILURES: Final = 20
"""Failures that a workflow keeps; each failed job keeps its own."""
_BAD: Final = frozenset({StepState.FAILED, StepState.CANCELLED})


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


def sources(graph: Graph, index: int) -> tuple[int, ...]:
    """Return the steps whose values a step gets; empty for none."""
    while index > ROOT:
        step = graph.steps[index]
        parent = graph.steps[step.parent]
        if parent.kind is Kind.CHAIN and step.key != "0":
            parts = graph.parts[step.parent]
            return parts[: parts.index(index)]
        if step.is_callback or step.waits_for:
            return step.waits_for
        index = step.parent
    return ()


def jobs_of(graph: Graph, steps: Sequence[int]) -> list[int]:
    """Return the jobs whose results make up the values of steps."""
    found: list[int] = []
    for index in steps:
        step = graph.steps[index]
        if step.kind is Kind.JOB:
            found.append(index)
        else:
            found += jobs_of(graph, _valued(graph, index))
    return found


def parent_results(graph: Graph, index: int, values: Values) -> RawJson:
    """Return the results that a step gets, as one object."""
    return _by_key(graph, sources(graph, index), values)


def value_of(graph: Graph, index: int, values: Values) -> RawJson:
    """Return the value of a step."""
    step = graph.steps[index]
    if step.kind is Kind.JOB:
        return values.get(index, NULL)
    parts = _valued(graph, index)
    if step.kind is not Kind.CHAIN:
        return _by_key(graph, parts, values)
    ended = (part for part in reversed(parts) if any(j in values for j in jobs_of(graph, (part,))))
    return value_of(graph, next(ended, parts[-1]), values)


def bounded(values: Values, job_ids: Mapping[int, str], max_bytes: int = MAX_BYTES) -> Values:
    """Return the values; the largest become references until the rest fits this many bytes.

    :param job_ids: which jobs they are of.
    """
    sizes = {index: len(text.encode()) for index, text in values.items()}
    total = sum(sizes.values())
    kept = dict(values)
    for index in sorted(kept, key=sizes.__getitem__, reverse=True):
        if total <= max_bytes:
            break
        reference = encode(
            {
                "result_ref": f"/ojs/v1/jobs/{job_ids[index]}",
                "result_size_bytes": sizes[index],
                "result_content_type": "application/json",
            }
        )
        if len(reference) < sizes[index]:
            total -= sizes[index] - len(reference)
            kept[index] = reference
    return kept


def _valued(graph: Graph, index: int) -> tuple[int, ...]:
    return tuple(part for part in graph.parts[index] if not graph.steps[part].is_callback)


def _by_key(graph: Graph, steps: Sequence[int], values: Values) -> RawJson:
    if not steps:
        return _EMPTY
    return assemble({graph.steps[i].key: value_of(graph, i, values) for i in steps})


def cause(workflow: Workflow, graph: Graph) -> StepFailure | None:
    """Return the first failure that made the workflow fail; None if there is none."""
    found = (each for each in workflow.failures if is_cause(graph, workflow.states, each.index))
    return next(found, None)


def is_cause(graph: Graph, states: str, index: int) -> bool:
    """Return whether a failed step made the composite around it fail, or may yet.

    It did not if callbacks handled it: a callback that failed is the cause then.
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


def worth_keeping(
    graph: Graph, states: str, failures: tuple[StepFailure, ...]
) -> tuple[StepFailure, ...]:
    """Return the failures to keep, at most the maximum, in their order.

    Callbacks and what still counts go before what the workflow got over, or nobody would know why
    a workflow with many failures failed in the end (sections 9.2 and 9.5).
    """
    if len(failures) <= MAX_FAILURES:
        return failures

    def rank(each: StepFailure) -> tuple[bool, bool]:
        is_callback = graph.steps[each.index].is_callback
        return not is_cause(graph, states, each.index), not is_callback

    kept = {each.index for each in sorted(failures, key=rank)[:MAX_FAILURES]}
    return tuple(each for each in failures if each.index in kept)


@dataclass(frozen=True, slots=True)
class WorkflowPage:
    """Holds a page of workflows, newest first.

    :ivar cursor: empty on the last page; otherwise there may be more.
    :ivar is_followed: whether at least one workflow more is known.
    """

    workflows: tuple[Workflow, ...]
    cursor: str = ""
    is_followed: bool = False
