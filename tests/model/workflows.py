"""Keeps workflows in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.workflows.workflow import Workflow, WorkflowState
from ojs_aws.ports import StaleWorkflowError, WorkflowPage, WorkflowPlan
from tests.model.jobs import MemoryStore


@dataclass
class MemoryWorkflows:
    """Keeps workflows in dicts; their jobs go into the store that they get."""

    store: MemoryStore
    kept: dict[str, Workflow] = field(default_factory=dict)
    plans: dict[str, WorkflowPlan] = field(default_factory=dict)
    left: dict[str, dict[int, RawJson]] = field(default_factory=dict)
    _one: threading.Lock = field(default_factory=threading.Lock)

    def create(self, workflow: Workflow, plan: WorkflowPlan, jobs: Sequence[JobRecord]) -> None:
        """Store a new workflow with its first jobs."""
        if workflow.id in self.kept:
            raise StaleWorkflowError(self.kept[workflow.id])
        self.plans[workflow.id] = plan
        self.left[workflow.id] = {}
        self._write(workflow, jobs)

    def save(
        self,
        before: Workflow,
        after: Workflow,
        results: Mapping[int, RawJson],
        jobs: Sequence[JobRecord],
    ) -> None:
        """Replace one version by the next."""
        with self._one:
            current = self.kept.get(before.id)
            if current is None or current.version != before.version:
                raise StaleWorkflowError(current)
            self.left[after.id].update(results)
            self._write(after, jobs)

    def _write(self, workflow: Workflow, jobs: Sequence[JobRecord]) -> None:
        assert len(jobs) <= 90
        self.store.insert_all(jobs)
        self.kept[workflow.id] = workflow

    def load(self, workflow_id: str) -> Workflow | None:
        """Read a workflow."""
        return self.kept.get(workflow_id)

    def plan(self, workflow_id: str) -> WorkflowPlan | None:
        """Read a plan."""
        return self.plans.get(workflow_id)

    def plans_of(self, workflow_ids: Sequence[str]) -> Iterator[tuple[str, WorkflowPlan]]:
        """Yield the plans that there are."""
        yield from ((each, self.plans[each]) for each in workflow_ids if each in self.plans)

    def results(self, workflow_id: str) -> dict[int, RawJson]:
        """Read what the jobs left."""
        return {**self.left.get(workflow_id, {})}

    def page(self, state: WorkflowState | None, limit: int, cursor: str = "") -> WorkflowPage:
        """Return a page, the newest first."""
        found = [each for each in self.kept.values() if state is None or each.state is state]
        found.sort(key=lambda each: (each.created_at, each.id), reverse=True)
        at, mark, last = cursor.partition(".")
        if cursor and not (mark and at.isascii() and at.isdigit()):
            raise InvalidRequestError("no cursor", details={"field": "cursor"})
        left = [
            each for each in found if not cursor or (each.created_at, each.id) < (int(at), last)
        ]
        shown = tuple(left[:limit])
        is_followed = len(left) > limit
        cursor = self.place_of(shown[-1]) if is_followed else ""
        return WorkflowPage(shown, cursor, is_followed=is_followed)

    def place_of(self, workflow: Workflow) -> str:
        """Return where it stands in the order of time."""
        return f"{workflow.created_at}.{workflow.id}"

    def forget(self, workflow_id: str) -> None:
        """Remove the rest."""
        self.plans.pop(workflow_id, None)
        self.left.pop(workflow_id, None)
