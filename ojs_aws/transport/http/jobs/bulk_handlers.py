"""Handles operators' changes of many jobs: by a filter, or by ids (ojs-admin-api, section 8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from ojs_aws.domain.attributes import check_priority, invalid
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.services.bulk import MAX_BULK, BulkAction, BulkReport, BulkStatus
from ojs_aws.services.jobs.job_lists import JobFilter
from ojs_aws.transport.http.authorization import check_named
from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.members import (
    check_confirmed,
    check_known,
    flag_in,
    instant_in,
    number_in,
    object_in,
    states_in,
    text_in,
)
from ojs_aws.transport.http.queries import read_mark, write_mark

if TYPE_CHECKING:
    from ojs_aws.transport.http.jobs import models

_FILTER: Final = ("queue", "state", "type", "since", "until", "tag", "error")
_ALIASES: Final = {"states": "state", "older_than": "until", "before": "until", "after": "since"}


def filter_of(call: Call, given: Mapping[str, JsonValue]) -> JobFilter:
    """Return a filter from what a client sent; an unknown attribute would match too much."""
    check_named(call, given)
    values = {_ALIASES.get(name, name): value for name, value in given.items() if value}
    check_known(values, _FILTER)
    return JobFilter(
        queue=text_in(values, "queue"),
        type=text_in(values, "type"),
        states=states_in(values.get("state", []), "state", "one of"),
        since=instant_in(values, "since"),
        until=instant_in(values, "until"),
        tag=text_in(values, "tag"),
        error=text_in(values, "error"),
        view=call.request.caller.view,
    )


def publish_change(call: Call, operation: str, reports: Sequence[BulkReport]) -> None:
    """Publish one event for what a request changed: one write, and none if it met no job."""
    total = sum(len(report.outcomes) for report in reports)
    if total:
        done = sum(report.done for report in reports)
        call.backend.bulk.completion_events(operation, total, done, is_atomic=False, by=call.actor)


_MARK: Final = "b:"
_CONTROL: Final = frozenset({"confirm", "dry_run", "limit", "cursor", "as_of", "filter"})

MAX_ERRORS: Final = 100
"""Jobs that a bulk operation names of those that it could not change."""


def bulk_retry_jobs(call: Call) -> Answer[models.JobBulkAnswer]:
    """Retry the discarded jobs of a filter (section 8.1)."""
    return _bulk(call, BulkAction.RETRY)


def bulk_cancel_jobs(call: Call) -> Answer[models.JobBulkAnswer]:
    """Cancel the jobs of a filter that have not ended (section 8.2)."""
    return _bulk(call, BulkAction.CANCEL)


def bulk_delete_jobs(call: Call) -> Answer[models.JobBulkAnswer]:
    """Delete the jobs of a filter that have ended, for good (section 8.3)."""
    return _bulk(call, BulkAction.DELETE)


def bulk_reprioritise_jobs(call: Call) -> Answer[models.JobBulkAnswer]:
    """Give the jobs of a filter a priority (an extension); those that have it are left out."""
    given = call.values().get("priority")
    if given is None:
        raise invalid("priority", "an integer from -100 to 100", given)
    return _change(
        call,
        "reprioritise",
        partial(call.backend.bulk.by_filter.reprioritise, check_priority(given)),
    )


def _bulk(call: Call, action: BulkAction) -> Answer[models.JobBulkAnswer]:
    if "job_ids" in call.values():
        return _changed_named(call, action)
    return _change(call, action, partial(call.backend.bulk.by_filter, action))


def _change(
    call: Call, action: BulkAction | Literal["reprioritise"], change: Callable[..., BulkReport]
) -> Answer[models.JobBulkAnswer]:
    """Let a service change the jobs that the body's filter finds, and say what became of each."""
    values = call.values()
    if action == "reprioritise":
        values.pop("priority", None)  # it is no member of the filter
    is_dry = flag_in(values, "dry_run")
    check_confirmed(is_confirmed=is_dry or values.get("confirm") is True, has_dry_run=True)
    # What a dry run counted, the change meets; not what came into these states since.
    as_of = instant_in(values, "as_of") or (call.backend.clock.now() if is_dry else None)
    report = change(
        replace(filter_of(call, _given(values)), as_of=as_of),
        number_in(values, "limit", MAX_BULK),
        read_mark(_MARK, text_in(values, "cursor")),
        is_dry=is_dry,
        by=call.actor,
    )
    if not is_dry:
        publish_change(call, action, [report])
    body = _described(action, report, is_dry=is_dry)
    if report.cursor:
        body["next_cursor"] = write_mark(_MARK, report.cursor)
    if as_of is not None:
        body["as_of"] = format_instant(as_of)
    return Answer(body)


def _changed_named(call: Call, action: BulkAction) -> Answer[models.JobBulkAnswer]:
    """Change the jobs that the body names: exactly those that a dry run counted."""
    values = call.values()
    check_known(values, ("job_ids", "confirm"), "A change of named jobs")
    check_confirmed(is_confirmed=values.get("confirm") is True)
    ids = values["job_ids"]
    if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids):
        raise invalid("job_ids", "an array of job ids", ids)
    change = call.backend.bulk.by_filter.named
    view = call.request.caller.view
    report = change(action, [*map(str, ids)], view=view, by=call.actor)
    publish_change(call, action, [report])
    return Answer(_described(action, report, is_dry=False))


def _described(
    action: BulkAction | Literal["reprioritise"], report: BulkReport, *, is_dry: bool
) -> models.JobBulkAnswer:
    """Return what became of each job."""
    failed = [each for each in report.outcomes if each.status is not BulkStatus.DONE]
    body: models.JobBulkAnswer = {
        "action": action,
        "dry_run": is_dry,
        "matched": len(report.outcomes),
        "succeeded": 0 if is_dry else report.done,
        "failed": len(failed),
        "examined": report.examined,
        "job_ids": [each.job_id for each in report.outcomes if each.status is BulkStatus.DONE],
        "errors": [
            {"job_id": each.job_id, "status": str(each.status), "error": each.reason}
            for each in failed[:MAX_ERRORS]
        ],
        "has_more": bool(report.cursor),
    }
    if action is BulkAction.RETRY:
        body["retried"] = body["succeeded"]  # what the binding's OpenAPI document names it
    return body


def _given(values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the members of the filter: in ``filter``, or beside ``confirm``."""
    nested = object_in(values, "filter") or {}
    return {name: value for name, value in values.items() if name not in _CONTROL} | nested
