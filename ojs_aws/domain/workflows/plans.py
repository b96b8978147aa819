"""Describes the plan of a stored workflow, and pages of workflows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ojs_aws.domain.json_text import RawJson

if TYPE_CHECKING:
    from ojs_aws.domain.workflows.graph import Graph
    from ojs_aws.domain.workflows.workflow import Workflow


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
