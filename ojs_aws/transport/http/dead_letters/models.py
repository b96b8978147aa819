"""Declares the answers about dead letters."""

from __future__ import annotations

from typing import NotRequired, Required

from typing_extensions import TypedDict

from ojs_aws.transport.http.calls import JsonOf
from ojs_aws.transport.http.jobs.models import Job
from ojs_aws.transport.http.models import JobId, Pagination, Timestamp


class DeadLettersAnswer(TypedDict, total=False):
    """Shows a page of dead letters; the admin API names them ``items``."""

    jobs: JsonOf[list[Job]]
    items: JsonOf[list[Job]]
    pagination: Required[Pagination]
    total: Required[int]


class DeadLetterRetention(TypedDict):
    """Says how long dead letters are kept, and how many."""

    max_age: str
    max_count: int


class DeadLetterStatsAnswer(TypedDict):
    """Counts the dead letters by queue, type and error."""

    total: int
    total_is_exact: bool
    by_queue: dict[str, int]
    by_error_type: dict[str, int]
    by_type: dict[str, int]
    sampled: int
    oldest_at: Timestamp | None
    newest_at: Timestamp | None
    retention: DeadLetterRetention


class DeletedJobAnswer(TypedDict):
    """Says that a dead letter was removed."""

    deleted: bool
    job_id: JobId
    id: JobId


class BulkResult(TypedDict):
    """Says what became of one dead letter."""

    id: JobId
    status: str
    reason: NotRequired[str]


class BulkDone(TypedDict, total=False):
    """Says how many dead letters were retried, or deleted, and where to go on."""

    retried: int
    deleted: int
    next_cursor: str
    dry_run: bool
    matched: int
    as_of: Timestamp


class BulkAnswer(BulkDone):
    """Says which dead letters were changed, or ``matched`` where it is a dry run."""

    failed: int
    results: list[BulkResult]
    has_more: bool
