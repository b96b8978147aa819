"""Stores what an execution leaves: its progress and its checkpoints."""

from __future__ import annotations

from typing import Final

from ojs_aws.adapters.dynamodb import columns as c
from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.jobs.documents import document_value, read_document
from ojs_aws.adapters.dynamodb.values import string
from ojs_aws.domain.job import Checkpoint
from ojs_aws.domain.progress import Progress

_PROGRESS: Final[c.Columns] = {
    c.NUMBER: {"n": "attempt", "a": "updated_at"},
    c.Kind(lambda fraction: string(repr(fraction)), lambda value: float(value["S"])): {
        "f": "fraction"
    },
    c.PACKED: {"d": "data"},
    c.OPTIONAL_TEXT: {"m": "message"},
}
_CHECKPOINT: Final[c.Columns] = {
    c.Kind(document_value, read_document): {"d": "state"},
    c.NUMBER: {"s": "sequence", "a": "created_at"},
    c.FLAG: {"n": "has_notes"},
}
OUTCOME: Final[c.Columns] = {
    c.map_of(_PROGRESS, Progress): {n.PROGRESS: "progress"},
    c.map_of(_CHECKPOINT, Checkpoint): {n.CHECKPOINT: "checkpoint"},
}
"""The attributes of a job that this module stores; the many jobs without any have none."""
