"""Converts between a workflow and its items.

All of a workflow stands in one partition: the workflow itself, which each change rewrites, and
beside it what is written once: its plan, and the results of its jobs, those of one change together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import (
    Item,
    deflate,
    inflate,
    number,
    packed,
    read_string,
    string,
    unpacked,
)
from ojs_aws.adapters.dynamodb.table import item_key
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.runtime import in_groups
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows.graph import Kind, WorkflowPlan, dump_graph, load_graph
from ojs_aws.domain.workflows.workflow import StepFailure, Workflow, WorkflowEvent, WorkflowState
from ojs_aws.topology import WORKFLOW_SORT_KEY

LIST: Final = "|workflows"
"""Partition of the index; no queue's list begins like this."""

PLAN: Final = "plan#"
RESULTS: Final = "results#"
MAX_PIECE_BYTES: Final = 350_000
"""DynamoDB takes items of 400 KB."""

_INSTANTS: Final = ("started_at", "completed_at", "cancelled_at")
_PLAIN: Final = (
    "kind",
    "version",
    "state",
    "states",
    "created_at",
    "job_count",
    "steps_total",
    "name",
    "digest",
    "completed_count",
    "failed_count",
    "cancelled_count",
    "steps_completed",
    "failed_callback",
    *_INSTANTS,
)


def workflow_pk(workflow_id: str) -> str:
    """Return the partition key of everything that belongs to a workflow."""
    return f"workflow#{workflow_id}"


def workflow_key(workflow_id: str) -> Item:
    """Return the key of the workflow's own item."""
    return item_key(workflow_pk(workflow_id), WORKFLOW_SORT_KEY)


def plan_key(workflow_id: str, index: int = 0) -> Item:
    """Return the key of a piece of a workflow's plan."""
    return item_key(workflow_pk(workflow_id), f"{PLAN}{index:04d}")


def list_key(workflow: Workflow) -> Item:
    """Return the keys of a workflow in the list of all workflows."""
    return {
        **workflow_key(workflow.id),
        n.GPK: string(LIST),
        n.GSK: string(n.instant_key(workflow.created_at)),
    }


def to_item(workflow: Workflow, retention_s: int) -> Item:
    """Return the item of a workflow, without its write token."""
    document = {name: getattr(workflow, name) for name in _PLAIN}
    document["begun"] = [*(workflow.begun or {}).items()]
    document["failures"] = [
        [f.index, f.job_id, f.code, f.message, f.attempt] for f in workflow.failures
    ]
    document["told"] = [[each.kind, each.at, each.data] for each in workflow.events]
    item: Item = {
        **list_key(workflow),
        n.STATE: string(workflow.state),
        n.VERSION: number(workflow.version),
        n.DOCUMENT: packed(json.dumps(document, separators=(",", ":"))),
    }
    ended = workflow.completed_at or workflow.cancelled_at
    if ended is not None and retention_s:
        item[n.TTL] = number(ended // 1000 + retention_s)
    return item


def workflow_of(item: Item) -> Workflow:
    """Return the workflow that an item holds."""
    document: dict[str, Any] = json.loads(unpacked(item[n.DOCUMENT]))
    document["kind"] = Kind(document["kind"])
    document["state"] = WorkflowState(document["state"])
    document["begun"] = {index: Instant(at) for index, at in document["begun"]}
    names = ("index", "job_id", "code", "message", "attempt")
    document["failures"] = tuple(
        StepFailure(**dict(zip(names, row, strict=True))) for row in document["failures"]
    )
    document["events"] = tuple(
        WorkflowEvent(kind, Instant(at), data) for kind, at, data in document.pop("told")
    )
    workflow_id = read_string(item, n.PK).removeprefix(workflow_pk(""))
    return Workflow(id=workflow_id, **document)


def plan_items(workflow_id: str, plan: WorkflowPlan) -> list[Item]:
    """Return the items of a plan: one deflated text, in as many pieces as it needs."""
    text = json.dumps([dump_graph(plan.graph), [*plan.envelopes.items()]], separators=(",", ":"))
    data = deflate(text.encode("utf-8", "surrogatepass"))
    pieces = [data[at : at + MAX_PIECE_BYTES] for at in range(0, len(data), MAX_PIECE_BYTES)]
    return [
        {**plan_key(workflow_id, index), n.DOCUMENT: {"B": piece}}
        for index, piece in enumerate(pieces)
    ]


def plan_of(items: Sequence[Item]) -> WorkflowPlan:
    """Read the plan that :func:`plan_items` wrote."""
    data = b"".join(bytes(item[n.DOCUMENT]["B"]) for item in items)
    graph, envelopes = json.loads(inflate(data).decode("utf-8", "surrogatepass"))
    return WorkflowPlan(load_graph(graph), {i: RawJson(text) for i, text in envelopes})


def result_items(workflow_id: str, version: int, results: Mapping[int, RawJson]) -> Iterator[Item]:
    """Yield the items of the results in one change."""
    groups = in_groups(
        results.items(), lambda each: len(each[1].encode("utf-8", "surrogatepass")), MAX_PIECE_BYTES
    )
    for index, group in enumerate(groups):
        yield {
            **item_key(workflow_pk(workflow_id), f"{RESULTS}{version:09d}.{index:02d}"),
            n.DOCUMENT: packed(json.dumps(group, separators=(",", ":"))),
        }


def results_of(item: Item) -> dict[int, RawJson]:
    """Return the results that an item holds."""
    return {index: RawJson(text) for index, text in json.loads(unpacked(item[n.DOCUMENT]))}
