"""Decides which of its failures made a workflow fail (ojs-workflows, 9.2 and 9.5)."""

from __future__ import annotations

from typing import Final

from ojs_aws.domain.workflows import progress
from ojs_aws.domain.workflows.graph import ROOT, Graph
from ojs_aws.domain.workflows.progress import StepState
from ojs_aws.domain.workflows.workflow import StepFailure, Workflow

MAX_FAILURES: Final = 20
"""Failures that a workflow keeps; each failed job keeps its own."""

_BAD: Final = frozenset({StepState.FAILED, StepState.CANCELLED})


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
