"""Handles bulk operations on jobs, with a result for each (ojs-bulk-operations)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from ojs_aws.domain.attributes import field_error, invalid
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import (
    JsonValue,
    OjsError,
)
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.batches import check_count
from ojs_aws.domain.json_text import ANY_DEPTH, decode, parse_object
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.services.bulk import BulkAction, BulkReport
from ojs_aws.services.bulk.enqueue import MAX_ITEMS, StoredAnswer, reading
from ojs_aws.services.jobs.build import check_envelope_size
from ojs_aws.services.jobs.job_lists import JobFilter
from ojs_aws.transport.http.authorization import bind_jobs, check_named
from ojs_aws.transport.http.bulk.serializers import (
    MARK,
    REFUSED,
    BulkChangeAnswer,
    BulkEnqueueAnswer,
    changed_answer,
    enqueued_answer,
    refused_answer,
)
from ojs_aws.transport.http.calls import Answer, Call, JsonOf
from ojs_aws.transport.http.jobs.envelope import items_of, read_job
from ojs_aws.transport.http.members import Values, check_known, instant_in, states_in, text_in
from ojs_aws.transport.http.negotiation import EVENT_BATCH_TYPE
from ojs_aws.transport.http.queries import instant_or_age, read_mark

_FILTER: Final = frozenset(
    {"queue", "type", "state", "enqueued_before", "enqueued_after", "priority", "meta"}
)

Work = Callable[[Callable[[int], str] | None], StoredAnswer]


# ----------------------------------------------------------------------------------- enqueue
def bulk_enqueue(call: Call) -> Answer[BulkEnqueueAnswer]:
    """Enqueue up to 1,000 jobs: each by itself, or all or none (section 5).

    Of a batch of CloudEvents each makes a job by itself (ojs-cloudevents-interop, section 10.3).
    """
    members = call.members()
    listed = members.get("jobs")
    if listed is None or not isinstance(listed.value, list):
        raise invalid("jobs", "an array of jobs", None if listed is None else listed.value)
    check_count(len(listed.value), MAX_ITEMS)
    values = {name: member.value for name, member in members.items() if name != "jobs"}
    is_atomic = _is_atomic(values)
    raws = items_of(listed.raw)
    depth = call.backend.settings.max_depth
    text_of = _text_of(call)

    def work(id_of: Callable[[int], str] | None) -> StoredAnswer:
        jobs: list[Job | OjsError] = []
        for index, sent in enumerate(raws):
            with reading(jobs):
                if not sent.startswith("{"):
                    raise invalid(f"jobs[{index}]", "an object", decode(sent, max_depth=depth))
                raw = text_of(sent)
                check_envelope_size(len(raw.encode()), call.backend.settings.max_envelope_bytes)
                job = read_job(parse_object(raw, max_depth=depth), depth)
                if id_of is not None and not job.id and "id" not in job:
                    job.id = id_of(index)
                bind_jobs(call, [(f"jobs[{index}].", job)])
                jobs.append(job)
        service = call.backend.bulk.enqueue
        items = (service.all if is_atomic else service.each)(jobs)
        succeeded = sum(item.problem is None for item in items)
        call.backend.bulk.completion_events(
            "enqueue", len(items), succeeded, is_atomic=is_atomic, by=call.actor
        )
        return enqueued_answer(items, call.request.caller)

    return _once(call, "enqueue", values, len(raws), work)


def _text_of(call: Call) -> Callable[[str], str]:
    """Return a function that makes the text of a job from an item: events are converted."""
    if not call.request.header("content-type").startswith(EVENT_BATCH_TYPE):
        return str
    from ojs_aws.transport.http.jobs.cloud_events import job_text  # few requests bring events

    return lambda raw: job_text(decode(raw))


# ----------------------------------------------------------------------------------- changes
def bulk_cancel(call: Call) -> Answer[BulkChangeAnswer]:
    """Cancel up to 1,000 jobs that are not executing (section 6)."""
    return _change(call, BulkAction.CANCEL)


def bulk_retry(call: Call) -> Answer[BulkChangeAnswer]:
    """Make up to 1,000 discarded or retryable jobs available (section 7)."""
    return _change(call, BulkAction.RETRY)


def bulk_delete(call: Call) -> Answer[BulkChangeAnswer]:
    """Delete up to 1,000 jobs that have ended, for good (section 8)."""
    return _change(call, BulkAction.DELETE)


def _change(call: Call, action: BulkAction) -> Answer[BulkChangeAnswer]:
    values = call.values()
    is_atomic = _is_atomic(values)
    ids, given = values.get("job_ids"), values.get("filter")
    if (ids is None) == (given is None):
        message = "Either 'job_ids' or 'filter' must be given, and not both."
        raise field_error("job_ids", message, expected="job_ids or filter")
    if ids is not None and not (isinstance(ids, list) and all(isinstance(i, str) for i in ids)):
        raise invalid("job_ids", "an array of job ids", ids)
    if given is not None and is_atomic:
        message = "What a filter finds is changed job by job; name the jobs to change all or none."
        raise field_error("atomicity", message, received="atomic", expected="partial")

    def work(_: Callable[[int], str] | None) -> StoredAnswer:
        if isinstance(ids, list):
            done = call.backend.bulk.changes.named(
                action,
                [*map(str, ids)],
                is_atomic=is_atomic,
                view=call.request.caller.view,
                by=call.actor,
            )
        else:
            done = _matching(call, action, given, values)
        call.backend.bulk.completion_events(
            str(action), len(done.outcomes), done.done, is_atomic=is_atomic, by=call.actor
        )
        return changed_answer(action, done, is_atomic=is_atomic)

    return _once(call, str(action), values, len(ids) if isinstance(ids, list) else None, work)


def _matching(call: Call, action: BulkAction, given: JsonValue, values: Values) -> BulkReport:
    if not isinstance(given, dict) or not given:
        raise invalid("filter", "an object that names something", given)
    given = _with_age(call, given)
    check_known(given, sorted(_FILTER))
    check_named(call, given)
    default = [JobState.AVAILABLE, JobState.SCHEDULED] if action is BulkAction.CANCEL else []
    named = given.get("state", [*map(str, default)])
    if named == [] and "state" in given:
        raise invalid("filter.state", "a state, or an array of some", named)
    states = states_in(named, "filter.state", "of")
    if type(given.get("priority", 0)) is not int:
        raise invalid("filter.priority", "a whole number", given["priority"])
    if not isinstance(given.get("meta", {}), dict):
        raise invalid("filter.meta", "an object", given["meta"])
    # A job is created before it is enqueued, so that the lists narrow the search.
    before = instant_in(given, "enqueued_before")
    wanted = JobFilter(
        queue=text_in(given, "queue"),
        type=text_in(given, "type"),
        states=states,
        until=before,
        view=call.request.caller.view,
    )
    cursor = read_mark(MARK, text_in(values, "cursor"))
    accepts = functools.partial(_accepts, call, given, before, instant_in(given, "enqueued_after"))
    return call.backend.bulk.changes.matching(action, wanted, accepts, cursor, call.actor)


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
    document = call.backend.stores.store.fill(job).document
    members = parse_object(str(document), max_depth=ANY_DEPTH)
    has = members["meta"].value if "meta" in members else {}
    return isinstance(has, dict) and all(
        name in has
        and has[name] == value
        and isinstance(has[name], bool) is isinstance(value, bool)
        for name, value in meta.items()
    )


# ------------------------------------------------------------------------------------- common
def _once(call: Call, operation: str, values: Values, size: int | None, work: Work) -> Answer[Any]:
    """Do the work, only once if the request has an idempotency key. The header comes first."""
    header = call.request.header("idempotency-key")
    key = header or values.get("idempotency_key")
    if key is None:
        answered = work(None)
    elif not isinstance(key, str):
        raise invalid("idempotency_key", "a text", key)
    else:
        caller = call.request.caller
        of_tenant = f"\0{caller.tenant}" if caller.tenant else ""
        scope = f"{operation}\0{caller.id}{of_tenant}"
        answered = call.backend.bulk.idempotency(scope, key, call.request.body, work)
    headers = {} if size is None else {"X-OJS-Batch-Size": str(size)}
    text = (
        refused_answer(call.request.id, answered.text)
        if answered.status == REFUSED
        else answered.text
    )
    return Answer(JsonOf(text), answered.status, headers)


def _is_atomic(values: Values) -> bool:
    mode = values.get("atomicity", "partial")
    if mode not in ("atomic", "partial"):  # it may be anything, also what cannot be hashed
        raise invalid("atomicity", "'atomic' or 'partial'", mode)
    return mode == "atomic"
