"""How long the outcome of a job is kept, and how large a result may be (ojs-results, 6 and 7)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.validation import PERMANENT

PERMANENT_S: Final = 10_000_000_000
"""What stands for "never" where a number of seconds is needed: some three hundred years."""


def keeps_result(job: JobRecord) -> bool:
    """Whether a result is stored at all: a workflow needs those of its steps (section 9.1)."""
    return job.result_ttl_s != 0 or bool(job.workflow_id)


def ended_at(job: JobRecord) -> Instant | None:
    """When a job came into its terminal state."""
    return (
        job.completed_at or job.cancelled_at or job.discarded_at if job.state.is_terminal else None
    )


def expires_at(job: JobRecord) -> Instant | None:
    """When the outcome is pruned; None while the job is not over, and where it never is.

    Without a ``result_ttl`` of its own a job's outcome lives as long as the job.
    """
    ended = ended_at(job)
    if ended is None or job.result_ttl_s == PERMANENT:
        return None
    if job.result_ttl_s is None:
        return job.kept_until
    return Instant(ended + job.result_ttl_s * 1000)


def is_pruned(job: JobRecord, now: Instant) -> bool:
    """Whether the time of a job's outcome is over."""
    if job.result_ttl_s is None:
        return False
    expiry = expires_at(job)
    return expiry is not None and expiry <= now


def as_of(job: JobRecord, now: Instant) -> JobRecord:
    """The job as callers may see it: without a result whose time is over."""
    is_hidden = job.state is JobState.COMPLETED and job.result is not None and is_pruned(job, now)
    return replace(job, result=None) if is_hidden else job


def kept_s(job: JobRecord, retention_s: int) -> int:
    """Seconds that an ended job is kept for the sake of its outcome; 0 means for ever.

    :param retention_s: how long a job in this state is kept anyway; 0 means for ever.
    """
    if job.result_ttl_s is None or not retention_s:
        return retention_s
    return max(retention_s, PERMANENT_S if job.result_ttl_s == PERMANENT else job.result_ttl_s)
