"""Handles operators' requests on jobs: found, read, explained and changed (ojs-admin-api)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.events import EventQuery, render_event
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.jobs.failures import render_failure
from ojs_aws.domain.jobs.reasons import Reason
from ojs_aws.domain.json_text import RawJson, assemble_array, encode
from ojs_aws.domain.timestamps import format_duration, format_instant
from ojs_aws.services.jobs.one_job import HistoryEntry, history_of
from ojs_aws.services.jobs.render import render_job, summarise_job
from ojs_aws.transport.http.calls import Answer, Call, JsonOf, json_of
from ojs_aws.transport.http.jobs.bulk_handlers import filter_of
from ojs_aws.transport.http.jobs.serializers import changed_job, job_answer
from ojs_aws.transport.http.queries import (
    boolean_of,
    names_of,
    read_mark,
    requested_page,
    text_of,
    write_mark,
)

if TYPE_CHECKING:
    from ojs_aws.domain.errors import JsonValue
    from ojs_aws.domain.retry import RetryPolicy
    from ojs_aws.transport.http.jobs import models
    from ojs_aws.transport.http.jobs.serializers import Rendered


_INSTANTS: Final = (
    "created_at",
    "enqueued_at",
    "started_at",
    "scheduled_at",
    "completed_at",
    "cancelled_at",
    "discarded_at",
)


def detail_members(job: JobRecord) -> Rendered:
    """Return the members that each detail has.

    A member of the same name that the client sent with the job takes precedence.
    """
    return {
        "errors": RawJson("[]"),
        "meta": RawJson("{}"),
        "metadata": encode(_instants(job)),
        "retry_policy": encode(_policy(job.retry)),
    }


def _instants(job: JobRecord) -> dict[str, JsonValue]:
    """Return when the job entered each state; null if it did not."""
    instants = {name: getattr(job, name) for name in _INSTANTS}
    return {name: None if at is None else format_instant(at) for name, at in instants.items()}


def _policy(retry: RetryPolicy) -> dict[str, JsonValue]:
    """Return the whole policy, with defaults for what the client left out."""
    return {
        "max_attempts": retry.max_attempts,
        "initial_interval": format_duration(retry.initial_interval_ms),
        "backoff_coefficient": retry.backoff_coefficient,
        "backoff_strategy": str(retry.strategy),
        "max_interval": format_duration(retry.max_interval_ms),
        "jitter": retry.jitter,
        "non_retryable_errors": [*retry.non_retryable_errors],
        "on_exhaustion": str(retry.on_exhaustion),
    }


_MARK: Final = "j:"

MAX_EVENTS: Final = 100


# ------------------------------------------------------------------------------------ finding
def list_jobs(call: Call) -> Answer[models.JobListAnswer]:
    """Return the jobs of a filter, queue by queue and list by list.

    Lists have an order of their own, which ``order`` can turn round; nothing is sorted beyond it.
    """
    query = call.request.query
    wanted = requested_page(query)
    is_ascending = _is_ascending(query)
    chosen = filter_of(
        call,
        {
            "queue": text_of(query, "queue"),
            "type": text_of(query, "job_type_or_prefix"),
            "state": [*names_of(query, "job_states")],
            "since": text_of(query, "since_time"),
            "until": text_of(query, "until"),
            "tag": text_of(query, "tag"),
            "error": text_of(query, "error_text"),
        },
    )
    found, total = call.backend.jobs.search.page(
        chosen,
        wanted.limit,
        read_mark(_MARK, wanted.cursor),
        skip=wanted.offset,
        newest_first=not is_ascending,
    )
    now = call.backend.clock.now()
    shown = [summarise_job(deadlines.settle(job, now)) for job in found.jobs]
    pagination = wanted.pagination(total, write_mark(_MARK, found.cursor))
    items: JsonOf[list[models.JobSummary]] = JsonOf(json_of(shown))
    body: models.JobListAnswer = {
        "items": items,
        "jobs": items,
        "pagination": {**pagination, "examined": found.examined},
        "total": total.number,
        "order": {"by": ["queue", "state", "list"], "direction": "asc" if is_ascending else "desc"},
    }
    return Answer(body)


def _is_ascending(query: Mapping[str, str]) -> bool:
    order, sort = text_of(query, "order"), text_of(query, "sort")
    for name, given, allowed in (
        ("order", order, ("asc", "desc")),
        ("sort", sort, ("created_at", "scheduled_at", "priority")),
    ):
        if given and given not in allowed:
            raise InvalidRequestError(
                f"The '{name}' parameter must be one of {', '.join(allowed)}, not {given[:40]!r}.",
                details={"field": name, "allowed": [*allowed], "received": given[:40]},
            )
    return order == "asc"


# ---------------------------------------------------------------------------------- one by one
def get_job_detail(call: Call) -> Answer[models.JobDetailAnswer]:
    """Return the whole job with its history, and its events from the log if asked for."""
    with_events = boolean_of(call.request.query, "events")
    job = call.backend.jobs.info(call.job_id)
    more = {"history": RawJson(json_of([_entry(each) for each in history_of(job)]))}
    if job.workflow_id:
        more["workflow_id"] = encode(job.workflow_id)
    if with_events:
        more["events"] = RawJson(json_of(_events(call, job)))
    return Answer(JsonOf(job_answer(detail_members(job) | render_job(job), more)))


def _entry(entry: HistoryEntry) -> models.JobHistoryEntry:
    shown: models.JobHistoryEntry = {"at": format_instant(entry.at), "what": entry.what}
    if entry.attempt is not None:
        shown["attempt"] = entry.attempt
    if entry.failure is not None:
        shown["error"] = JsonOf(render_failure(entry.failure))
    if entry.is_past_life:
        shown["before_retry"] = True
    return shown


def _events(call: Call, job: JobRecord) -> models.JobEvents:
    """Return one page of the log, from the job's creation on; not all of the log is read."""
    page = call.backend.events.read(
        EventQuery(job_ids=frozenset({job.id}), since=job.created_at, limit=MAX_EVENTS)
    )
    return {
        "items": JsonOf(assemble_array(render_event(event) for event in page.events)),
        "cursor": page.cursor,
        "has_more": page.has_more,
    }


def why(call: Call) -> Answer[models.WhyAnswer]:
    """Return what holds a job back, the most important reason first (an extension)."""
    found = call.backend.jobs.why(call.job_id, names_others=not call.request.caller.is_bound)
    return Answer(
        {
            "job_id": found.job.id,
            "state": found.job.state,
            "as_of": format_instant(found.at),
            "reasons": [_reason(each) for each in found.reasons],
            "checked": [*found.checked],
        }
    )


def _reason(reason: Reason) -> models.WhyReason:
    shown: models.WhyReason = {"code": reason.code, "message": reason.message}
    if reason.until is not None:
        shown["until"] = format_instant(reason.until)
    if reason.data:
        shown["data"] = {**reason.data}
    if reason.hint:
        shown["hint"] = reason.hint
    return shown


def retry_job(call: Call) -> Answer[models.JobAnswer]:
    """Make a discarded job available again with attempt 0 (section 7.4), never a cancelled one.

    A retryable one is available at once, with its attempt.
    """
    change = call.backend.dead_letters.service.retry_now(call.job_id, call.actor)
    previous = {"previous_state": encode(str(change.before.state))}
    return Answer(job_answer(changed_job(change.after), previous))
