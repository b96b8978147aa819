"""Handles cron jobs (HTTP binding, section 13; ojs-cron, section 8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast
from urllib.parse import quote

from ojs_aws.domain.attributes import invalid
from ojs_aws.domain.cron.entry import CronEntry, Outcome
from ojs_aws.domain.cron.schedule import rare_days
from ojs_aws.domain.cron.transitions import coming_runs
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.jobs.lists import ListTotal
from ojs_aws.domain.json_text import ANY_DEPTH, Member, RawJson, assemble, parse_object
from ojs_aws.services.cron.service import Registration
from ojs_aws.transport.http.authorization import (
    bind_jobs,
    check_cron,
    check_cron_bounds,
    check_replaced,
    found_cron,
    may_see_cron,
)
from ojs_aws.transport.http.calls import CREATED, Answer, Call, JsonOf, json_of
from ojs_aws.transport.http.cron import serializers as shapes
from ojs_aws.transport.http.jobs.envelope import read_job
from ojs_aws.transport.http.queries import boolean_of, read_mark, requested_page, write_mark
from ojs_aws.transport.http.routes import BASE

_OWN: Final = ("cron", "expression", "timezone", "overlap_policy", "enabled", "description")
_JOB: Final = ("type", "args", "meta", "options")
_ALLOWED: Final = frozenset({*_OWN, *_JOB, "job_template"})
_MADE: Final = frozenset({"id", "specversion"})
"""Members of an envelope that are new for each run."""


def changed_registration(
    entry: CronEntry, members: Mapping[str, Member], max_depth: int
) -> Registration:
    """Return the registration of a cron job after a change.

    :raises InvalidRequestError: naming a member that cannot be changed, or nothing is named.
    """
    others: list[JsonValue] = [*sorted(members.keys() - _ALLOWED)]
    if others or not members:
        raise InvalidRequestError(
            f"A cron job has no '{str(others[0])[:80]}' that can be changed."
            if others
            else "The body names nothing to change.",
            details={
                "field": str(others[0])[:80] if others else "enabled",
                "allowed": [*sorted(_ALLOWED)],
            },
            hint="To change anything else, register the cron job again under its name.",
        )
    defined = entry.definition

    def given(name: str, kept: JsonValue) -> JsonValue:
        return members[name].value if name in members else kept

    job = _job_members(members, max_depth)
    overlap = given("overlap_policy", str(defined.overlap))
    return Registration(
        name=entry.name,
        expression=given("cron", given("expression", defined.expression)),
        timezone=given("timezone", defined.timezone),
        overlap="cancel_previous" if overlap == "cancel" else overlap,
        is_enabled=given("enabled", defined.is_enabled),
        description=given("description", defined.description),
        document=_document(defined.document, job, max_depth),
        job=_envelope(defined.envelope, job, max_depth),
    )


def _job_members(members: Mapping[str, Member], max_depth: int) -> Mapping[str, Member]:
    template = members.get("job_template")
    if template is None or template.value is None:
        return {name: members[name] for name in _JOB if name in members}
    if not isinstance(template.value, dict):
        raise invalid("job_template", "an object", template.value)
    return parse_object(template.raw, max_depth=max_depth)


def _document(kept: RawJson, job: Mapping[str, Member], max_depth: int) -> RawJson:
    """Return the job after a change: options one by one, other members as a whole."""
    shown = {name: member.raw for name, member in parse_object(kept, max_depth=ANY_DEPTH).items()}
    before = parse_object(shown.get("options", RawJson("{}")), max_depth=ANY_DEPTH)
    for name in _JOB:
        if name in job and name != "options":
            shown[name] = job[name].raw
    if isinstance(job.get("options", Member(RawJson("{}"), {})).value, dict) and "options" in job:
        options = {**before, **parse_object(job["options"].raw, max_depth=max_depth)}
        shown["options"] = assemble({name: member.raw for name, member in options.items()})
    return assemble(shown)


def _envelope(kept: RawJson, job: Mapping[str, Member], max_depth: int) -> Job:
    """Return the envelope of the runs; both are canonical, so that names agree."""
    before = parse_object(kept, max_depth=ANY_DEPTH)
    after = parse_object(RawJson(read_job(job, max_depth).to_json()), max_depth=ANY_DEPTH)
    merged = {**before, **{name: each for name, each in after.items() if name not in _MADE}}
    return Job.from_members({name: member.raw for name, member in merged.items()})


MAX_PAGE_BYTES: Final = 700_000
"""Of the items of a page, which stand in the answer four times: Lambda answers 6 MB at most."""

NEXT_RUNS: Final = 5
"""Runs to come that the answer about one cron job names."""

_MARK: Final = "c:"


def register_cron(call: Call) -> Answer[shapes.CronRegisteredAnswer]:
    """Register a cron job (201), or change the one with this name (200)."""
    wanted = shapes.read_registration(call.members(), call.backend.settings.max_depth)
    bind_jobs(call, [("", wanted.job)])
    check_replaced(call, wanted.name)
    entry, _ = call.backend.cron.service.register(wanted, call.actor)
    answer = cast("shapes.CronRegisteredAnswer", shapes.entry_answer(entry))
    if warning := rare_days(entry.definition.expression):
        answer["warnings"] = [warning]
    location = f"{BASE}/cron/{quote(entry.name)}"
    return Answer(answer, CREATED, {"Location": location})


def list_crons(call: Call) -> Answer[shapes.CronsAnswer]:
    """Return the cron jobs by name."""
    query = call.request.query
    wanted = requested_page(query)
    there = call.backend.cron.service.list(is_enabled=boolean_of(query, "enabled"))
    view = call.request.caller.view
    entries = [each for each in there if may_see_cron(view, each.definition)]
    after = read_mark(_MARK, wanted.cursor)
    rest = [entry for entry in entries if entry.name > after][wanted.offset :]
    items: list[JsonOf[shapes.Cron]] = []
    size = 0
    for entry in rest[: wanted.limit]:
        item = json_of(shapes.render_entry(entry))
        size += len(item.encode())
        if items and size > MAX_PAGE_BYTES:
            break
        items.append(item)
    last = rest[len(items) - 1].name if len(items) < len(rest) else ""
    return Answer(
        shapes.list_answer(
            items, wanted.pagination(ListTotal(len(entries)), write_mark(_MARK, last))
        )
    )


def get_cron(call: Call) -> Answer[shapes.CronAnswer]:
    """Return one cron job, and when it runs next."""
    entry = found_cron(call)
    return Answer(shapes.entry_answer(entry, coming_runs(entry, NEXT_RUNS)))


def change_cron(call: Call) -> Answer[shapes.CronAnswer]:
    """Enable or disable a cron job, or change the members that are named."""
    members = call.members()
    check_cron(call)
    if set(members) == {"enabled"}:
        return _enabled(call, is_enabled=shapes.read_enabled(members["enabled"].value))

    def amended(entry: CronEntry) -> Registration:
        check_cron_bounds(call, entry.definition)
        wanted = changed_registration(entry, members, call.backend.settings.max_depth)
        bind_jobs(call, [("", wanted.job)])
        return wanted

    return Answer(
        shapes.entry_answer(
            call.backend.cron.service.change(call.named("name"), amended, call.actor)
        )
    )


def pause_cron(call: Call) -> Answer[shapes.CronAnswer]:
    """Disable a cron job."""
    return _enabled(call, is_enabled=False)


def resume_cron(call: Call) -> Answer[shapes.CronAnswer]:
    """Enable a cron job."""
    return _enabled(call, is_enabled=True)


def _enabled(call: Call, *, is_enabled: bool) -> Answer[shapes.CronAnswer]:
    check_cron(call)
    return Answer(
        shapes.entry_answer(
            call.backend.cron.service.set_enabled(
                call.named("name"), is_enabled=is_enabled, by=call.actor
            )
        )
    )


def delete_cron(call: Call) -> Answer[shapes.CronDeletedAnswer]:
    """Remove a cron job."""
    check_cron(call)
    entry = call.backend.cron.service.delete(call.named("name"))
    return Answer({**shapes.entry_answer(entry), "deleted": True})


def trigger_cron(call: Call) -> Answer[shapes.CronTriggerAnswer]:
    """Run a cron job now: 201 with the job's id, or 200 with the reason why not."""
    check_cron(call)
    entry, occurrence = call.backend.cron.service.trigger(call.named("name"), call.actor)
    body = shapes.trigger_answer(entry, occurrence)
    if occurrence.outcome is not Outcome.TRIGGERED:
        return Answer(body)
    return Answer(body, CREATED, {"Location": f"{BASE}/jobs/{occurrence.job_id}"})
