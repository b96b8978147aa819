"""Declares the answers about workflows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ojs_aws.transport.http.schema_parts import (
    INSTANT,
    INTEGER,
    STATE,
    STRING,
    Schema,
    array,
    members,
    ref,
)

_STEP: Final = members(
    ("type", "state", "job_id"),
    id=STRING,
    index=INTEGER,
    type=STRING,
    args={"type": "array"},
    state=STRING,
    job_id={"type": ["string", "null"]},
    job_state=STATE,
    depends_on=array(STRING),
    started_at=INSTANT,
    completed_at=INSTANT,
    result={},
    steps=array(ref("Step")),
    jobs=array(ref("Step")),
    callbacks={"type": "object", "additionalProperties": ref("Step")},
)

_WORKFLOW: Final = members(
    ("id", "type", "state", "metadata", "created_at"),
    id=STRING,
    type={"type": "string", "enum": ["chain", "group", "batch", "dag"]},
    name=STRING,
    state={"type": "string", "enum": ["running", "completed", "failed", "cancelled"]},
    steps=array(ref("Step")),
    jobs=array(ref("Step")),
    callbacks={"type": "object", "additionalProperties": ref("Step")},
    steps_total=INTEGER,
    steps_completed=INTEGER,
    jobs_total=INTEGER,
    jobs_completed=INTEGER,
    metadata={"type": "object"},
    created_at=INSTANT,
    started_at=INSTANT,
    completed_at=INSTANT,
    cancelled_at=INSTANT,
)

ANSWERS: Final[Mapping[str, Schema]] = {
    "Step": _STEP,
    "Workflow": _WORKFLOW,
    "WorkflowAnswer": members(
        ("workflow", "id", "state"), workflow=ref("Workflow"), id=STRING, state=STRING
    ),
    "WorkflowsAnswer": members(
        ("workflows", "items", "pagination"),
        workflows=array(ref("Workflow")),
        items=array(ref("Workflow")),
        pagination=ref("Pagination"),
    ),
}
