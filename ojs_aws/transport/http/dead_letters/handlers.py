"""Handles dead letters (ojs-dead-letter, section 10; binding, 12; ojs-admin-api, 11).

The paths below ``/admin`` answer in the admin API's form: ``items``, and 204 for a removal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NotRequired, Required, cast

from typing_extensions import TypedDict

from ojs_aws.domain.attributes import invalid
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import RawJson, assemble, assemble_array, encode
from ojs_aws.domain.timestamps import format_duration, format_instant
from ojs_aws.services.bulk import MAX_BULK, BulkAction, BulkReport
from ojs_aws.services.dead_letters.search import DeadLetterFilter
from ojs_aws.services.jobs.render import render_job
from ojs_aws.transport.http.answers import JobId, Pagination, Timestamp
from ojs_aws.transport.http.authorization import check_named, check_override
from ojs_aws.transport.http.calls import NO_CONTENT, Answer, Call, JsonOf
from ojs_aws.transport.http.jobs.bulk_handlers import publish_change
from ojs_aws.transport.http.jobs.models import Job, JobAnswer
from ojs_aws.transport.http.jobs.serializers import changed_job, job_answer
from ojs_aws.transport.http.members import (
    Values,
    check_confirmed,
    check_known,
    flag_in,
    instant_in,
    number_in,
    object_in,
    text_in,
)
from ojs_aws.transport.http.queries import further, members_of, requested_page, text_of

_TEXTS: Final = ("queue", "type", "error_type")
_ALIASES: Final = {"older_than": "until", "before": "until", "after": "since"}


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


def list_dead_letters(call: Call) -> Answer[DeadLettersAnswer]:
    """Return the discarded jobs that a policy keeps, newest first within a queue."""
    query = call.request.query
    wanted = requested_page(query)
    chosen = _filter(call, {name: text_of(query, name) for name in (*_TEXTS, "since", "until")})
    page = call.backend.dead_letters.service.list(
        chosen, wanted.limit, wanted.cursor, wanted.offset
    )
    jobs: JsonOf[list[Job]] = JsonOf(assemble_array(map(_row, page.jobs)))
    pagination, total = wanted.pagination(page.total, page.cursor), page.total.number
    if _is_admin(call):
        return Answer({"items": jobs, "pagination": pagination, "total": total})
    return Answer({"jobs": jobs, "pagination": pagination, "total": total})


def _row(record: JobRecord) -> RawJson:
    """Return a dead letter of a list, with the name that an official client uses for attempts."""
    return assemble(render_job(record) | {"total_attempts": encode(record.attempt)})


def get_dead_letter(call: Call) -> Answer[JobAnswer]:
    """Return a discarded job with its whole history."""
    return Answer(job_answer(render_job(call.backend.dead_letters.service.get(call.job_id))))


def dead_letter_stats(call: Call) -> Answer[DeadLetterStatsAnswer]:
    """Return how many dead letters there are, and of what kind."""
    settings = call.backend.settings
    stats = call.backend.dead_letters.service.stats(call.request.caller.view)
    body: DeadLetterStatsAnswer = {
        "total": stats.total,
        "total_is_exact": stats.is_exact,
        "by_queue": {**stats.by_queue},
        "by_error_type": {**stats.by_error_type},
        "by_type": {**stats.by_type},
        "sampled": stats.sampled,
        "oldest_at": None if stats.oldest_at is None else format_instant(stats.oldest_at),
        "newest_at": None if stats.newest_at is None else format_instant(stats.newest_at),
        "retention": {
            "max_age": format_duration(settings.dead_letter_retention_s * 1000),
            "max_count": settings.dead_letter_max_count,
        },
    }
    return Answer(body)


def retry_dead_letter(call: Call) -> Answer[JobAnswer]:
    """Enqueue a discarded job again, with the changes of an ``override``."""
    override = object_in(_values(call), "override")
    check_override(call, override)
    job = changed_job(call.backend.dead_letters.service.retry(call.job_id, override, call.actor))
    more = {"previous_state": encode("discarded")}
    if "enqueued_at" in job:
        more["re_enqueued_at"] = job["enqueued_at"]
    return Answer(job_answer(job, more))


def delete_dead_letter(call: Call) -> Answer[DeletedJobAnswer]:
    """Remove a discarded job for good."""
    call.backend.dead_letters.service.delete(call.job_id)
    if _is_admin(call):
        return Answer(None, NO_CONTENT)
    return Answer({"deleted": True, "job_id": call.job_id, "id": call.job_id})


def retry_dead_letters(call: Call) -> Answer[BulkAnswer]:
    """Enqueue many dead letters again: those of a filter, or those named."""
    return Answer(_change(call, BulkAction.RETRY, _values(call), "retried"))


def delete_dead_letters(call: Call) -> Answer[BulkAnswer]:
    """Remove many dead letters; body or query say which."""
    values = members_of(call.request.query) | _values(call)
    return Answer(_change(call, BulkAction.DELETE, values, "deleted"))


def _change(
    call: Call, action: BulkAction, values: Values, done: Literal["retried", "deleted"]
) -> BulkAnswer:
    """Change dead letters, or say by a dry run which would be changed.

    What a dry run counted, the change with its ``as_of`` meets, and nothing that came later.
    """
    is_dry = flag_in(values, "dry_run")
    check_confirmed(is_confirmed=is_dry or values.get("confirm") is True, has_dry_run=True)
    limit = number_in(values, "limit", MAX_BULK, f"a whole number from 1 to {MAX_BULK}")
    cursor = text_in(values, "cursor")
    view, chosen = call.request.caller.view, _chosen(call, values)
    as_of, bulk = instant_in(values, "as_of"), call.backend.dead_letters.bulk
    if not is_dry:
        report = bulk(action, chosen, limit, cursor, view=view, as_of=as_of, by=call.actor)
        publish_change(call, action, [report])
        body = _described(report, done)
    else:
        as_of = as_of or call.backend.clock.now()
        report = bulk.preview(action, chosen, limit, cursor, view=view, as_of=as_of)
        body = _previewed(report, done)
    if as_of is not None:
        body["as_of"] = format_instant(as_of)
    return body


def _values(call: Call) -> dict[str, JsonValue]:
    given = call.values(optional=True)
    return {name: value for name, value in given.items() if value is not None}


def _chosen(call: Call, values: Mapping[str, JsonValue]) -> DeadLetterFilter | Sequence[str]:
    """Return what a bulk operation is for: the filter, or the ids."""
    ids = values.get("ids", values.get("job_ids"))
    if ids is None:
        nested = object_in(values, "filter") or {}
        flat = {name: values[name] for name in (*_TEXTS, *_ALIASES, *_RANGE) if name in values}
        return _filter(call, {**flat, **nested})
    if not isinstance(ids, list) or not all(isinstance(item, str) for item in ids) or not ids:
        raise invalid("ids", "an array of job ids", ids)
    return [str(item) for item in ids]


_RANGE: Final = ("since", "until")


def _filter(call: Call, given: Mapping[str, JsonValue]) -> DeadLetterFilter:
    """Return a client's filter (section 9.1); an unknown attribute would match too much."""
    check_named(call, given)
    values = {_ALIASES.get(name, name): value for name, value in given.items() if value != ""}
    check_known(values, (*_TEXTS, *_RANGE), "The 'filter' object", is_listed=False)
    return DeadLetterFilter(
        queue=text_in(values, "queue"),
        type=text_in(values, "type"),
        error_type=text_in(values, "error_type"),
        since=instant_in(values, "since"),
        until=instant_in(values, "until"),
        view=call.request.caller.view,
    )


def _described(report: BulkReport, done: Literal["retried", "deleted"]) -> BulkAnswer:
    """Return the number of changed jobs, and the result of each."""
    results: list[BulkResult] = []
    for outcome in report.outcomes:
        status = done if outcome.status == "done" else str(outcome.status)
        result: BulkResult = {"id": outcome.job_id, "status": status}
        if outcome.reason:
            result["reason"] = outcome.reason
        results.append(result)
    return {
        **cast("BulkDone", {done: report.done}),
        "failed": len(results) - report.done,
        "results": results,
        **further(report.cursor),
    }


def _previewed(report: BulkReport, done: Literal["retried", "deleted"]) -> BulkAnswer:
    """Return what a dry run found: ``matched`` for each job that would be changed."""
    body = _described(report, done)
    for result in body["results"]:
        result["status"] = "matched" if result["status"] == done else result["status"]
    body["retried" if done == "retried" else "deleted"] = 0
    body["dry_run"], body["matched"] = True, report.done
    return body


def _is_admin(call: Call) -> bool:
    return "/admin/" in call.request.path
