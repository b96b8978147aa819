"""Declares the requests and answers about bulk changes."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from ojs_aws.domain.job import JobState
from ojs_aws.transport.http.jobs.requests import PushBody
from ojs_aws.transport.http.models import Body, JobId


class BulkEnqueueBody(Body):
    """Holds a bulk enqueue (ojs-bulk-operations, section 5)."""

    jobs: Annotated[list[PushBody], Field(min_length=1, max_length=1000)]
    atomicity: Literal["atomic", "partial"] = "partial"
    idempotency_key: Annotated[str, Field(min_length=1, max_length=256)] | None = None


class BulkFilterBody(Body):
    """Which jobs are meant (ojs-bulk-operations, section 6.1)."""

    queue: str | None = None
    type: str | None = None
    state: list[str] | None = None
    enqueued_before: str | None = None
    enqueued_after: str | None = None
    priority: int | None = None
    meta: dict[str, Any] | None = None


class BulkChangeBody(Body):
    """Jobs to be changed, by their ids or by a filter (ojs-bulk-operations, sections 6 to 8)."""

    job_ids: Annotated[list[JobId], Field(min_length=1, max_length=1000)] | None = None
    filter: BulkFilterBody | None = None
    atomicity: Literal["atomic", "partial"] = "partial"
    idempotency_key: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    cursor: str | None = None


class EnqueuedJob(TypedDict):
    """Names a job that was enqueued."""

    id: JobId
    type: str
    queue: str
    state: JobState


class ItemError(TypedDict):
    """Says why a job was not enqueued or changed."""

    code: str
    message: str
    retryable: NotRequired[bool]
    reason: NotRequired[str]


class EnqueuedItem(TypedDict):
    """Says what became of one job of a bulk enqueue: it has a job or an error."""

    index: int
    status: str
    job: NotRequired[EnqueuedJob]
    error: NotRequired[ItemError]


class BulkEnqueueAnswer(TypedDict):
    """Says what became of each job of a bulk enqueue."""

    total: int
    succeeded: int
    failed: int
    items: list[EnqueuedItem]


class ChangedItem(TypedDict):
    """Says what became of one job of a bulk change."""

    index: int
    job_id: str
    status: str
    reason: NotRequired[str]
    error: NotRequired[ItemError]


class BulkChanged(TypedDict, total=False):
    """Says how many jobs were changed, by operation, and where to go on."""

    cancelled: int
    retried: int
    deleted: int
    next_cursor: str


class BulkChangeAnswer(BulkChanged):
    """Says what became of each job of a bulk change."""

    total_matched: int
    skipped: int
    items: list[ChangedItem]
    has_more: bool
