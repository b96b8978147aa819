"""Builds the updates that start, extend and complete a job of any version, without a read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import (
    number,
    string,
)
from ojs_aws.adapters.dynamodb.jobs.blobs import document_value
from ojs_aws.adapters.dynamodb.jobs.reservations import reservation_values
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.domain.job import Document, JobState, Reservation, size_of
from ojs_aws.domain.jobs.held_job import AttemptRef, Extension, Holder
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.domain.jobs.outcomes import NOTHING_LEFT, PERMANENT_S, LeftToStream
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.codec import Retention


def claiming(
    queue: str, job_id: str, reservation: Reservation, now: Instant, shard: int = 0
) -> Update:
    """Return the update that claims an available, unexpired job."""
    update = Update()
    update.set(n.STATE, string(JobState.ACTIVE))
    update.set(n.STARTED, number(now))
    update.set(n.GPK, string(n.list_key(queue, JobList.WAITING, shard)))
    update.set(n.GSK, string(n.instant_key(reservation.row_at)))
    update.set(n.DONE_LIST, string(n.list_key(queue, JobList.COMPLETED)))
    held = reservation_values(job_id, reservation)
    for name, value in held.items():
        update.set(name, value)
    if n.RESERVED_FOR not in held:  # an earlier version's FAIL does not remove it
        update.remove(n.RESERVED_FOR)
    update.add(n.ATTEMPT, 1)
    update.add(n.VERSION, 1)
    update.when(f"{update.name(n.STATE)} = {update.value(string(JobState.AVAILABLE))}")
    update.when(f"{update.name(n.QUEUE)} = {update.value(string(queue))}")
    expires, moment = update.name(n.EXPIRES), update.value(number(now))
    update.when(f"{update.name(n.ENQUEUED)} <= {moment}")
    update.when(f"(attribute_not_exists({expires}) OR {expires} > {moment})")
    return update


def completing(
    holder: Holder,
    result: Document | None,
    now: Instant,
    retention: Retention,
    leaves: LeftToStream = NOTHING_LEFT,
) -> Update:
    """Return the update that completes an active job in time, by the worker that has it."""
    update = Update()
    update.set(n.STATE, string(JobState.COMPLETED))
    update.set(n.COMPLETED, number(now))
    if leaves.listing:
        update.set(n.LISTING_LEFT, {"BOOL": True})
        update.remove(n.GPK, n.GSK)
    else:
        update.copy(n.GPK, n.DONE_LIST)
        update.set(n.GSK, string(n.instant_key(now)))
    update.add(n.VERSION, 1)
    if result is not None:
        update.set(n.RESULT, document_value(result))
        _want_result(update, size_of(result))
    if leaves.message:
        update.set(n.MESSAGE_LEFT, {"BOOL": True})
    seconds = retention(JobState.COMPLETED, False) or PERMANENT_S
    update.set_sum(n.TTL, n.KEPT, number(seconds), number(now // 1000))
    update.remove(
        n.CHECKPOINT,
        n.WORKER,
        n.RESERVATION,
        n.RESERVED_UNTIL,
        n.RESERVED_FOR,
        n.EXECUTION_ENDS,
        n.ALIVE_UNTIL,
        n.HANDLE,
        n.MESSAGE_JOB,
        n.DONE_LIST,
    )
    moment = update.value(number(now))
    update.when(f"{update.name(n.STATE)} = {update.value(string(JobState.ACTIVE))}")
    update.when(f"{update.name(n.STARTED)} <= {moment}")
    update.when(f"{update.name(n.RESERVED_UNTIL)} > {moment}")
    update.when(f"{update.name(n.EXECUTION_ENDS)} > {moment}")
    alive = update.name(n.ALIVE_UNTIL)
    update.when(f"(attribute_not_exists({alive}) OR {alive} > {moment})")
    _be_attempt(update, holder.which)
    if holder.worker_id is not None:
        _be_held_by(update, holder.worker_id)
    return update


def extending(asked: Extension) -> Update:
    """Return the update that extends the reservation of an active job."""
    update = Update()
    update.add(n.VERSION, 1)
    update.when(f"{update.name(n.STATE)} = {update.value(string(JobState.ACTIVE))}")
    runs_until = update.value(number(asked.runs_until))
    update.when(f"{update.name(n.EXECUTION_ENDS)} >= {runs_until}")
    _move_ends(update, asked)
    _be_attempt(update, asked.which)
    _be_held_by(update, asked.worker_id)
    if asked.length_ms is not None:
        _be_fetched_for(update, asked.length_ms)
    if asked.moves_row:
        update.set(n.GSK, string(n.instant_key(asked.due_at)))
    else:
        first = update.value(string(n.instant_key(asked.earliest_row)))
        last = update.value(string(n.due_key(asked.due_at, is_far=True)))
        update.when(f"{update.name(n.GSK)} BETWEEN {first} AND {last}")
    return update


def _move_ends(update: Update, asked: Extension) -> None:
    """Let a worker count as alive for longer, its reservation end later, or both.

    One of them is later than it was: so a repetition of the write fails, and finds its own token.
    """
    now, ends = update.value(number(asked.now)), update.name(n.RESERVED_UNTIL)
    alive = update.name(n.ALIVE_UNTIL)
    if asked.expires_at is not None:
        update.set(n.RESERVED_UNTIL, number(asked.expires_at))
        last = update.value(number(asked.expires_at))
        is_before = "<" if asked.alive_until is None else "<="
        update.when(f"({ends} > {now} AND {ends} {is_before} {last})")
    if asked.alive_until is None:
        update.when(f"attribute_not_exists({alive})")
        return
    until = update.value(number(asked.alive_until))
    update.set(n.ALIVE_UNTIL, number(asked.alive_until))
    is_later = f"({alive} > {now} AND {alive} < {until})"
    update.when(f"(attribute_not_exists({alive}) OR {is_later})")
    if asked.expires_at is None:
        update.when(f"{ends} >= {until}")


def _be_fetched_for(update: Update, length_ms: int) -> None:
    """Let the update fail if the job was fetched for another time; 0 for the default."""
    own, fetched = update.name(n.VISIBILITY), update.name(n.RESERVED_FOR)
    if not length_ms:
        update.when(f"attribute_not_exists({own})")
        update.when(f"attribute_not_exists({fetched})")
        return
    length = update.value(number(length_ms))
    update.when(f"({own} = {length} OR {fetched} = {length})")


def _be_held_by(update: Update, worker_id: str) -> None:
    """Let the update fail if another worker holds the job; one without a name is anybody."""
    worker = update.name(n.WORKER)
    update.when(f"(attribute_not_exists({worker}) OR {worker} = {update.value(string(worker_id))})")


def _be_attempt(update: Update, which: AttemptRef) -> None:
    """Let the update fail if another attempt of the job is running."""
    if which.reservation_id is not None:
        held = update.value(string(which.reservation_id))
        update.when(f"{update.name(n.RESERVATION)} = {held}")
    if which.attempt is not None:
        update.when(f"{update.name(n.ATTEMPT)} = {update.value(number(which.attempt))}")


def _want_result(update: Update, size: int) -> None:
    """Let the update fail if the job keeps no result, or none of this size."""
    own, limit = update.name(n.RESULT_TTL), update.name(n.RESULT_LIMIT)
    of_workflow = f"attribute_exists({update.name(n.WORKFLOW)})"
    keeps = f"{own} <> {update.value(number(0))}"
    update.when(f"(attribute_not_exists({own}) OR {keeps} OR {of_workflow})")
    fits = f"{limit} >= {update.value(number(size))}"
    update.when(f"(attribute_not_exists({limit}) OR {fits})")
