"""Reads and writes cron jobs in the forms of ojs-cron, the binding and the OpenAPI.

A registration names its job by ``type``, ``args`` and ``options``, or by a ``job_template`` that
holds them; its expression is ``cron`` or ``expression``. Answers have every form at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NotRequired

from typing_extensions import TypedDict

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.cron.entry import (
    CronDefinition,
    CronEntry,
    Occurrence,
    Outcome,
    OverlapPolicy,
)
from ojs_aws.domain.cron.entry import Outcome as CronOutcome
from ojs_aws.domain.cron.occurrences import DEFAULT_TIMEZONE
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import Member, RawJson, assemble, parse_object, stored_texts
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.services.cron.service import Registration
from ojs_aws.transport.http.answers import JsonObject, Pagination, Timestamp
from ojs_aws.transport.http.calls import JsonOf, array_of, beside_texts, json_of
from ojs_aws.transport.http.jobs.envelope import ENVELOPE_OPTIONS, read_job
from ojs_aws.transport.http.members import malformed

_JOB: Final = ENVELOPE_OPTIONS | {"type", "args", "options"}
"""Members of a flat registration that are the job's."""

_SHOWN: Final = ("type", "args", "meta", "options")
_POLICIES: Final[Mapping[str, str]] = {"cancel": OverlapPolicy.CANCEL_PREVIOUS}


class CronOccurrence(TypedDict):
    """Says how an occurrence ended."""

    outcome: CronOutcome
    scheduled_at: Timestamp
    at: Timestamp
    job_id: NotRequired[str]
    reason: NotRequired[str]
    active_job_id: NotRequired[str]


class CronTemplate(TypedDict):
    """Shows the job that a cron job pushes, as it was registered."""

    type: JsonOf[str]
    args: JsonOf[list[Any]]
    options: JsonOf[JsonObject]
    meta: NotRequired[JsonOf[JsonObject]]


class CronNotes(TypedDict, total=False):
    """Holds what people wrote about a cron job, and the next runs where one is asked for."""

    description: str
    next_runs: list[Timestamp]


class CronMembers(CronTemplate, CronNotes):
    """Holds what an answer shows of a cron job, but for ``cron``."""

    id: str
    name: str
    schedule: str
    expression: str
    timezone: str
    job_template: JsonOf[CronTemplate]
    queue: str
    overlap_policy: OverlapPolicy
    enabled: bool
    status: Literal["active", "paused"]
    last_run_at: Timestamp | None
    next_run_at: Timestamp | None
    run_count: int
    last_occurrence: CronOccurrence | None
    created_at: Timestamp
    updated_at: Timestamp


class Cron(CronMembers):
    """Shows a cron job; ``cron`` is its expression."""

    cron: str


class CronAnswer(CronMembers):
    """Shows one cron job in each wrapper, and flat; ``cron`` is then a wrapper."""

    cron: JsonOf[Cron]
    cron_job: JsonOf[Cron]


class CronRegisteredAnswer(CronAnswer):
    """Shows a registered cron job, and warns of an expression that seldom matches."""

    warnings: NotRequired[list[str]]


class CronDeletedAnswer(CronAnswer):
    """Shows a cron job that was removed."""

    deleted: bool


class CronTriggerAnswer(CronAnswer):
    """Says whether a cron job ran, or why not."""

    triggered: bool
    job_id: str | None
    reason: str | None
    active_job_id: str | None


class CronsAnswer(TypedDict):
    """Shows a page of cron jobs under each name that clients look for."""

    crons: JsonOf[list[Cron]]
    cron_jobs: JsonOf[list[Cron]]
    entries: JsonOf[list[Cron]]
    items: JsonOf[list[Cron]]
    count: int
    pagination: Pagination
    total: int


def read_registration(members: Mapping[str, Member], max_depth: int) -> Registration:
    """Return the registration in a body. Members that only the system sets are ignored.

    :raises InvalidRequestError: ``job_template`` is no object.
    """

    def given(name: str, default: JsonValue = None) -> JsonValue:
        member = members.get(name)
        return default if member is None or member.value is None else member.value

    overlap = given("overlap_policy", OverlapPolicy.SKIP.value)
    job = _job_members(members, max_depth)
    # Each run has an id of its own; null says as much as nothing.
    envelope = {name: m for name, m in job.items() if name != "id" and m.value is not None}
    envelope.setdefault("args", Member(RawJson("[]"), []))
    return Registration(
        name=given("name"),
        expression=given("cron", given("expression")),
        timezone=given("timezone", DEFAULT_TIMEZONE),
        overlap=_POLICIES.get(overlap, overlap) if isinstance(overlap, str) else overlap,
        is_enabled=given("enabled", default=True),
        description=given("description"),
        document=assemble({name: envelope[name].raw for name in _SHOWN if name in envelope}),
        job=read_job(envelope, max_depth),
    )


def _job_members(members: Mapping[str, Member], max_depth: int) -> Mapping[str, Member]:
    template = members.get("job_template")
    if template is None or template.value is None:
        return {name: member for name, member in members.items() if name in _JOB}
    if not isinstance(template.value, dict):
        raise malformed("job_template", "an object", template)
    return parse_object(template.raw, max_depth=max_depth)


def read_enabled(value: JsonValue) -> bool:
    """Return the ``enabled`` of a PATCH that names nothing else (section 8.5).

    :raises InvalidRequestError: it is no boolean.
    """
    if isinstance(value, bool):
        return value
    message = "The body must say whether the cron job is enabled, and nothing else."
    hint = "To change anything else, register the cron job again under its name."
    raise field_error("enabled", message, hint, expected='{"enabled": true} or {"enabled": false}')


def render_entry(entry: CronEntry, next_runs: Sequence[Instant] | None = None) -> Cron:
    """Return a cron job with every field that a document or a client reads.

    :param next_runs: the runs to come, if they are to be shown.
    """
    defined = entry.definition
    job = _template(defined)
    described: CronNotes = {}
    if defined.description is not None:
        described["description"] = defined.description
    if next_runs is not None:
        described["next_runs"] = [format_instant(at) for at in next_runs]
    return {
        "id": entry.name,
        "name": entry.name,
        "schedule": defined.expression,
        "cron": defined.expression,
        "expression": defined.expression,
        "timezone": defined.timezone,
        **job,
        "job_template": json_of(job),
        "queue": defined.queue,
        "overlap_policy": defined.overlap,
        "enabled": defined.is_enabled,
        "status": "active" if defined.is_enabled else "paused",
        **described,
        "last_run_at": _instant(entry.last_run_at),
        "next_run_at": _instant(entry.next_run_at),
        "run_count": entry.run_count,
        "last_occurrence": _occurrence(entry.latest),
        "created_at": format_instant(entry.created_at),
        "updated_at": format_instant(entry.updated_at),
    }


def _template(defined: CronDefinition) -> CronTemplate:
    """Return the job as it was registered: its members are the client's own text."""
    template: CronTemplate = {
        "type": json_of(defined.type),
        "args": JsonOf("[]"),
        "options": JsonOf("{}"),
    }
    return beside_texts(template, stored_texts(defined.document))


def _instant(instant: Instant | None) -> str | None:
    return None if instant is None else format_instant(instant)


def _occurrence(occurrence: Occurrence | None) -> CronOccurrence | None:
    """Return how an occurrence ended; null if there was none."""
    if occurrence is None:
        return None
    members: CronOccurrence = {
        "outcome": occurrence.outcome,
        "scheduled_at": format_instant(occurrence.scheduled_at),
        "at": format_instant(occurrence.claimed_at),
    }
    if occurrence.job_id:
        members["job_id"] = occurrence.job_id
    if occurrence.reason:
        members["reason"] = occurrence.reason
    if occurrence.blocked_by:
        members["active_job_id"] = occurrence.blocked_by
    return members


def entry_answer(entry: CronEntry, next_runs: Sequence[Instant] | None = None) -> CronAnswer:
    """Return one cron job in each wrapper, and flat; ``cron`` is then the wrapper."""
    rendered = render_entry(entry, next_runs)
    wrapped = json_of(rendered)
    return {**rendered, "cron": wrapped, "cron_job": wrapped}


def list_answer(items: Sequence[JsonOf[Cron]], pagination: Pagination) -> CronsAnswer:
    """Return a page of cron jobs under each name that clients look for."""
    entries = array_of(items)
    return {
        "crons": entries,
        "cron_jobs": entries,
        "entries": entries,
        "items": entries,
        "count": len(items),
        "pagination": pagination,
        "total": pagination["total"],
    }


def trigger_answer(entry: CronEntry, occurrence: Occurrence) -> CronTriggerAnswer:
    """Return the result of a trigger by hand."""
    is_triggered = occurrence.outcome is Outcome.TRIGGERED
    return {
        **entry_answer(entry),
        "triggered": is_triggered,
        "job_id": occurrence.job_id if is_triggered else None,
        "reason": occurrence.reason or None,
        "active_job_id": occurrence.blocked_by or None,
    }
