"""Places jobs in the index, and reads rows of it."""

from __future__ import annotations

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, read_number, read_string
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import deadlines
from ojs_aws.ports import JobList, ListedJob
from ojs_aws.topology import MAX_DELAY_S


def listing(job: JobRecord) -> tuple[str, str]:
    """Return the job's keys in the index."""
    name, key = _listing(job)
    return n.list_key(job.queue, name), key


def _listing(job: JobRecord) -> tuple[JobList, str]:
    match job.state:
        case JobState.AVAILABLE:
            return JobList.READY, job.ready_key
        case JobState.SCHEDULED | JobState.RETRYABLE | JobState.ACTIVE:
            held = job.reservation
            due = (held.row_at if held else deadlines.next_due(job)) or 0
            is_far = deadlines.wait_ms(job) > MAX_DELAY_S * 1000
            return JobList.WAITING, n.due_key(due, is_far=is_far, priority=job.priority)
        case JobState.PENDING:
            return JobList.PENDING, n.instant_key(job.created_at)
        case JobState.COMPLETED:
            return JobList.COMPLETED, n.instant_key(job.completed_at or 0)
        case JobState.CANCELLED:
            return JobList.CANCELLED, n.instant_key(job.cancelled_at or 0)
        case JobState.DISCARDED:
            name = JobList.DEAD_LETTER if job.is_dead_letter else JobList.DISCARDED
            return name, n.instant_key(job.discarded_at or 0)


def from_row(row: Item) -> ListedJob:
    """Return the job that a row of the index describes."""
    key = read_string(row, n.GSK)
    queue, _, name = read_string(row, n.GPK).rpartition("|")
    waits = name == JobList.WAITING
    return ListedJob(
        id=n.job_id_of(read_string(row, n.PK)),
        queue=queue,
        sort_key=key.partition(n.RANK)[0].removesuffix(n.FAR) if waits else key,
        is_far=waits and key.endswith(n.FAR),
        priority=n.priority_of(key) if waits else None,
        state=JobState(read_string(row, n.STATE)),
        type=read_string(row, n.TYPE),
        timeout_ms=read_number(row, n.TIMEOUT),
        visibility_timeout_ms=read_number(row, n.VISIBILITY),
    )
