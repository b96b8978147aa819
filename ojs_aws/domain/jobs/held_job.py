"""Changes a job that a worker holds: heartbeats, progress and checkpoints; its state stays."""

from __future__ import annotations

from dataclasses import replace

from ojs_aws.domain.job import Checkpoint, Document, JobRecord, JobState, Reservation
from ojs_aws.domain.jobs.lifecycle import require
from ojs_aws.domain.progress import Progress
from ojs_aws.domain.timestamps import Instant


def extend(job: JobRecord, expires_at: Instant, alive_until: Instant | None = None) -> JobRecord:
    """Move the end of the reservation later, never earlier (BEAT); the state stays.

    :param alive_until: when the worker counts as dead unless it beats again; None where it is not
        known how often it does.
    """
    require(job, "extend", JobState.ACTIVE)
    held = job.reservation
    if held is None:
        return job
    extended = _extended(held, expires_at, alive_until)
    if extended == held:
        return job
    return job.next_version(reservation=extended)


def report_progress(
    job: JobRecord, progress: Progress, expires_at: Instant, alive_until: Instant
) -> JobRecord:
    """Record progress (PROGRESS); extends the reservation like a heartbeat (PRG-008).

    :param alive_until: when a worker that is known to beat counts as dead unless it is heard of.
    """
    require(job, "report progress of", JobState.ACTIVE)
    held = job.reservation
    if held is not None:
        held = _extended(held, expires_at, alive_until if held.alive_until else None)
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


def _extended(held: Reservation, expires_at: Instant, alive_until: Instant | None) -> Reservation:
    return replace(
        held,
        expires_at=max(expires_at, held.expires_at),
        alive_until=max(filter(None, (alive_until, held.alive_until)), default=None),
    )
