"""Tests that a list of workflows reads a bounded number of pages, however few of them match."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import pytest

from ojs_aws.adapters.dynamodb.workflows.store import Workflows
from ojs_aws.domain.access import UNBOUND, View
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.workflows.workflow import WorkflowPage, WorkflowState
from ojs_aws.services.workflows.list_walk import MAX_READS
from tests.simulation.world import World


@dataclass
class Endless:
    """A long list in which no workflow is in the wanted state."""

    reads: int = 0

    def page(self, state: WorkflowState | None, limit: int, cursor: str = "") -> WorkflowPage:
        """Return an empty page and where to go on, as the index answers then."""
        del state, limit
        self.reads += 1
        return WorkflowPage((), f"{int(cursor or 0) + 1}")


@pytest.mark.parametrize(
    ("view", "skip", "problem"),
    [
        (View(queues=("email",)), 0, "is the caller's"),  # no cursor may name a workflow of others
        (UNBOUND, 5, "skips more workflows"),
    ],
)
def test_a_list_of_few_workflows_among_many_ends_after_some_pages(
    world: World, view: View, skip: int, problem: str
) -> None:
    """Otherwise one request would read the whole list, until its function ends."""
    workflows = Endless()
    service = replace(world.backend.workflows.service, workflows=cast("Workflows", workflows))
    with pytest.raises(InvalidRequestError, match=problem):
        service.list("failed", 10, "", skip=skip, view=view)
    assert workflows.reads == MAX_READS
