"""Handles bulk operations on jobs, with a result for each (ojs-bulk-operations)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ojs_aws.domain.access import Caller
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import (
    BackendError,
    BulkRefusedError,
    DuplicateError,
    InvalidRequestError,
    JsonValue,
    NotFoundError,
    OjsError,
    PayloadTooLargeError,
    RateLimitedError,
)
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.json_text import ANY_DEPTH, RawJson, decode, encode, parse_object
from ojs_aws.domain.timestamps import Instant, format_instant, parse_timestamp
from ojs_aws.domain.validation import invalid
from ojs_aws.services.batches.errors import check_count
from ojs_aws.services.bulk.engine import BulkAction, BulkOutcome, BulkReport, BulkStatus
from ojs_aws.services.bulk.enqueue import MAX_ITEMS, BulkItem, reading
from ojs_aws.services.bulk.idempotency import StoredAnswer
from ojs_aws.services.jobs.build import check_envelope_size
from ojs_aws.services.jobs.filter import JobFilter
from ojs_aws.transport.http.authorization import bind_jobs
from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.concealment import concealed
from ojs_aws.transport.http.jobs.envelope import items_of, read_job
from ojs_aws.transport.http.pages import read_mark, write_mark
from ojs_aws.transport.http.queries import instant_or_age

CREATED: Final = 201
OK: Final = 200
MULTI_STATUS: Final = 207
REFUSED: Final = BulkRefusedError.status

_MARK: Final = "k:"
_DONE: Final = {
    BulkAction.CANCEL: ("cancelled", "cancelled"),
    BulkAction.RETRY: ("retried", "retried"),
    BulkAction.DELETE: ("deleted", "deleted"),
}
_REASONS: Final[tuple[tuple[type[OjsError], str], ...]] = (
    (DuplicateError, "DUPLICATE_JOB"),
    (NotFoundError, "QUEUE_NOT_FOUND"),
    (PayloadTooLargeError, "PAYLOAD_TOO_LARGE"),
    (RateLimitedError, "RATE_LIMIT_EXCEEDED"),
    (InvalidRequestError, "VALIDATION_ERROR"),
)
"""The names of section 5.4, beside the code that every error has."""

_FILTER: Final = frozenset(
    {"queue", "type", "state", "enqueued_before", "enqueued_after", "priority", "meta"}
)

Values = Mapping[str, JsonValue]
Work = Callable[[Callable[[int], str] | None], StoredAnswer]


# ----------------------------------------------------------------------------------- enqueue
def bulk_enqueue(call: Call) -> Answer:
    """Enqueue up to 1,000 jobs: each by itself, or all or none (section 5)."""
    members = call.members()
    listed = members.get("jobs")
    if listed is None or not isinstance(listed.value, list):
        raise invalid("jobs", "an array of jobs", None if listed is None else listed.value)
    check_count(len(listed.value), MAX_ITEMS)
    values = {name: member.value for name, member in members.items() if name != "jobs"}
    is_atomic = _is_atomic(values)
    raws = items_of(listed.raw)
    depth = call.backend.settings.max_depth

    def work(id_of: Callable[[int], str] | None) -> StoredAnswer:
        jobs: list[Job | OjsError] = []
        for index, raw in enumerate(raws):
            with reading(jobs):
                if not raw.startswith("{"):
                    raise invalid(f"jobs[{index}]", "an object", decode(raw, max_depth=depth))
                check_envelope_size(len(raw.encode()), call.backend.settings.max_envelope_bytes)
                job = read_job(parse_object(raw, max_depth=depth), depth)
                if id_of is not None and not job.id and "id" not in job:
                    job.id = id_of(index)
                bind_jobs(call, [(f"jobs[{index}].", job)])
                jobs.append(job)
        service = call.backend.bulk_enqueue
        items = (service.all if is_atomic else service.each)(jobs)
        succeeded = sum(item.problem is None for item in items)
        call.backend.telling("enqueue", len(items), succeeded, is_atomic=is_atomic)
        return _enqueued(items, call.request.caller)

    return _once(call, "enqueue", values, len(raws), work)


def _enqueued(items: Sequence[BulkItem], caller: Caller) -> StoredAnswer:
    failed = sum(item.problem is not None for item in items)
    shown: list[JsonValue] = [_item(at, item, caller) for at, item in enumerate(items)]
    body: dict[str, JsonValue] = {
        "total": len(items),
        "succeeded": len(items) - failed,
        "failed": failed,
        "items": shown,
    }
    status = CREATED if not failed else REFUSED if failed == len(items) else MULTI_STATUS
    is_final = not any(isinstance(item.problem, BackendError) for item in items)
    return StoredAnswer(status, encode(body), is_final)


def _item(index: int, item: BulkItem, caller: Caller) -> dict[str, JsonValue]:
    if item.problem is not None:
        reason = next((name for kind, name in _REASONS if isinstance(item.problem, kind)), "")
        error = concealed(item.problem, caller).as_dict()
        return {
            "index": index,
            "status": "failed",
            "error": error | {"reason": reason} if reason else error,
        }
    pushed = item.pushed
    assert pushed is not None  # noqa: S101 - an item is one or the other
    assert pushed.record is not None  # noqa: S101 - what was dropped is a problem
    is_created = pushed.is_new and not pushed.is_duplicate
    job = pushed.record
    summary: dict[str, JsonValue] = {
        "id": job.id,
        "type": job.type,
        "queue": job.queue,
        "state": str(job.state),
    }
    return {"index": index, "status": "created" if is_created else "duplicate", "job": summary}


# ----------------------------------------------------------------------------------- changes
def bulk_cancel(call: Call) -> Answer:
    """Cancel up to 1,000 jobs that are not executing (section 6)."""
    return _change(call, BulkAction.CANCEL)


def bulk_retry(call: Call) -> Answer:
    """Make up to 1,000 discarded or retryable jobs available (section 7)."""
    return _change(call, BulkAction.RETRY)


def bulk_delete(call: Call) -> Answer:
    """Delete up to 1,000 jobs that have ended, for good (section 8)."""
    return _change(call, BulkAction.DELETE)


def _change(call: Call, action: BulkAction) -> Answer:
    values = {name: member.value for name, member in call.members().items()}
    is_atomic = _is_atomic(values)
    ids, given = values.get("job_ids"), values.get("filter")
    if (ids is None) == (given is None):
        raise InvalidRequestError(
            "Either 'job_ids' or 'filter' must be given, and not both.",
            details={"field": "job_ids", "expected": "job_ids or filter"},
        )
    if ids is not None and not (isinstance(ids, list) and all(isinstance(i, str) for i in ids)):
        raise invalid("job_ids", "an array of job ids", ids)
    if given is not None and is_atomic:
        raise InvalidRequestError(
            "What a filter finds is changed job by job; name the jobs to change all or none.",
            details={"field": "atomicity", "received": "atomic", "expected": "partial"},
        )

    def work(_: Callable[[int], str] | None) -> StoredAnswer:
        if isinstance(ids, list):
            done = call.backend.bulk_changes.named(action, [*map(str, ids)], is_atomic=is_atomic)
        else:
            done = _matching(call, action, given, values)
        changed = sum(each.status is BulkStatus.DONE for each in done.outcomes)
        call.backend.telling(str(action), len(done.outcomes), changed, is_atomic=is_atomic)
        return _changed(action, done, is_atomic=is_atomic)

    return _once(call, str(action), values, len(ids) if isinstance(ids, list) else None, work)


def _matching(call: Call, action: BulkAction, given: JsonValue, values: Values) -> BulkReport:
    if not isinstance(given, dict) or not given:
        raise invalid("filter", "an object that names something", given)
    given = _with_age(call, given)
    unknown = sorted(given.keys() - _FILTER)
    if unknown:
        raise InvalidRequestError(
            f"A filter knows {', '.join(sorted(_FILTER))}; received '{unknown[0][:40]}'.",
            details={"field": f"filter.{unknown[0][:40]}", "allowed": [*sorted(_FILTER)]},
        )
    default = [JobState.AVAILABLE, JobState.SCHEDULED] if action is BulkAction.CANCEL else []
    named = given.get("state", [*map(str, default)])
    states = named if isinstance(named, list) else [named]
    if "state" in given and not states:
        raise invalid("filter.state", "a state, or an array of some", named)
    for state in states:
        if not isinstance(state, str) or state not in set(JobState):
            raise invalid("filter.state", f"of {', '.join(JobState)}", state)
    if type(given.get("priority", 0)) is not int:
        raise invalid("filter.priority", "a whole number", given["priority"])
    if not isinstance(given.get("meta", {}), dict):
        raise invalid("filter.meta", "an object", given["meta"])
    # A job is created before it is enqueued, so that the lists narrow the search.
    before = _instant(given, "enqueued_before")
    wanted = JobFilter(
        queue=_text(given, "queue"),
        type=_text(given, "type"),
        states=frozenset(JobState(str(state)) for state in states),
        until=before,
    )
    cursor = read_mark(_MARK, _text(values, "cursor"))
    accepts = functools.partial(_accepts, call, given, before, _instant(given, "enqueued_after"))
    return call.backend.bulk_changes.matching(action, wanted, accepts, cursor)


def _with_age(call: Call, given: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a filter whose ``older_than``, from the command line, is an instant."""
    if "older_than" not in given or "enqueued_before" in given:
        return given
    kept = {name: value for name, value in given.items() if name != "older_than"}
    before = instant_or_age(given["older_than"], "filter.older_than", call.backend.clock.now())
    return {**kept, "enqueued_before": format_instant(before)}


def _accepts(
    call: Call, given: Values, before: Instant | None, after: Instant | None, job: JobRecord
) -> bool:
    """Return whether the job itself matches. A waiting job's age counts from its creation."""
    enqueued = job.enqueued_at or job.created_at
    if (before is not None and enqueued >= before) or (after is not None and enqueued <= after):
        return False
    if "priority" in given and job.priority != given["priority"]:
        return False
    meta = given.get("meta")
    if not isinstance(meta, dict) or not meta:
        return True
    document = call.backend.ports.store.fill(job).document
    members = parse_object(str(document), max_depth=ANY_DEPTH)
    has = members["meta"].value if "meta" in members else {}
    return isinstance(has, dict) and all(
        name in has
        and has[name] == value
        and isinstance(has[name], bool) is isinstance(value, bool)
        for name, value in meta.items()
    )


def _changed(action: BulkAction, done: BulkReport, *, is_atomic: bool) -> StoredAnswer:
    member, word = _DONE[action]
    changed = sum(each.status is BulkStatus.DONE for each in done.outcomes)
    left = len(done.outcomes) - changed
    items: list[JsonValue] = [_outcome(at, each, word) for at, each in enumerate(done.outcomes)]
    body: dict[str, JsonValue] = {
        "total_matched": len(items),
        member: changed,
        "skipped": left,
        "items": items,
        "has_more": bool(done.cursor),
    }
    if done.cursor:
        body["next_cursor"] = write_mark(_MARK, done.cursor)
    status = OK
    if left:
        status = REFUSED if is_atomic or not changed else MULTI_STATUS
    is_final = all(each.status is not BulkStatus.FAILED for each in done.outcomes)
    return StoredAnswer(status, encode(body), is_final)


def _outcome(index: int, each: BulkOutcome, word: str) -> dict[str, JsonValue]:
    shown: dict[str, JsonValue] = {"index": index, "job_id": each.job_id}
    if each.status is BulkStatus.DONE:
        return shown | {"status": word}
    is_failed = each.status is BulkStatus.FAILED
    error: dict[str, JsonValue] = {
        "code": "not_found" if each.status is BulkStatus.NOT_FOUND else "conflict",
        "message": each.reason,
    }
    if is_failed:
        error["code"] = "backend_error"
    return shown | {
        "status": "failed" if is_failed else "skipped",
        "reason": each.reason,
        "error": error,
    }


# ------------------------------------------------------------------------------------- common
def _once(call: Call, operation: str, values: Values, size: int | None, work: Work) -> Answer:
    """Do the work, only once if the request has an idempotency key. The header comes first."""
    header = call.request.header("idempotency-key")
    key = header or values.get("idempotency_key")
    if key is None:
        answered = work(None)
    elif not isinstance(key, str):
        raise invalid("idempotency_key", "a text", key)
    else:
        scope = f"{operation}\0{call.request.caller.id}"
        answered = call.backend.once(scope, key, call.request.body, work)
    headers = {} if size is None else {"X-OJS-Batch-Size": str(size)}
    text = _refused(call, answered.text) if answered.status == REFUSED else answered.text
    return Answer(RawJson(text), answered.status, headers)


def _refused(call: Call, items: str) -> str:
    """Return each item's result, and the error that every refusal has: clients look for one.

    Added to the kept text: the request's id is another one when the answer is given again.
    """
    error = BulkRefusedError(
        "Nothing was done: every item failed, or one of a request that is all or nothing.",
        details={"field": "items"},
        hint="Each entry of 'items' has an error of its own.",
    )
    return f'{{"error":{encode(error.as_dict(call.request.id))},{items[1:]}'


def _is_atomic(values: Values) -> bool:
    mode = values.get("atomicity", "partial")
    if mode not in ("atomic", "partial"):  # it may be anything, also what cannot be hashed
        raise invalid("atomicity", "'atomic' or 'partial'", mode)
    return mode == "atomic"


def _text(values: Values, name: str) -> str:
    value = values.get(name, "")
    if not isinstance(value, str):
        raise invalid(name, "a text", value)
    return value


def _instant(values: Values, name: str) -> Instant | None:
    return parse_timestamp(values[name], name) if values.get(name) is not None else None
