"""Renders the answers of bulk operations, with a result for each job (ojs-bulk-operations)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

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
from ojs_aws.domain.json_text import encode
from ojs_aws.services.bulk.engine import BulkAction, BulkOutcome, BulkReport, BulkStatus
from ojs_aws.services.bulk.enqueue import BulkItem, StoredAnswer
from ojs_aws.transport.http.calls import CREATED, OK, json_of
from ojs_aws.transport.http.errors import redacted
from ojs_aws.transport.http.queries import further, write_mark

if TYPE_CHECKING:
    from ojs_aws.transport.http.bulk import models


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


def enqueued_answer(items: Sequence[BulkItem], caller: Caller) -> StoredAnswer:
    """Return what became of each job of a bulk enqueue."""
    failed = sum(item.problem is not None for item in items)
    body: models.BulkEnqueueAnswer = {
        "total": len(items),
        "succeeded": len(items) - failed,
        "failed": failed,
        "items": [_item(at, item, caller) for at, item in enumerate(items)],
    }
    status = CREATED if not failed else REFUSED if failed == len(items) else MULTI_STATUS
    is_final = not any(isinstance(item.problem, BackendError) for item in items)
    return StoredAnswer(status, json_of(body), is_final)


def _item(index: int, item: BulkItem, caller: Caller) -> models.EnqueuedItem:
    if item.problem is not None:
        reason = next((name for kind, name in _REASONS if isinstance(item.problem, kind)), "")
        error = cast("models.ItemError", redacted(item.problem, caller).as_dict())
        if reason:
            error["reason"] = reason
        return {"index": index, "status": "failed", "error": error}
    pushed = item.pushed
    assert pushed is not None  # noqa: S101 - an item is one or the other
    assert pushed.record is not None  # noqa: S101 - what was dropped is a problem
    is_created = pushed.is_new and not pushed.is_duplicate
    job = pushed.record
    summary: models.EnqueuedJob = {
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
    body: models.BulkChangeAnswer = {
        "total_matched": len(done.outcomes),
        **cast("models.BulkChanged", {word: changed}),
        "skipped": left,
        "items": [_outcome(at, each, word) for at, each in enumerate(done.outcomes)],
        **further(write_mark(MARK, done.cursor)),
    }
    status = OK
    if left:
        status = REFUSED if is_atomic or not changed else MULTI_STATUS
    is_final = all(each.status is not BulkStatus.FAILED for each in done.outcomes)
    return StoredAnswer(status, json_of(body), is_final)


def _outcome(index: int, each: BulkOutcome, word: str) -> models.ChangedItem:
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
