"""Tracks how far a workflow is: a state for each step, and what follows when jobs end (4 to 9).

Pure and deterministic: which steps begin, and how the workflow ends, follows from the outcomes
alone, whatever the order they come in and however often.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from heapq import heappop, heappush
from typing import Final

from ojs_aws.domain.workflows.graph import ROOT, Graph, Kind, Step, Trigger


class StepState(StrEnum):
    """Names the state of a step with one character: a workflow stores its states as one text."""

    WAITING = "."
    """Other steps must end first."""
    READY = "+"
    """A job that begins, and is not enqueued yet."""
    RUNNING = ">"
    """A job that was enqueued, or a composite that began."""
    COMPLETED = "c"
    FAILED = "f"
    CANCELLED = "x"
    SKIPPED = "-"
    """A callback that the outcome did not call for."""


_OPEN: Final = frozenset({StepState.WAITING, StepState.READY, StepState.RUNNING})


def is_open(state: str) -> bool:
    """Return whether a step has not ended."""
    return state in _OPEN


def begin(graph: Graph) -> str:
    """Return the states of a workflow that begins: its first jobs are ready."""
    run = _Run(graph, StepState.WAITING * len(graph.steps))
    run.start(ROOT)
    return run.text


def advance(graph: Graph, states: str, outcomes: Mapping[int, StepState]) -> str:
    """Return the states after jobs ended; only the first outcome of a job counts.

    An outcome of a job that was not enqueued is none: it is left out.

    :param outcomes: by the index of the job's step.
    """
    run = _Run(graph, states)
    run.end({i: state for i, state in outcomes.items() if run.states[i] == StepState.RUNNING})
    return run.text


def enqueue(states: str, steps: Iterable[int]) -> str:
    """Return the states once these ready jobs are enqueued."""
    after = [*states]
    for index in steps:
        after[index] = StepState.RUNNING
    return "".join(after)


def cancel(graph: Graph, states: str) -> str:
    """Return the states of a cancelled workflow: jobs not enqueued yet never will be.

    Enqueued jobs stay as they are until they end, or are cancelled one by one.
    """
    return "".join(
        StepState.CANCELLED
        if is_open(state)
        and not (graph.steps[index].kind is Kind.JOB and state == StepState.RUNNING)
        else state
        for index, state in enumerate(states)
    )


def ready(states: str, limit: int) -> list[int]:
    """Return the first jobs that may begin and are not enqueued yet."""
    found: list[int] = []
    at = states.find(StepState.READY)
    while at >= 0 and len(found) < limit:
        found.append(at)
        at = states.find(StepState.READY, at + 1)
    return found


class _Run:
    """Holds the working state of one change."""

    def __init__(self, graph: Graph, states: str) -> None:
        self.graph = graph
        self.states = [*states]

    @property
    def text(self) -> str:
        return "".join(self.states)

    def start(self, index: int) -> None:
        """Let a step begin; a composite begins with the parts that wait for nothing."""
        if self.graph.steps[index].kind is Kind.JOB:
            self.states[index] = StepState.READY
            return
        self.states[index] = StepState.RUNNING
        self._look(index)

    def end(self, outcomes: Mapping[int, StepState]) -> None:
        """Set the outcomes, then decide on the steps around them, innermost first.

        A part has a higher index than its composite, so the highest index is an innermost one.
        """
        touched: set[int] = set()
        heap: list[int] = []
        for index, state in outcomes.items():
            self.states[index] = state
            parent = self.graph.steps[index].parent
            if parent not in touched:
                touched.add(parent)
                heappush(heap, -parent)
        while heap:
            index = -heappop(heap)
            if self._look(index) and index > ROOT:
                parent = self.graph.steps[index].parent
                if parent not in touched:
                    touched.add(parent)
                    heappush(heap, -parent)

    def _look(self, index: int) -> bool:
        """Begin what a running composite permits, or end it; return whether it has ended."""
        if self.states[index] != StepState.RUNNING:
            return False
        for part in self.graph.orders[index]:
            if self.states[part] == StepState.WAITING:
                self._decide(part)
        if any(is_open(self.states[part]) for part in self.graph.parts[index]):
            return False
        self.states[index] = self._outcome(index)
        return True

    def _decide(self, index: int) -> None:
        step = self.graph.steps[index]
        begins = self._begins(step)
        if begins:
            self.start(index)
        elif begins is not None:
            self._leave_out(index)

    def _begins(self, step: Step) -> bool | None:
        """Return whether a waiting step begins; None while that is open."""
        before = [self.states[other] for other in step.waits_for]
        is_bad = any(not is_open(s) and s != StepState.COMPLETED for s in before)
        if step.trigger is Trigger.SUCCESS and is_bad:
            return False
        if any(is_open(state) for state in before):
            return None
        return step.trigger is not Trigger.FAILURE or is_bad

    def _leave_out(self, index: int) -> None:
        is_callback = self.graph.steps[index].is_callback
        self.states[index] = StepState.SKIPPED if is_callback else StepState.CANCELLED
        for part in self.graph.parts[index]:
            self._leave_out(part)

    def _outcome(self, index: int) -> StepState:
        """Return how a composite ended (section 8.3).

        With callbacks, their outcome counts: a failed job that a callback handled does not fail the
        batch, one that none handled does.

        """
        parts = [(self.graph.steps[part], self.states[part]) for part in self.graph.parts[index]]
        ends = [state for step, state in parts if step.is_callback and state != StepState.SKIPPED]
        if any(state != StepState.COMPLETED for state in ends):
            return StepState.FAILED
        is_well = all(state == StepState.COMPLETED for step, state in parts if not step.is_callback)
        return StepState.COMPLETED if is_well or ends else StepState.FAILED
