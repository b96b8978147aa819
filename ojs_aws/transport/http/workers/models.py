"""Declares the requests and answers about workers."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, Required, TypeAlias

from pydantic import Field
from typing_extensions import TypedDict

from ojs_aws.domain.timestamps import MAX_DURATION_MS
from ojs_aws.services.workers import MAX_INTERVAL_MS, MIN_INTERVAL_MS
from ojs_aws.services.workers.heartbeat import MAX_JOBS, MAX_WORKER_ID
from ojs_aws.transport.http.answers import DirectiveName, Pagination, Timestamp
from ojs_aws.transport.http.calls import JsonOf
from ojs_aws.transport.http.requests import LARGEST_COUNT, Body, JobId, ShortText, VisibilityMs

WorkerId = Annotated[str, Field(min_length=1, max_length=MAX_WORKER_ID)]
IntervalMs = Annotated[int, Field(ge=MIN_INTERVAL_MS, le=MAX_INTERVAL_MS)]
ReservationId = Annotated[str, Field(min_length=1, max_length=256, examples=["9f3c52e01ab7"])]
DelayMs = Annotated[int, Field(ge=0, le=MAX_DURATION_MS, examples=[60_000])]
AttemptNumber = Annotated[int, Field(ge=0, le=2_147_483_647)]

MAX_COUNT = 1000
MAX_QUEUES = 100
MAX_LABELS = 50


class FetchBody(Body):
    """FETCH (HTTP binding, section 10.1)."""

    queues: Annotated[list[str], Field(min_length=1, max_length=MAX_QUEUES)]
    count: Annotated[int, Field(ge=1, le=MAX_COUNT)] = 1
    worker_id: WorkerId | None = None
    visibility_timeout_ms: VisibilityMs | None = None
    heartbeat_interval_ms: IntervalMs | None = None
    pool: ShortText | None = None
    strategy: ShortText | None = None
    weights: dict[str, int] | None = None


class AttemptBody(Body):
    """A report about one attempt (an extension): what it says must be true of the running one."""

    worker_id: WorkerId | None = None
    reservation_id: ReservationId | None = None
    attempt: AttemptNumber | None = None


class ReportBody(AttemptBody):
    """What ACK and FAIL have in common: the job, and who reports."""

    job_id: JobId


class AckBody(ReportBody):
    """ACK (section 10.2). A null result is a result."""

    result: Any = None


class AckJobBody(AttemptBody):
    """Acknowledges the job that the path names (ACK)."""

    result: Any = None


class ErrorObject(Body):
    """Describes a failure, in the form of the core (type) or of the HTTP binding (code)."""

    message: str
    type: str | None = None
    code: str | None = None
    retryable: bool | None = None
    backtrace: list[str] | None = None
    details: dict[str, Any] | None = None


class FailValues(ReportBody):
    """FAIL without its error object, which is read apart.

    ``delay_ms`` is an extension: how long the job waits for its next attempt.
    """

    requeue: bool = False
    delay_ms: DelayMs | None = None


class FailBody(FailValues):
    """FAIL (section 10.3). The error may be missing where the job is given back (requeue)."""

    error: ErrorObject | None = None


class FailJobBody(AttemptBody):
    """FAIL of the job that the path names."""

    error: ErrorObject | None = None
    requeue: bool = False
    delay_ms: DelayMs | None = None


class ProgressBody(AttemptBody):
    """PROGRESS (ojs-progress, section 6); numbers beyond the range are clamped."""

    progress: float | None = None
    percentage: float | None = None
    data: dict[str, Any] | None = None
    message: str | None = None
    checkpoint: Any = None


class ProgressOfBody(ProgressBody):
    """Reports progress of the job that the body names (PROGRESS)."""

    job_id: JobId


class CheckpointBody(AttemptBody):
    """Holds a checkpoint (ojs-durable-execution, section 4.1) with the notes of durable replay."""

    state: Any
    step_index: Annotated[int, Field(ge=0)] | None = None
    metadata: dict[str, Any] | None = None


class WorkerBody(Body):
    """What a worker may report of itself (worker protocol, section 4.2)."""

    hostname: ShortText | None = None
    pid: int | None = None
    queues: Annotated[list[ShortText], Field(max_length=MAX_QUEUES)] | None = None
    concurrency: Annotated[int, Field(ge=0, le=LARGEST_COUNT)] | None = None
    labels: Annotated[list[ShortText], Field(max_length=MAX_LABELS)] | None = None
    pool: ShortText | None = None
    started_at: ShortText | None = None
    version: ShortText | None = None
    metadata: dict[str, Any] | None = None
    heartbeat_interval_ms: IntervalMs | None = None


class HeartbeatValues(WorkerBody):
    """Holds a heartbeat in one form: ids apart from their number, the state by its own name.

    :ivar drain_word: what the worker called its state, if it drains and does not say ``quiet``.
    """

    worker_id: WorkerId | None = None
    state: Literal["running", "quiet", "terminate"] = "running"
    drain_word: Literal["", "drain", "draining", "shutting_down"] = ""
    shutdown: bool = False
    active_job_ids: list[str] = Field(default_factory=list, max_length=MAX_JOBS)
    active_count: Annotated[int, Field(ge=0, le=LARGEST_COUNT)] | None = None
    visibility_timeout_ms: VisibilityMs | None = None
    reservation_ids: dict[str, ReservationId] = Field(default_factory=dict, max_length=MAX_JOBS)
    attempts: dict[str, AttemptNumber] = Field(default_factory=dict, max_length=MAX_JOBS)


class HeartbeatBody(WorkerBody):
    """BEAT (section 10.4; worker protocol, section 4). Without a worker it must name jobs."""

    worker_id: WorkerId | None = None
    active_jobs: (
        Annotated[list[JobId], Field(max_length=MAX_JOBS)]
        | Annotated[int, Field(ge=0, le=LARGEST_COUNT)]
        | None
    ) = None
    active_job_ids: Annotated[list[JobId], Field(max_length=MAX_JOBS)] | None = None
    job_id: JobId | None = None
    reservation_ids: dict[JobId, ReservationId] | None = None
    attempts: dict[JobId, AttemptNumber] | None = None
    visibility_timeout_ms: VisibilityMs | None = None
    state: str | None = None
    shutdown: bool = False


WorkerState: TypeAlias = Literal[
    "running", "quiet", "drain", "draining", "shutting_down", "terminate", "stale"
]


class WorkerDirector(TypedDict):
    """Names who directed a worker."""

    id: str
    name: str


class Worker(TypedDict, total=False):
    """Shows a worker by what it last reported; ``stale`` says that it missed its heartbeats."""

    id: Required[str]
    worker_id: Required[str]
    state: Required[DirectiveName]
    stale: Required[bool]
    directive: Required[DirectiveName]
    hostname: str
    queues: list[str]
    concurrency: int
    labels: list[str]
    active_jobs: int
    active_job_ids: list[JobId]
    last_heartbeat_at: Required[Timestamp]
    last_heartbeat: Required[Timestamp]
    expected_until: Required[Timestamp]
    heartbeat_interval_ms: int
    previous_directive: DirectiveName
    directed_by: WorkerDirector
    directed_at: Timestamp


class WorkerAnswer(Worker):
    """Shows a worker, flat and in a wrapper."""

    worker: Worker


class WorkerSummary(TypedDict, total=False):
    """Counts the workers by state."""

    total: Required[int]
    running: int
    stale: int
    is_exact: bool


class WorkersAnswer(TypedDict):
    """Shows a page of workers."""

    items: JsonOf[list[Worker]]
    workers: JsonOf[list[Worker]]
    summary: WorkerSummary
    pagination: Pagination
    total: int


class WorkerHealthAnswer(TypedDict):
    """Says whether a worker takes jobs, and its state in the word by which it said it."""

    status: Literal["ok", "draining", "stale"]
    worker_id: str
    state: WorkerState
    directive: DirectiveName
    draining: bool
    active_jobs: int
    last_heartbeat_at: Timestamp


class DirectedAnswer(TypedDict):
    """Names the workers that received a directive, and those that refuse it."""

    directive: str
    updated: int
    workers: list[str]
    refused: list[str]
    has_more: bool
    next_cursor: NotRequired[str]


class Pool(TypedDict, total=False):
    """Shows a worker pool, with its workers that send heartbeats and the jobs that they run."""

    name: Required[str]
    queues: Required[list[str]]
    strategy: Required[str]
    weights: dict[str, int]
    concurrency: int
    active_workers: Required[int]
    active_jobs: Required[int]


class PoolAnswer(Pool):
    """Shows a pool, flat and in a wrapper."""

    pool: Pool


class PoolsAnswer(TypedDict):
    """Shows all pools."""

    items: JsonOf[list[Pool]]
    pools: JsonOf[list[Pool]]


class PoolDeletedAnswer(TypedDict):
    """Says that a pool was removed."""

    deleted: bool
    name: str


class WorkerDeletedAnswer(TypedDict):
    """Says that a worker was removed, and which jobs are available again."""

    deleted: bool
    id: str
    jobs_requeued: list[JobId]
