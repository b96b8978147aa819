"""Changes a job that a worker holds, after a check whether it does (heartbeats, progress)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.domain.attributes import wrong_state
from ojs_aws.domain.errors import ConflictError
from ojs_aws.domain.job import Checkpoint, Document, JobRecord, JobState, Reservation
from ojs_aws.domain.jobs import lifecycle
from ojs_aws.domain.jobs.lifecycle import require
from ojs_aws.domain.jobs.progress import Progress
from ojs_aws.domain.timestamps import Instant

ROW_REST: Final = 2, 5
"""The part of an extension that must lie before a row which a heartbeat leaves where it is: of
three intervals a little more than one, so that the next heartbeat may be late by a fifth of it."""
ASSUMED_SILENCE_MS: Final = 45_000
"""How long a worker that beats may be silent, unless it is known how often it does: three times 15
seconds (core, sections 7.5.1 and 7.5.4). Its second heartbeat gives it a pace, and then its row
must not be later than that; so the row of its first one may be as early."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRef:
    """Names one attempt of a job. What it leaves empty is not checked.

    A number alone may come again: an operator's retry counts from 0. The id of the reservation
    never does.

    :ivar reservation_id: what FETCH answered with the job; None where the report does not say it.
    :ivar attempt: the number of the attempt; None where the report does not say it.
    """

    reservation_id: str | None = None
    attempt: int | None = None

    def is_running(self, job: JobRecord) -> bool:
        """Return True if this names the job's running attempt."""
        held = job.reservation
        if held is None:
            return False
        if self.reservation_id is not None and self.reservation_id != held.id:
            return False
        return self.attempt is None or self.attempt == job.attempt


ANY_ATTEMPT: Final = AttemptRef()
"""Names no attempt: whichever is running."""


def attempt_of(job: JobRecord) -> AttemptRef:
    """Return a reference to the running attempt of a claimed job, for later reports."""
    held = job.reservation
    return AttemptRef(reservation_id=held.id or None if held else None, attempt=job.attempt)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """Says what a heartbeat asks for, and when it can be granted without a read.

    :ivar which: the attempt that the worker is at.
    :ivar expires_at: when the reservation is to end; None to leave its end, which must not come
        before ``alive_until`` then.
    :ivar alive_until: when the worker counts as dead unless it beats again; None for a worker whose
        pace nobody knows: then ``expires_at`` must be later than before.
    :ivar length_ms: what the job must have been fetched for, 0 for the deployment's default; None
        for any length.
    :ivar moves_row: list the job when it is due; else its row must be where it may stay.
    """

    worker_id: str
    now: Instant
    alive_until: Instant | None
    which: AttemptRef = ANY_ATTEMPT
    expires_at: Instant | None = None
    length_ms: int | None = None
    moves_row: bool = True

    @property
    def due_at(self) -> Instant:
        """Return when the job is due unless its worker beats again, or its execution ends."""
        return min(filter(None, (self.alive_until, self.expires_at)))

    @property
    def earliest_row(self) -> Instant:
        """Return the earliest instant at which a row may stay."""
        due = self.due_at
        if self.alive_until is None:
            due = min(due, Instant(self.now + ASSUMED_SILENCE_MS))
        return earliest_row(self.now, due)

    @property
    def runs_until(self) -> Instant:
        """Return up to when the execution must be allowed: else its end decides on the row.

        A row that stays while the end only moves later was not after the execution's end before.
        """
        if self.alive_until is None and not self.moves_row:
            return Instant(self.now + 1)
        return self.due_at


def length_of(job: JobRecord, default_ms: int) -> int:
    """Return by how much a heartbeat extends that names nothing: the job's own, or as fetched."""
    fetched_ms = job.reservation.length_ms if job.reservation else None
    return job.visibility_timeout_ms or fetched_ms or default_ms


def earliest_row(now: Instant, due: Instant) -> Instant:
    """Return the earliest instant at which the row of a job due then may stay."""
    part, whole = ROW_REST
    return Instant(now - (now - due) * part // whole)


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
    row = held.row_at
    may_stay = now is not None and _earliest_row(after, now) <= row < after.due_at
    return replace(after, listed_at=row if may_stay else None)


def _earliest_row(held: Reservation, now: Instant) -> Instant:
    """Return the earliest instant at which the row of a reservation may stay."""
    due = held.due_at
    if held.alive_until is None and held.listed_at is not None:
        due = min(due, Instant(now + ASSUMED_SILENCE_MS))
    return earliest_row(now, due)


@dataclass(frozen=True, slots=True)
class Holder:
    """Names a worker that reports on a job.

    :ivar worker_id: None when it gave no name, and then the job's state alone decides.
    :ivar which: the attempt that the report is about.
    """

    worker_id: str | None
    which: AttemptRef = ANY_ATTEMPT

    def holds(self, job: JobRecord) -> bool:
        """Return True if the job's reservation is this worker's, and of this attempt."""
        held = job.reservation  # which only an active job has
        if held is None:
            return False
        return self._is_named(held.worker_id) and self.which.is_running(job)

    def _is_named(self, worker_id: str) -> bool:
        return self.worker_id is None or worker_id in {"", self.worker_id}

    def refusal(self, job: JobRecord, verb: str) -> ConflictError:
        """Return the error that says why a report does not count."""
        held = job.reservation
        if held is None:
            return lifecycle.not_in(job, verb, JobState.ACTIVE)
        if self._is_named(held.worker_id):
            return _other_attempt(job, verb)
        message = f"Cannot {verb} job '{job.id}': it is reserved by another worker."
        hint = "The reservation expired or was never this worker's: drop the job."
        return wrong_state("job", job.id, job.state, message, hint, worker_id=self.worker_id)


def _other_attempt(job: JobRecord, verb: str) -> ConflictError:
    message = f"Cannot {verb} job '{job.id}': the report is about an attempt that is over."
    hint = "Another attempt is running: drop the report."
    return wrong_state("job", job.id, job.state, message, hint, current_attempt=job.attempt)


def check_holder(job: JobRecord, verb: str, holder: Holder) -> None:
    """Refuse a worker that does not hold the job's reservation.

    :raises ConflictError: the job is not active, it is another worker's, or another attempt of it
        is running.
    """
    if not holder.holds(job):
        raise holder.refusal(job, verb)
