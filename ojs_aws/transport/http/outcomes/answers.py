"""Declares the answers about results, progress and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ojs_aws.transport.http.schema_parts import (
    BOOLEAN,
    INSTANT,
    INTEGER,
    JOB_ID,
    STATE,
    STRING,
    Schema,
    array,
    members,
    ref,
)

_FRACTION: Final[Schema] = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
_OBJECT: Final[Schema] = {"type": ["object", "null"]}

_OUTCOME: Final = {
    "type": STRING,
    "queue": STRING,
    "state": STATE,
    "attempt": INTEGER,
    "result": {},
    "error": ref("Failure"),
    "result_stored_at": INSTANT,
    "result_expires_at": INSTANT,
    "result_size_bytes": INTEGER,
}

ANSWERS: Final[Mapping[str, Schema]] = {
    "Outcome": members(("state", "result"), **_OUTCOME),
    "ResultAnswer": members(("job_id", "state", "result"), job_id=JOB_ID, **_OUTCOME),
    "ResultsAnswer": members(
        ("results",),
        results={
            "type": "object",
            "additionalProperties": {"oneOf": [ref("Outcome"), {"type": "null"}]},
        },
    ),
    "ProgressAnswer": members(
        ("job_id", "state", "progress", "data"),
        job_id=JOB_ID,
        state=STATE,
        attempt=INTEGER,
        progress=_FRACTION,
        percentage={"type": ["number", "null"]},
        data=_OBJECT,
        message={"type": ["string", "null"]},
        updated_at={"type": ["string", "null"], "format": "date-time"},
        accepted=BOOLEAN,
    ),
    "WorkflowProgressAnswer": members(
        ("workflow_id", "type", "state", "progress", "steps"),
        workflow_id=STRING,
        type=STRING,
        state=STRING,
        progress=_FRACTION,
        steps=array(
            members(
                ("job_id", "type", "state", "progress"),
                job_id={"type": ["string", "null"]},
                type=STRING,
                state=STRING,
                progress=_FRACTION,
                data=_OBJECT,
            )
        ),
    ),
    "Checkpoint": members(
        ("job_id", "sequence", "created_at"),
        job_id=JOB_ID,
        state={},
        step_index=INTEGER,
        metadata=_OBJECT,
        sequence=INTEGER,
        created_at=INSTANT,
    ),
    "ResumeAnswer": members(
        ("job_id", "has_checkpoint"),
        job_id=JOB_ID,
        has_checkpoint=BOOLEAN,
        checkpoint=ref("Checkpoint"),
    ),
    "CheckpointAnswer": members(("checkpoint", "job_id", "sequence"), checkpoint=ref("Checkpoint")),
}
