"""Lists the workflows that a caller with bounds may see, in bounded steps.

A workflow is seen if all of its jobs are. Their queues and types are in its plan, so plans are read
beside the list, few calls for many. A cursor names only a workflow that the caller may see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.access import View
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.json_text import stored_texts
from ojs_aws.domain.workflows.graph import WorkflowPlan
from ojs_aws.domain.workflows.workflow import Workflow, WorkflowPage, WorkflowState

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.workflows.store import Workflows

PAGE: Final = 100
PART: Final = 25
"""Workflows whose plans are read together."""

MAX_EXAMINED: Final = 1_000
"""Workflows that one request looks at."""

MAX_READS: Final = 20
"""Pages that it reads: those of a state that few workflows are in are short, or empty."""

MAX_JOBS: Final = 20_000
"""Jobs of their plans that it looks at, but for those of the last part."""


def jobs_of(plan: WorkflowPlan) -> Iterator[tuple[str, str, str]]:
    """Yield the queue, the type and the tenant of each job of a plan."""
    from ojs_aws.domain.tenants import tenant_of  # callers with bounds alone need it

    for text in plan.envelopes.values():
        job = Job.from_members(stored_texts(text))
        yield job.queue, job.type, tenant_of(job)


@dataclass(slots=True)
class WorkflowWalk:
    """Walks the list of workflows for one request.

    :ivar view: what the caller may see.
    :ivar behind: the cursor behind the last workflow that the caller may see.
    :ivar is_followed: whether one was seen that there was no room for.
    """

    workflows: Workflows
    view: View
    skip: int
    limit: int
    found: list[Workflow] = field(default_factory=list)
    behind: str = ""
    is_followed: bool = False
    examined: int = 0
    jobs: int = 0

    def page(self, state: WorkflowState | None, cursor: str) -> WorkflowPage:
        """Return the next workflows, the newest first.

        :raises InvalidRequestError: a bad cursor; or too many workflows of others, and none of the
            caller's.
        """
        size = min(self.limit + self.skip, PAGE)
        for _ in range(MAX_READS):
            page = self.workflows.page(state, size, cursor)
            for at in range(0, len(page.workflows), PART):
                if self._is_over:
                    return self._end()
                if self._look_at(page.workflows[at : at + PART]):
                    is_last = at + PART >= len(page.workflows) and not page.cursor
                    return self._full(is_last=is_last)
            if not page.cursor:
                return WorkflowPage(tuple(self.found))
            cursor, size = page.cursor, PAGE
        return self._end()

    @property
    def _is_over(self) -> bool:
        """Return whether one request has looked at enough."""
        return self.examined >= MAX_EXAMINED or self.jobs >= MAX_JOBS

    def _look_at(self, workflows: Sequence[Workflow]) -> bool:
        """Take the workflows that the caller may see; return True if there are enough."""
        seen = self._seen([each.id for each in workflows])
        for each in workflows:
            self.examined += 1
            if each.id not in seen:
                continue
            if self._is_full:
                self.is_followed = True
                break
            self.behind = self.workflows.place_of(each)
            if self.skip:
                self.skip -= 1
            else:
                self.found.append(each)
        return self._is_full

    @property
    def _is_full(self) -> bool:
        return len(self.found) == self.limit

    def _full(self, *, is_last: bool) -> WorkflowPage:
        """Return a full page, with a cursor unless nothing follows."""
        cursor = self.behind if self.is_followed or not is_last else ""
        return WorkflowPage(tuple(self.found), cursor, is_followed=self.is_followed)

    def _seen(self, ids: Sequence[str]) -> set[str]:
        """Return the workflows whose jobs the caller may all see."""
        seen = set()
        for workflow_id, plan in self.workflows.plans_of(ids):
            if plan.envelopes and all(map(self._shows, jobs_of(plan))):
                seen.add(workflow_id)
        return seen

    def _shows(self, job: tuple[str, str, str]) -> bool:
        self.jobs += 1
        return self.view.shows(*job)

    def _end(self) -> WorkflowPage:
        """Return where a walk goes on that has looked at enough.

        :raises InvalidRequestError: only behind a workflow that the caller may not see.
        """
        if not self.behind:
            raise InvalidRequestError(
                "None of the workflows that one request looks at is the caller's.",
                details={"field": "state", "max_examined": MAX_EXAMINED},
                hint="Name a state, or read workflows by their ids.",
            )
        return WorkflowPage(tuple(self.found), self.behind)
