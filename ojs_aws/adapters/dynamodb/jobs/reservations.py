"""Stores reservations, progress and checkpoints as attributes of their job's item."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ojs_aws.adapters.dynamodb import columns as c
from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, handle_value, read_handle, read_string, string
from ojs_aws.adapters.dynamodb.jobs.blobs import document_value, read_document
from ojs_aws.domain.job import Checkpoint, Reservation
from ojs_aws.domain.jobs.progress import Progress
from ojs_aws.domain.timestamps import Instant

_COLUMNS: Final[c.Columns] = {
    c.OPTIONAL_NUMBER: {
        n.RESERVED_UNTIL: "expires_at",
        n.RESERVED_FOR: "length_ms",
        n.EXECUTION_ENDS: "execution_ends_at",
        n.ALIVE_UNTIL: "alive_until",
    },
    c.OPTIONAL_TEXT: {n.RESERVATION: "id", n.WORKER: "worker_id"},
    c.Kind(handle_value, read_handle, "", is_sparse=True): {n.HANDLE: "message_handle"},
    c.STRINGS: {n.SLOTS: "slots"},
}
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


def reservation_values(job_id: str, held: Reservation) -> Item:
    """Return the attributes of a reservation."""
    item = c.attributes(held, _COLUMNS)
    if held.message_job_id and held.message_job_id != job_id:
        item[n.MESSAGE_JOB] = string(held.message_job_id)
    return item


def read_reservation(job_id: str, item: Item) -> Reservation | None:
    """Return the reservation of a job; None if it has none."""
    if n.RESERVED_UNTIL not in item or n.EXECUTION_ENDS not in item:
        return None
    held = c.read_members(item, _COLUMNS)
    own = job_id if held["message_handle"] else ""
    found = Reservation(message_job_id=read_string(item, n.MESSAGE_JOB) or own, **held)
    key = read_string(item, n.GSK)
    row_at = n.due_of(key) if key else found.due_at
    return found if row_at >= found.due_at else replace(found, listed_at=Instant(row_at))
