"""Stores reservations as attributes of their job's item."""

from __future__ import annotations

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.values import (
    Item,
    handle_value,
    number,
    read_handle,
    read_number,
    read_string,
    string,
)
from ojs_aws.domain.job import Reservation
from ojs_aws.domain.timestamps import Instant


def reservation_values(job_id: str, held: Reservation) -> Item:
    """Return the attributes of a reservation."""
    item: Item = {
        n.RESERVED_UNTIL: number(held.expires_at),
        n.EXECUTION_ENDS: number(held.execution_ends_at),
    }
    if held.id:
        item[n.RESERVATION] = string(held.id)
    if held.alive_until is not None:
        item[n.ALIVE_UNTIL] = number(held.alive_until)
    if held.worker_id:
        item[n.WORKER] = string(held.worker_id)
    if held.message_handle:
        item[n.HANDLE] = handle_value(held.message_handle)
    if held.message_job_id and held.message_job_id != job_id:
        item[n.MESSAGE_JOB] = string(held.message_job_id)
    if held.places:
        item[n.PLACES] = {"SS": [*held.places]}
    return item


def read_reservation(job_id: str, item: Item) -> Reservation | None:
    """Return the reservation of a job; None if it has none."""
    expires = read_number(item, n.RESERVED_UNTIL)
    ends = read_number(item, n.EXECUTION_ENDS)
    if expires is None or ends is None:
        return None
    handle = read_handle(item, n.HANDLE)
    alive = read_number(item, n.ALIVE_UNTIL)
    return Reservation(
        worker_id=read_string(item, n.WORKER),
        expires_at=Instant(expires),
        execution_ends_at=Instant(ends),
        alive_until=None if alive is None else Instant(alive),
        message_handle=handle,
        message_job_id=read_string(item, n.MESSAGE_JOB) or (job_id if handle else ""),
        id=read_string(item, n.RESERVATION),
        places=tuple(sorted(item.get(n.PLACES, {}).get("SS", ()))),
    )
