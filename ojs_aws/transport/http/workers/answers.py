"""Declares the answers about workers."""

from __future__ import annotations

from typing import Literal, NotRequired, Required, TypeAlias

from typing_extensions import TypedDict

from ojs_aws.transport.http.answers import Pagination, Timestamp
from ojs_aws.transport.http.bodies import JobId
from ojs_aws.transport.http.json_of import JsonOf

WorkerState: TypeAlias = Literal[
    "running", "quiet", "drain", "draining", "shutting_down", "terminate", "stale"
]

DirectiveName: TypeAlias = Literal["running", "quiet", "terminate"]


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


class WorkerDeletedAnswer(TypedDict):
    """Says that a worker was removed, and which jobs are available again."""

    deleted: bool
    id: str
    jobs_requeued: list[JobId]
