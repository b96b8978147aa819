"""Declares the answers about jobs."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, Required

from typing_extensions import TypedDict

from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.reasons import ReasonCode
from ojs_aws.services.bulk import BulkAction
from ojs_aws.transport.http.answers import (
    DirectiveName,
    Failure,
    JobId,
    JsonObject,
    Pagination,
    Timestamp,
)
from ojs_aws.transport.http.calls import JsonOf


class JobCheckpoint(TypedDict):
    """Shows where the next attempt may continue."""

    state: Any
    sequence: int
    step_index: NotRequired[int]
    metadata: NotRequired[JsonObject]
    created_at: NotRequired[Timestamp]


class JobHead(TypedDict, total=False):
    """Holds what each answer shows of a job: who it is, and when it entered its states."""

    id: Required[JobId]
    type: Required[str]
    queue: Required[str]
    state: Required[JobState]
    priority: Required[int]
    attempt: Required[int]
    max_attempts: Required[int]
    created_at: Required[Timestamp]
    enqueued_at: Timestamp
    started_at: Timestamp
    completed_at: Timestamp
    cancelled_at: Timestamp
    discarded_at: Timestamp
    next_attempt_at: Timestamp
    retry_delay_ms: int


class Job(JobHead, total=False):
    """Shows a job: what its client sent, and the system's attributes."""

    args: Required[list[Any]]
    meta: JsonObject
    timeout_ms: int
    scheduled_at: str
    expires_at: str
    tags: list[str]
    retry: JsonObject
    unique: JsonObject
    parent_results: JsonObject
    previous_state: JobState
    error: Failure
    errors: list[Failure]
    result: Any
    result_stored_at: Timestamp
    result_expires_at: Timestamp
    result_size_bytes: int
    checkpoint: JobCheckpoint
    last_checkpoint: Any


class JobAnswer(TypedDict, total=False):
    """Shows a job in a wrapper, and flat unless it is very large; or says who dropped it.

    The answer to a change says what was there before.
    """

    id: Required[JobId]
    job: Required[JsonOf[Job] | None]
    previous_state: JobState
    previous_priority: int
    dropped: bool
    dropped_by: str


class DroppedJob(TypedDict):
    """Says which middleware dropped a job."""

    id: JobId
    dropped: bool
    dropped_by: str


class BatchAnswer(TypedDict):
    """Shows the jobs of a batch, and those that middleware dropped."""

    jobs: JsonOf[list[Job]]
    count: int
    enqueued: int
    failed: int
    dropped: NotRequired[list[DroppedJob]]


class MiddlewareMember(TypedDict):
    """Describes a middleware or a hook."""

    name: str
    kind: str
    implements: list[str]


class MiddlewareAnswer(TypedDict):
    """Shows the middleware around PUSH, in its order."""

    enqueue: list[MiddlewareMember]
    hooks: list[MiddlewareMember]


class ClaimedJob(Job, total=False):
    """Shows a job with its reservation."""

    reservation_id: str


class FetchAnswer(TypedDict):
    """Shows the claimed jobs."""

    jobs: JsonOf[list[ClaimedJob]]
    count: int


class OutcomeAnswer(JobHead, total=False):
    """Shows what became of a job after ACK or FAIL."""

    job_id: Required[JobId]
    acknowledged: bool
    job: Required[JsonOf[Job]]


class HeartbeatAnswer(TypedDict):
    """Answers BEAT: the directive, and the result for each job."""

    acknowledged: bool
    state: DirectiveName
    directive: Literal["", "quiet", "terminate"]
    worker_id: str
    jobs_extended: list[JobId]
    jobs_cancelled: list[JobId]
    jobs_lost: list[JobId]
    server_time: Timestamp


class ErrorSummary(TypedDict, total=False):
    """Names the last failure of a job in a list."""

    type: str
    message: str


class JobSummary(JobHead, total=False):
    """Shows a job in a list, without its documents."""

    dead_letter: bool
    error: ErrorSummary
    workflow_id: str
    worker_id: str
    sequence: str
    x_aws_sequence_position: int


class ListOrder(TypedDict):
    """Says how a list of jobs is ordered."""

    by: list[str]
    direction: Literal["asc", "desc"]


class JobPagination(Pagination):
    """Describes a page of jobs, and says how many jobs were looked at for it."""

    examined: int


class JobListAnswer(TypedDict):
    """Shows a page of jobs."""

    items: JsonOf[list[JobSummary]]
    jobs: JsonOf[list[JobSummary]]
    pagination: JobPagination
    total: int
    order: ListOrder


class JobHistoryEntry(TypedDict, total=False):
    """Says what happened to a job at an instant."""

    at: Required[Timestamp]
    what: Required[str]
    attempt: int
    error: JsonOf[Failure]
    before_retry: bool


class WhyReason(TypedDict, total=False):
    """Describes one cause for which a job does not run now."""

    code: Required[ReasonCode]
    message: Required[str]
    until: Timestamp
    data: JsonObject
    hint: str


class WhyAnswer(TypedDict):
    """Says why a job does not run now, the most important reason first, and what was checked."""

    job_id: JobId
    state: JobState
    as_of: Timestamp
    reasons: list[WhyReason]
    checked: list[str]


class JobEvents(TypedDict):
    """Shows the first events of a job."""

    items: JsonOf[list[JsonObject]]
    cursor: str
    has_more: bool


class JobDetailAnswer(Job, total=False):
    """Shows a job with its history, in a wrapper and flat."""

    job: Required[JsonOf[Job]]
    history: Required[list[JobHistoryEntry]]
    events: JobEvents


class BulkError(TypedDict):
    """Says why a job was not changed."""

    job_id: JobId
    status: str
    error: str


class JobBulkAnswer(TypedDict):
    """Says which jobs of a filter were changed."""

    action: BulkAction | Literal["reprioritise"]
    dry_run: bool
    matched: int
    succeeded: int
    failed: int
    examined: int
    job_ids: list[JobId]
    errors: list[BulkError]
    has_more: bool
    as_of: NotRequired[Timestamp]
    retried: NotRequired[int]
    next_cursor: NotRequired[str]
