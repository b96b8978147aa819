"""Changes a job that a worker holds: heartbeats, progress and checkpoints; its state stays.

The waiting list shows an active job at its due time, or before it. To move that row costs two write
units, so a heartbeat leaves it where it is while its time is still far off: nobody looks at a row
before its time comes. So a row is never late, and the row of a worker that goes on beating is moved
before anybody sees it. Only the row of a silent worker may show that its job is due while it is
not; who finds that moves it (decision 89).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.domain.job import Checkpoint, Document, JobRecord, JobState, Reservation
from ojs_aws.domain.jobs.attempts import ANY_ATTEMPT, AttemptRef
from ojs_aws.domain.jobs.lifecycle import require
from ojs_aws.domain.progress import Progress
from ojs_aws.domain.timestamps import Instant

ROW_REST: Final = 2, 5
"""The part of an extension that must lie before a row which a heartbeat leaves where it is: of
three intervals a little more than one, so that the next heartbeat may be late by a fifth of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """Says what a heartbeat asks for, and on what terms it can be granted without a read.

    :ivar which: the attempt that the worker is at.
    :ivar alive_until: when the worker counts as dead unless it beats again.
    :ivar expires_at: when the reservation is to end; None to leave its end, which must not come
        before ``alive_until`` then.
    :ivar moves_row: list the job when it is due; else its row must be where it may stay.
    :ivar started_since: the attempt must have begun then or later; None for any time.
    """

    worker_id: str
    now: Instant
    alive_until: Instant
    which: AttemptRef = ANY_ATTEMPT
    expires_at: Instant | None = None
    moves_row: bool = True
    started_since: Instant | None = None

    @property
    def due_at(self) -> Instant:
        """Return when the job is due unless its worker beats again."""
        if self.expires_at is None:
            return self.alive_until
        return min(self.alive_until, self.expires_at)

    @property
    def earliest_row(self) -> Instant:
        """Return the earliest instant at which a row may stay."""
        return earliest_row(self.now, self.due_at)


def earliest_row(now: Instant, due: Instant) -> Instant:
    """Return the earliest instant at which the row of a job due then may stay."""
    part, whole = ROW_REST
    return Instant(now - (now - due) * part // whole)


def extended(job: JobRecord, asked: Extension) -> JobRecord | None:
    """Return the job with its worker alive for longer; None if :func:`extend` must decide.

    It is not this worker's, or its time is over, or another deadline comes first, or the extension
    would shorten it, or its row must be moved.
    """
    held = job.reservation
    if job.state is not JobState.ACTIVE or held is None or not asked.which.is_running(job):
        return None
    alive, due = held.alive_until, asked.due_at
    is_later = alive is None or asked.now < alive < asked.alive_until
    is_early = asked.started_since is not None and (job.started_at or 0) < asked.started_since
    if held.worker_id not in {"", asked.worker_id} or not is_later or is_early:
        return None
    if held.execution_ends_at < due or not _may_end(held, asked):
        return None
    if not asked.moves_row and not asked.earliest_row <= held.row_at <= due:
        return None
    row = None if asked.moves_row or held.row_at == due else held.row_at
    ends = held.expires_at if asked.expires_at is None else asked.expires_at
    kept = replace(held, expires_at=ends, alive_until=asked.alive_until, listed_at=row)
    return job.next_version(reservation=kept)


def extend(
    job: JobRecord,
    expires_at: Instant,
    alive_until: Instant | None = None,
    *,
    now: Instant | None = None,
) -> JobRecord:
    """Move the end of the reservation later, never earlier (BEAT); the state stays.

    :param alive_until: when the worker counts as dead unless it beats again; None where it is not
        known how often it does.
    :param now: when it is asked for: then the row may stay; None to list the job when it is due.
    """
    require(job, "extend", JobState.ACTIVE)
    held = job.reservation
    if held is None:
        return job
    after = _extended(held, expires_at, alive_until, now)
    if after == held:
        return job
    return job.next_version(reservation=after)


def list_when_due(job: JobRecord) -> JobRecord:
    """Return the job listed at its due time; the job itself if it is."""
    held = job.reservation
    if held is None or held.listed_at is None:
        return job
    return job.next_version(reservation=replace(held, listed_at=None))


def report_progress(
    job: JobRecord,
    progress: Progress,
    expires_at: Instant,
    alive_until: Instant,
    *,
    now: Instant | None = None,
) -> JobRecord:
    """Record progress (PROGRESS); extends the reservation like a heartbeat (PRG-008).

    :param alive_until: when a worker that is known to beat counts as dead unless it is heard of.
    :param now: as for :func:`extend`.
    """
    require(job, "report progress of", JobState.ACTIVE)
    held = job.reservation
    if held is not None:
        held = _extended(held, expires_at, alive_until if held.alive_until else None, now)
    return job.next_version(progress=progress, reservation=held)


def save_checkpoint(
    job: JobRecord, state: Document, now: Instant, *, has_notes: bool = False
) -> JobRecord:
    """Replace the job's checkpoint; the state stays."""
    number = job.checkpoints + 1
    saved = Checkpoint(state=state, sequence=number, created_at=now, has_notes=has_notes)
    return job.next_version(checkpoint=saved, checkpoints=number)


def clear_checkpoint(job: JobRecord) -> JobRecord:
    """Remove the checkpoint; the next one is numbered as if it were still there."""
    if job.checkpoint is None:
        return job
    return job.next_version(checkpoint=None)


def _may_end(held: Reservation, asked: Extension) -> bool:
    """Return whether the end of a reservation may stay, or move to where it is asked for."""
    if asked.expires_at is None:
        return held.expires_at >= asked.alive_until
    return asked.now < held.expires_at <= asked.expires_at


def _extended(
    held: Reservation, expires_at: Instant, alive_until: Instant | None, now: Instant | None
) -> Reservation:
    """Return the reservation with later ends, itself if there are none.

    Its row stays where it may.
    """
    after = replace(
        held,
        expires_at=max(expires_at, held.expires_at),
        alive_until=max(filter(None, (alive_until, held.alive_until)), default=None),
    )
    if after == held:
        return held
    due, row = after.due_at, held.row_at
    may_stay = now is not None and earliest_row(now, due) <= row < due
    return replace(after, listed_at=row if may_stay else None)
