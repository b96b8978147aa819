"""Decides how long a job's outcome is kept and how large a result may be (ojs-results, 6, 7)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.validation import PERMANENT
from ojs_aws.domain.timestamps import Instant

PERMANENT_S: Final = 10_000_000_000
"""What stands for "never" where a number of seconds is needed: some three hundred years."""


def keeps_result(job: JobRecord) -> bool:
    """Return whether a result is stored; a workflow needs those of its steps (section 9.1)."""
    return job.result_ttl_s != 0 or bool(job.workflow_id)


def ended_at(job: JobRecord) -> Instant | None:
    """Return when a job entered its terminal state."""
    return (
        job.completed_at or job.cancelled_at or job.discarded_at if job.state.is_terminal else None
    )


def expires_at(job: JobRecord) -> Instant | None:
    """Return when the outcome is pruned; None while the job is not over, and for never.

    Without a ``result_ttl`` of its own a job's outcome lives as long as the job.
    """
    ended = ended_at(job)
    if ended is None or job.result_ttl_s == PERMANENT:
        return None
    if job.result_ttl_s is None:
        return job.kept_until
    return Instant(ended + job.result_ttl_s * 1000)


def is_pruned(job: JobRecord, now: Instant) -> bool:
    """Return whether a job's outcome is past its retention."""
    if job.result_ttl_s is None:
        return False
    expiry = expires_at(job)
    return expiry is not None and expiry <= now


def as_of(job: JobRecord, now: Instant) -> JobRecord:
    """Return the job as callers may see it: without a result past its retention."""
    is_hidden = job.state is JobState.COMPLETED and job.result is not None and is_pruned(job, now)
    return replace(job, result=None) if is_hidden else job


def kept_s(job: JobRecord, retention_s: int) -> int:
    """Return how many seconds an ended job is kept for its outcome; 0 means for ever.

    :param retention_s: how long a job in this state is kept anyway; 0 means for ever.
    """
    if job.result_ttl_s is None or not retention_s:
        return retention_s
    return max(retention_s, PERMANENT_S if job.result_ttl_s == PERMANENT else job.result_ttl_s)
