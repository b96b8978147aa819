"""Declares the answers of bulk operations."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from ojs_aws.domain.job import JobState
from ojs_aws.transport.http.bodies import JobId


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
