"""Declares the store of workflows and their plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import RawJson

if TYPE_CHECKING:
    from ojs_aws.domain.workflows.graph import Graph
    from ojs_aws.domain.workflows.workflow import Workflow, WorkflowState


class StaleWorkflowError(Exception):
    """Reports that the workflow changed between the read and a conditional write.

    :ivar current: the workflow as the write found it, or None when there is none.
    """

    def __init__(self, current: Workflow | None) -> None:
        """Keep what the write found."""
        super().__init__("the workflow has changed")
        self.current = current


@dataclass(frozen=True, slots=True)
class WorkflowPlan:
    """Holds the part of a workflow that never changes.

    :ivar envelopes: of its jobs as the enqueue middleware left them, by the index of their step.
    """

    graph: Graph
    envelopes: Mapping[int, RawJson]


@dataclass(frozen=True, slots=True)
class WorkflowPage:
    """Holds a page of workflows, newest first.

    :ivar cursor: empty on the last page; otherwise there may be more.
    :ivar is_followed: whether at least one workflow more is known.
    """

    workflows: tuple[Workflow, ...]
    cursor: str = ""
    is_followed: bool = False


class Workflows(Protocol):
    """Stores workflows. Each write is one conditional write or transaction, safe to repeat."""

    def create(self, workflow: Workflow, plan: WorkflowPlan, jobs: Sequence[JobRecord]) -> None:
        """Store a new workflow with up to 90 first jobs, all or nothing.

        :raises StaleWorkflowError: its id is taken.
        """

    def save(
        self,
        before: Workflow,
        after: Workflow,
        results: Mapping[int, RawJson],
        jobs: Sequence[JobRecord],
    ) -> None:
        """Replace one version of a workflow by the next, with its results and new jobs.

        :param results: of jobs by the index of their step, two megabytes at most.
        :param jobs: up to 90 that begin; they exist exactly if the change does.
        :raises StaleWorkflowError: the stored workflow is no longer ``before``.
        """

    def load(self, workflow_id: str) -> Workflow | None:
        """Read a workflow, strongly consistent."""

    def plan(self, workflow_id: str) -> WorkflowPlan | None:
        """Read the plan of a workflow."""

    def plans_of(self, workflow_ids: Sequence[str]) -> Iterator[tuple[str, WorkflowPlan]]:
        """Yield the plans of some workflows one by one, in no order; absent ones are left out."""

    def results(self, workflow_id: str) -> dict[int, RawJson]:
        """Read the results of a workflow's jobs, by the index of their step."""

    def page(self, state: WorkflowState | None, limit: int, cursor: str = "") -> WorkflowPage:
        """Return a page of workflows, in one state if it is given; new ones may lag."""

    def place_of(self, workflow: Workflow) -> str:
        """Return the cursor that goes on behind a workflow."""

    def forget(self, workflow_id: str) -> None:
        """Remove what a deleted workflow stored beside itself; may be repeated."""
