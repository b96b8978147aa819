"""Says where a job stands in the lists of its queue."""

from __future__ import annotations

from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import deadlines
from ojs_aws.ports import JobList, ListedJob
from ojs_aws.topology import MAX_DELAY_S


def list_of(job: JobRecord) -> tuple[JobList, str]:
    """Which list a job is in, and its sort key there."""
    match job.state:
        case JobState.AVAILABLE:
            return JobList.READY, job.ready_key
        case JobState.SCHEDULED | JobState.RETRYABLE | JobState.ACTIVE:
            held = job.reservation
            due = (held.row_at if held else deadlines.next_due(job)) or 0
            return JobList.WAITING, f"{due:015d}"
        case JobState.PENDING:
            return JobList.PENDING, f"{job.created_at:015d}"
        case JobState.COMPLETED:
            return JobList.COMPLETED, f"{job.completed_at:015d}"
        case JobState.CANCELLED:
            return JobList.CANCELLED, f"{job.cancelled_at:015d}"
    name = JobList.DEAD_LETTER if job.is_dead_letter else JobList.DISCARDED
    return name, f"{job.discarded_at:015d}"


def row_place(row: ListedJob) -> str:
    """Where a row stands in its list: what lists are sorted by, and pages go on after."""
    return f"{row.sort_key}|{row.id}"


def row_of(job: JobRecord, sort_key: str) -> ListedJob:
    """Return the row of a job in its list."""
    return ListedJob(
        is_far=deadlines.wait_ms(job) > MAX_DELAY_S * 1000,
        id=job.id,
        queue=job.queue,
        sort_key=sort_key,
        state=job.state,
        type=job.type,
        timeout_ms=job.timeout_ms,
        visibility_timeout_ms=job.visibility_timeout_ms,
        # A claim writes the key without having read the job.
        priority=None if job.state is JobState.ACTIVE else job.priority,
    )
