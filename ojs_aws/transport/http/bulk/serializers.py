"""Renders the answers of bulk operations, with a result for each job (ojs-bulk-operations)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NotRequired, cast

from typing_extensions import TypedDict

from ojs_aws.domain.access import Caller
from ojs_aws.domain.errors import (
    BackendError,
    BulkRefusedError,
    DuplicateError,
    InvalidRequestError,
    NotFoundError,
    OjsError,
    PayloadTooLargeError,
    RateLimitedError,
)
from ojs_aws.domain.job import JobState
from ojs_aws.domain.json_text import encode
from ojs_aws.services.bulk import BulkAction, BulkOutcome, BulkReport, BulkStatus
from ojs_aws.services.bulk.enqueue import BulkItem, StoredAnswer
from ojs_aws.transport.http.answers import JobId
from ojs_aws.transport.http.calls import CREATED, OK, json_of
from ojs_aws.transport.http.errors import redacted
from ojs_aws.transport.http.queries import further, write_mark

MULTI_STATUS: Final = 207
REFUSED: Final = BulkRefusedError.status

MARK: Final = "k:"
_DONE: Final = {
    BulkAction.CANCEL: "cancelled",
    BulkAction.RETRY: "retried",
    BulkAction.DELETE: "deleted",
}
_REASONS: Final[tuple[tuple[type[OjsError], str], ...]] = (
    (DuplicateError, "DUPLICATE_JOB"),
    (NotFoundError, "QUEUE_NOT_FOUND"),
    (PayloadTooLargeError, "PAYLOAD_TOO_LARGE"),
    (RateLimitedError, "RATE_LIMIT_EXCEEDED"),
    (InvalidRequestError, "VALIDATION_ERROR"),
)
"""The names of section 5.4, beside the code that every error has."""

_CODES: Final = {BulkStatus.NOT_FOUND: "not_found", BulkStatus.FAILED: "backend_error"}


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


def enqueued_answer(items: Sequence[BulkItem], caller: Caller) -> StoredAnswer:
    """Return what became of each job of a bulk enqueue."""
    failed = sum(item.problem is not None for item in items)
    body: BulkEnqueueAnswer = {
        "total": len(items),
        "succeeded": len(items) - failed,
        "failed": failed,
        "items": [_item(at, item, caller) for at, item in enumerate(items)],
    }
    status = CREATED if not failed else REFUSED if failed == len(items) else MULTI_STATUS
    is_final = not any(isinstance(item.problem, BackendError) for item in items)
    return StoredAnswer(status, json_of(body), is_final)


def _item(index: int, item: BulkItem, caller: Caller) -> EnqueuedItem:
    if item.problem is not None:
        reason = next((name for kind, name in _REASONS if isinstance(item.problem, kind)), "")
        error = cast("ItemError", redacted(item.problem, caller).as_dict())
        if reason:
            error["reason"] = reason
        return {"index": index, "status": "failed", "error": error}
    pushed = item.pushed
    assert pushed is not None  # noqa: S101 - an item is one or the other
    assert pushed.record is not None  # noqa: S101 - what was dropped is a problem
    is_created = pushed.is_new and not pushed.is_duplicate
    job = pushed.record
    summary: EnqueuedJob = {
        "id": job.id,
        "type": job.type,
        "queue": job.queue,
        "state": job.state,
    }
    return {"index": index, "status": "created" if is_created else "duplicate", "job": summary}


def changed_answer(action: BulkAction, done: BulkReport, *, is_atomic: bool) -> StoredAnswer:
    """Return what became of each job of a bulk change."""
    word, changed = _DONE[action], done.done
    left = len(done.outcomes) - changed
    body: BulkChangeAnswer = {
        "total_matched": len(done.outcomes),
        **cast("BulkChanged", {word: changed}),
        "skipped": left,
        "items": [_outcome(at, each, word) for at, each in enumerate(done.outcomes)],
        **further(write_mark(MARK, done.cursor)),
    }
    status = OK
    if left:
        status = REFUSED if is_atomic or not changed else MULTI_STATUS
    is_final = all(each.status is not BulkStatus.FAILED for each in done.outcomes)
    return StoredAnswer(status, json_of(body), is_final)


def _outcome(index: int, each: BulkOutcome, word: str) -> ChangedItem:
    if each.status is BulkStatus.DONE:
        return {"index": index, "job_id": each.job_id, "status": word}
    return {
        "index": index,
        "job_id": each.job_id,
        "status": "failed" if each.status is BulkStatus.FAILED else "skipped",
        "reason": each.reason,
        "error": {"code": _CODES.get(each.status, "conflict"), "message": each.reason},
    }


def refused_answer(request_id: str, items: str) -> str:
    """Return each item's result, and the error that every refusal has: clients look for one.

    Added to the kept text: the request's id is another one when the answer is given again.
    """
    error = BulkRefusedError(
        "Nothing was done: every item failed, or one of a request that is all or nothing.",
        details={"field": "items"},
        hint="Each entry of 'items' has an error of its own.",
    )
    return f'{{"error":{encode(error.as_dict(request_id))},{items[1:]}'
