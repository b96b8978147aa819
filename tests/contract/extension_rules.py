"""What a heartbeat's one update grants, said in Python: the reference for its condition."""

from __future__ import annotations

from dataclasses import replace

from ojs_aws.domain.job import JobRecord, JobState, Reservation
from ojs_aws.domain.jobs.held_job import Extension, length_of


def extended(job: JobRecord, asked: Extension) -> JobRecord | None:
    """Return the job with its worker alive for longer; None if ``held_job.extend`` must decide.

    It is not this worker's, or its time is over, or another deadline comes first, or the extension
    would shorten it, or its row must be moved.
    """
    held = job.reservation
    if job.state is not JobState.ACTIVE or held is None or not asked.which.is_running(job):
        return None
    if held.worker_id not in {"", asked.worker_id} or not _may_live(held, asked):
        return None
    if asked.length_ms is not None and length_of(job, 0) != asked.length_ms:
        return None
    if held.execution_ends_at < asked.runs_until or not _may_end(held, asked):
        return None
    if not asked.moves_row and not asked.earliest_row <= held.row_at <= asked.due_at:
        return None
    ends = held.expires_at if asked.expires_at is None else asked.expires_at
    kept = replace(held, expires_at=ends, alive_until=asked.alive_until, listed_at=None)
    if not asked.moves_row and held.row_at < kept.due_at:
        kept = replace(kept, listed_at=held.row_at)
    return job.next_version(reservation=kept)


def _may_live(held: Reservation, asked: Extension) -> bool:
    """Return whether a worker may count as alive for as long as is asked for."""
    alive, until = held.alive_until, asked.alive_until
    return alive is None or (until is not None and asked.now < alive < until)


def _may_end(held: Reservation, asked: Extension) -> bool:
    """Return whether the end of a reservation may stay, or move to where it is asked for."""
    ends, wanted = held.expires_at, asked.expires_at
    if wanted is None:
        return asked.alive_until is not None and ends >= asked.alive_until
    is_same = ends == wanted and asked.alive_until is not None
    return asked.now < ends < wanted or is_same
