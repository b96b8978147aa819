"""Handles cron jobs (HTTP binding, section 13; ojs-cron, section 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast
from urllib.parse import quote

from ojs_aws.domain.cron.entry import CronEntry, Outcome
from ojs_aws.domain.cron.schedule import rare_days
from ojs_aws.domain.cron.transitions import coming_runs
from ojs_aws.domain.list_total import ListTotal
from ojs_aws.services.cron.service import Registration
from ojs_aws.transport.http.authorization import (
    bind_jobs,
    check_cron,
    check_cron_bounds,
    check_replaced,
    found_cron,
)
from ojs_aws.transport.http.calls import CREATED, Answer, Call
from ojs_aws.transport.http.cron import wire as shapes
from ojs_aws.transport.http.cron.changes import changed_registration
from ojs_aws.transport.http.json_of import JsonOf, json_of
from ojs_aws.transport.http.pages import read_mark, requested_page, write_mark
from ojs_aws.transport.http.queries import boolean_of
from ojs_aws.transport.http.routes import BASE

if TYPE_CHECKING:
    from ojs_aws.transport.http.cron import answers


MAX_PAGE_BYTES: Final = 700_000
"""Of the items of a page, which stand in the answer four times: Lambda answers 6 MB at most."""

NEXT_RUNS: Final = 5
"""Runs to come that the answer about one cron job names."""

_MARK: Final = "c:"


def register_cron(call: Call) -> Answer[answers.CronRegisteredAnswer]:
    """Register a cron job (201), or change the one with this name (200)."""
    wanted = shapes.read_registration(call.members(), call.backend.settings.max_depth)
    bind_jobs(call, [("", wanted.job)])
    check_replaced(call, wanted.name)
    entry, _ = call.backend.cron.service.register(wanted, call.actor)
    answer = cast("answers.CronRegisteredAnswer", shapes.entry_answer(entry))
    if warning := rare_days(entry.definition.expression):
        answer["warnings"] = [warning]
    location = f"{BASE}/cron/{quote(entry.name)}"
    return Answer(answer, CREATED, {"Location": location})


def list_crons(call: Call) -> Answer[answers.CronsAnswer]:
    """Return the cron jobs by name."""
    query = call.request.query
    wanted = requested_page(query)
    there = call.backend.cron.service.list(is_enabled=boolean_of(query, "enabled"))
    view = call.request.caller.view
    entries = [each for each in there if view.shows(each.definition.queue, each.definition.type)]
    after = read_mark(_MARK, wanted.cursor)
    rest = [entry for entry in entries if entry.name > after][wanted.offset :]
    items: list[JsonOf[answers.Cron]] = []
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


def get_cron(call: Call) -> Answer[answers.CronAnswer]:
    """Return one cron job, and when it runs next."""
    entry = found_cron(call)
    return Answer(shapes.entry_answer(entry, coming_runs(entry, NEXT_RUNS)))


def change_cron(call: Call) -> Answer[answers.CronAnswer]:
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


def pause_cron(call: Call) -> Answer[answers.CronAnswer]:
    """Disable a cron job."""
    return _enabled(call, is_enabled=False)


def resume_cron(call: Call) -> Answer[answers.CronAnswer]:
    """Enable a cron job."""
    return _enabled(call, is_enabled=True)


def _enabled(call: Call, *, is_enabled: bool) -> Answer[answers.CronAnswer]:
    check_cron(call)
    return Answer(
        shapes.entry_answer(
            call.backend.cron.service.set_enabled(
                call.named("name"), is_enabled=is_enabled, by=call.actor
            )
        )
    )


def delete_cron(call: Call) -> Answer[answers.CronDeletedAnswer]:
    """Remove a cron job."""
    check_cron(call)
    entry = call.backend.cron.service.delete(call.named("name"))
    return Answer({**shapes.entry_answer(entry), "deleted": True})


def trigger_cron(call: Call) -> Answer[answers.CronTriggerAnswer]:
    """Run a cron job now: 201 with the job's id, or 200 with the reason why not."""
    check_cron(call)
    entry, occurrence = call.backend.cron.service.trigger(call.named("name"), call.actor)
    body = shapes.trigger_answer(entry, occurrence)
    if occurrence.outcome is not Outcome.TRIGGERED:
        return Answer(body)
    return Answer(body, CREATED, {"Location": f"{BASE}/jobs/{occurrence.job_id}"})
