"""Handles queues and their bindings (ojs-admin-api, 6; ojs-serverless, 2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.lists import ListTotal
from ojs_aws.domain.queues import QueueInfo, QueueSettings, QueueState
from ojs_aws.domain.queues.config import DEFAULT_POLICY
from ojs_aws.domain.timestamps import format_instant, parse_timestamp
from ojs_aws.services.bulk.purge import Purge, PurgeReport
from ojs_aws.transport.http.calls import Answer, Call, json_of
from ojs_aws.transport.http.members import check_confirmed
from ojs_aws.transport.http.negotiation import reader_of
from ojs_aws.transport.http.queries import (
    RequestedPage,
    members_of,
    read_mark,
    requested_page,
    write_mark,
)
from ojs_aws.transport.http.queues import serializers as shapes
from ojs_aws.transport.http.queues.serializers import read_new_queue, read_settings
from ojs_aws.transport.http.routes import BASE

if TYPE_CHECKING:
    from ojs_aws.services.queues.bindings import BindingView
    from ojs_aws.transport.http.queues import models


_MARK: Final = "q:"
_PURGED: Final = "p:"


def list_queues(call: Call) -> Answer[models.QueuesAnswer]:
    """Return the queues by name; the cursor names the last one shown."""
    wanted = requested_page(call.request.query)
    shown, total, cursor = _page(call, wanted)
    pagination = wanted.pagination(ListTotal(total), cursor)
    queues = [shapes.queue_members(*each) for each in shown]
    return Answer({"queues": queues, "pagination": pagination, "total": total})


def list_queues_with_counts(call: Call) -> Answer[models.CountedQueuesAnswer]:
    """Return the queues by name, with the number of each one's jobs."""
    wanted = requested_page(call.request.query)
    shown, total, cursor = _page(call, wanted)
    counts = call.backend.queues.statistics.counts
    items = json_of([shapes.counted_queue(info, counts(info.name), own) for info, own in shown])
    pagination = wanted.pagination(ListTotal(total), cursor)
    return Answer({"items": items, "queues": items, "pagination": pagination, "total": total})


def _page(
    call: Call, wanted: RequestedPage
) -> tuple[list[tuple[QueueInfo, QueueSettings | None]], int, str]:
    """Return the queues of a page with their settings, how many there are, and the next cursor."""
    after = read_mark(_MARK, wanted.cursor)
    queues, states = _queues(call)
    rest = [info for info in queues if info.name > after][wanted.offset :]
    shown = [(info, states.get(info.name)) for info in rest[: wanted.limit]]
    mark = write_mark(_MARK, rest[wanted.limit - 1].name) if len(rest) > wanted.limit else ""
    return shown, len(queues), mark


def get_queue(call: Call) -> Answer[models.QueueAnswer | models.ConfiguredQueueAnswer]:
    """Return one queue, with the number of its jobs."""
    name = call.named("queue")
    if name == DEFAULT_POLICY:
        return get_queue_config(call)
    configured = call.backend.queues.config.get(name)
    info = configured.info or call.backend.queues.service.get(name)
    statistics = call.backend.queues.statistics
    stats, today = statistics(info.name), statistics.today(info.name)
    oldest = statistics.oldest_available(info.name, stats)
    return Answer(shapes.queue_answer(info, stats, configured, today, oldest))


def queue_stats(call: Call) -> Answer[models.QueueStatsAnswer]:
    """Return what a queue holds, and what it did in the last hour."""
    info = call.backend.queues.service.get(call.named("queue"))
    stats = call.backend.queues.statistics(info.name)
    return Answer(shapes.stats_answer(info, stats, reader_of(call.request)))


def priority_stats(call: Call) -> Answer[models.PriorityStatsAnswer]:
    """Count the available jobs of a queue by priority (ojs-priority, section 10.3)."""
    info = call.backend.queues.service.get(call.named("queue"))
    counts, is_exact = call.backend.queues.statistics.priorities(info.name)
    body: models.PriorityStatsAnswer = {
        "queue": info.name,
        "counts_by_priority": {str(at): counts[at] for at in sorted(counts, reverse=True)},
        "distribution": [{"priority": at, "count": counts[at]} for at in sorted(counts)],
        "total": sum(counts.values()),
        "is_exact": is_exact,
    }
    return Answer(body)


def pause_queue(call: Call) -> Answer[models.ChangedQueueAnswer]:
    """Stop fetches from a queue."""
    info = call.backend.queues.service.pause(call.named("queue"), call.actor)
    return Answer(shapes.changed_queue(info, reader=reader_of(call.request)))


def resume_queue(call: Call) -> Answer[models.ChangedQueueAnswer]:
    """Let workers fetch from a queue again."""
    name = call.named("queue")
    at = call.backend.queues.config.resume(name, call.actor)
    info, reader = QueueInfo(name=name), reader_of(call.request)
    return Answer(shapes.changed_queue(info, at, reader))


def purge_queue(call: Call) -> Answer[models.PurgeAnswer]:
    """Purge the next jobs of a queue; ``next_cursor`` says that there may be more."""
    from ojs_aws.transport.http.queues.models import PurgeBody  # pydantic

    body = PurgeBody.model_validate(call.values())
    check_confirmed("A purge", is_confirmed=body.confirm or body.dry_run, has_dry_run=True)
    until = None if body.older_than is None else parse_timestamp(body.older_than, "older_than")
    states = tuple(dict.fromkeys(JobState(state) for state in body.states))
    wanted = Purge(
        queue=call.named("queue"), states=states, until=until, is_dry=body.dry_run, by=call.actor
    )
    report = call.backend.queues.purge(wanted, read_mark(_PURGED, body.cursor or ""))
    record_purge(call, wanted, [report])
    answer = shapes.purge_answer(wanted, [report])
    if body.dry_run:
        answer["dry_run"] = True
    if report.cursor:
        answer["next_cursor"] = write_mark(_PURGED, report.cursor)
    return Answer(answer)


def record_purge(call: Call, wanted: Purge, reports: Sequence[PurgeReport]) -> None:
    """Publish who purged a queue: one write, and none if nothing was changed."""
    deleted = sum(report.deleted for report in reports)
    cancelled = sum(report.cancelled for report in reports)
    if not wanted.is_dry and (deleted or cancelled):
        target: dict[str, JsonValue] = {
            "queue": wanted.queue,
            "states": [*map(str, wanted.states)],
            "deleted": deleted,
            "cancelled": cancelled,
        }
        call.backend.audit("purge_queue", target, call.actor)


def _queues(call: Call) -> tuple[list[QueueInfo], dict[str, QueueSettings]]:
    """Return the caller's existing queues and their settings; deleted ones are left out."""
    caller = call.request.caller
    states = call.backend.queues.config.states()
    gone = {name for name, each in states.items() if each.state is QueueState.DELETED}
    infos = call.backend.queues.service.list()
    return [each for each in infos if each.name not in gone and caller.may_touch(each.name)], states


def create_queue(call: Call) -> Answer[models.ConfiguredQueueAnswer]:
    """Create a queue; 409 if it exists."""
    name, config = read_new_queue(call.values())
    configured = call.backend.queues.config.create(name, config, call.actor)
    location = {"Location": f"{BASE}/queues/{quote(configured.name)}"}
    return Answer(shapes.configured_queue(configured), 201, location)


def get_queue_config(call: Call) -> Answer[models.ConfiguredQueueAnswer]:
    """Return the settings that apply, and those that were set."""
    return Answer(shapes.configured_queue(call.backend.queues.config.get(call.named("queue"))))


def change_queue_config(call: Call) -> Answer[models.ConfiguredQueueAnswer]:
    """Set what the body names: all of it, or nothing."""
    configured = call.backend.queues.config.change(
        call.named("queue"), read_settings(call.values()), call.actor
    )
    return Answer(shapes.configured_queue(configured))


def drain_queue(call: Call) -> Answer[models.ConfiguredQueueAnswer]:
    """Let a queue take no new jobs."""
    drained = call.backend.queues.config.drain(call.named("queue"), call.actor)
    return Answer(shapes.configured_queue(drained))


def delete_queue(call: Call) -> Answer[models.QueueDeletionAnswer]:
    """Delete an empty queue; body or query name the strategy."""
    given = members_of(call.request.query) | call.values(optional=True)
    done = call.backend.queues.config.delete(call.named("queue"), given, call.actor)
    return Answer(cast("models.QueueDeletionAnswer", done))


def list_bindings(call: Call) -> Answer[models.BindingsAnswer]:
    """Return the bindings that a queue has or may have."""
    found = call.backend.queues.bindings.list(call.named("queue"))
    items = json_of([_shown(each) for each in found])
    return Answer({"items": items, "bindings": items})


def get_binding(call: Call) -> Answer[models.BindingAnswer]:
    """Return one binding."""
    return _answer(call.backend.queues.bindings.get(call.named("queue"), call.named("name")))


def put_binding(call: Call) -> Answer[models.BindingAnswer]:
    """Let a binding serve these job types."""
    from ojs_aws.transport.http.admin_requests import BindingBody  # pydantic

    values = call.values()
    body = BindingBody.model_validate(values)
    if "queues" in values:
        message = "'queues' of a binding is what the stack says, and cannot be registered."
        raise field_error("queues", message, "Name the queue in the path; the stack allows it.")
    queue, name = call.named("queue"), call.named("name")
    found = call.backend.queues.bindings.put(
        queue, name, [*body.job_types], body.endpoint, values.get("config")
    )
    return _answer(found)


def delete_binding(call: Call) -> Answer[models.BindingAnswer]:
    """Forget the registered job types of a binding."""
    return _answer(call.backend.queues.bindings.delete(call.named("queue"), call.named("name")))


def suspend_binding(call: Call) -> Answer[models.BindingAnswer]:
    """Suspend a binding: nothing is dispatched to it until somebody resumes it."""
    queue, name = call.named("queue"), call.named("name")
    return _answer(call.backend.queues.bindings.suspend(queue, name, str(call.actor)))


def resume_binding(call: Call) -> Answer[models.BindingAnswer]:
    """Dispatch to a binding again."""
    return _answer(call.backend.queues.bindings.resume(call.named("queue"), call.named("name")))


def _answer(view: BindingView) -> Answer[models.BindingAnswer]:
    shown = _shown(view)
    return Answer({"binding": shown, **shown})


def _shown(view: BindingView) -> models.Binding:
    shown: models.Binding = {
        "name": view.name,
        "queue": view.queue,
        "kind": cast("Any", view.kind),
        "job_types": [*view.types],
        "is_registered": view.is_registered,
        "state": "active" if view.suspension is None else "suspended",
    }
    if view.endpoint:
        shown["endpoint"] = view.endpoint
    if config := view.config.render():
        shown["config"] = cast("models.BindingConfigEntry", config)
    if view.suspension is not None:
        shown["reason"] = view.suspension.reason
        shown["suspended_at"] = format_instant(view.suspension.since)
    return shown
