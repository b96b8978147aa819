"""Handles queues (HTTP binding, section 11; ojs-admin-api, section 6)."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, unquote

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobState
from ojs_aws.domain.json_text import assemble, encode
from ojs_aws.domain.queues.config import DEFAULT_POLICY
from ojs_aws.domain.timestamps import parse_timestamp
from ojs_aws.ports import QueueInfo, QueueSettings, QueueState
from ojs_aws.services.queues.purge import Purge
from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.jobs.wire import page_answer
from ojs_aws.transport.http.members import check_confirmed
from ojs_aws.transport.http.negotiation import reader_of
from ojs_aws.transport.http.pages import read_mark, requested_page, write_mark
from ojs_aws.transport.http.queries import members_of, number_of, text_of
from ojs_aws.transport.http.queues import wire as shapes
from ojs_aws.transport.http.queues.wire import read_new_queue, read_settings
from ojs_aws.transport.http.routes import BASE

_MARK: Final = "q:"
_PURGED: Final = "p:"


def list_queues(call: Call) -> Answer:
    """Return the queues by name; the cursor names the last one shown."""
    query = call.request.query
    limit, offset = number_of(query, "limit"), number_of(query, "offset")
    after = read_mark(_MARK, text_of(query, "cursor"))
    queues, states = _queues(call)
    rest = [info for info in queues if info.name > after][offset:]
    shown = rest[:limit]
    body = page_answer(
        "queues",
        [encode(shapes.queue_members(info, states.get(info.name))) for info in shown],
        total=len(queues),
        limit=limit,
        offset=offset,
        cursor=write_mark(_MARK, shown[-1].name) if len(rest) > limit else "",
    )
    return Answer(body)


def list_queues_with_counts(call: Call) -> Answer:
    """Return the queues by name, with the number of each one's jobs."""
    wanted = requested_page(call.request.query)
    after = read_mark(_MARK, wanted.cursor)
    queues, states = _queues(call)
    rest = [info for info in queues if info.name > after][wanted.offset :]
    shown = rest[: wanted.limit]
    counts = call.backend.queue_statistics.counts
    items = [shapes.counted_queue(info, counts(info.name), states.get(info.name)) for info in shown]
    cursor = write_mark(_MARK, shown[-1].name) if len(rest) > wanted.limit else ""
    body = {
        "items": encode([{**item} for item in items]),
        "queues": encode([{**item} for item in items]),
        "pagination": encode(wanted.pagination(len(queues), cursor)),
        "total": encode(len(queues)),
    }
    return Answer(assemble(body))


def get_queue(call: Call) -> Answer:
    """Return one queue, with the number of its jobs."""
    name = _name(call)
    if name == DEFAULT_POLICY:
        return Answer(encode(shapes.configured_queue(call.backend.queue_config.get(name))))
    configured = call.backend.queue_config.get(name)
    info = configured.info or call.backend.queues.get(name)
    stats = call.backend.queue_statistics(info.name)
    today = call.backend.queue_statistics.today(info.name)
    oldest = call.backend.ports.store.oldest_ready(name) if stats.counts.depth else None
    return Answer(encode(shapes.queue_answer(info, stats, configured, today, oldest)))


def queue_stats(call: Call) -> Answer:
    """Return what a queue holds, and what it did in the last hour."""
    info = call.backend.queues.get(_name(call))
    stats = call.backend.queue_statistics(info.name)
    return Answer(encode(shapes.stats_answer(info, stats, reader_of(call.request))))


def priority_stats(call: Call) -> Answer:
    """Count the available jobs of a queue by priority (ojs-priority, section 10.3)."""
    info = call.backend.queues.get(_name(call))
    counts, is_exact = call.backend.ports.store.count_priorities(info.name)
    shown: dict[str, JsonValue] = {str(each): counts[each] for each in sorted(counts, reverse=True)}
    body: dict[str, JsonValue] = {
        "queue": info.name,
        "counts_by_priority": shown,
        "distribution": [{"priority": each, "count": counts[each]} for each in sorted(counts)],
        "total": sum(counts.values()),
        "is_exact": is_exact,
    }
    return Answer(encode(body))


def pause_queue(call: Call) -> Answer:
    """Stop fetches from a queue."""
    info = call.backend.queues.pause(_name(call))
    return Answer(encode(shapes.changed_queue(info, reader=reader_of(call.request))))


def resume_queue(call: Call) -> Answer:
    """Let workers fetch from a queue again."""
    name = _name(call)
    at = call.backend.queues.resume(name)
    call.backend.queue_config.undrain(name)
    info, reader = QueueInfo(name=name), reader_of(call.request)
    return Answer(encode(shapes.changed_queue(info, at, reader)))


def purge_queue(call: Call) -> Answer:
    """Purge the next jobs of a queue; ``next_cursor`` says that there may be more."""
    from ojs_aws.transport.http.queues.bodies import PurgeBody  # pydantic

    body = PurgeBody.model_validate(call.values())
    is_confirmed = body.confirm or body.dry_run
    check_confirmed(is_confirmed=is_confirmed, subject="A purge", has_dry_run=True)
    until = None if body.older_than is None else parse_timestamp(body.older_than, "older_than")
    states = tuple(dict.fromkeys(JobState(state) for state in body.states))
    wanted = Purge(queue=_name(call), states=states, until=until, is_dry=body.dry_run)
    report = call.backend.purge_queue(wanted, read_mark(_PURGED, body.cursor or ""))
    shown: list[JsonValue] = [str(state) for state in states]
    answer: dict[str, JsonValue] = {
        "purged_count": report.deleted + report.cancelled,
        "deleted": report.deleted,
        "cancelled": report.cancelled,
        "states": shown,
        "has_more": bool(report.cursor),
    }
    if body.dry_run:
        answer["dry_run"] = True
    if report.cursor:
        answer["next_cursor"] = write_mark(_PURGED, report.cursor)
    return Answer(encode(answer))


def _queues(call: Call) -> tuple[list[QueueInfo], dict[str, QueueSettings]]:
    """Return the existing queues and their settings; deleted ones are left out."""
    states = call.backend.queue_config.states()
    gone = {name for name, each in states.items() if each.state is QueueState.DELETED}
    return [info for info in call.backend.queues.list() if info.name not in gone], states


def _name(call: Call) -> str:
    return unquote(call.path["queue"])


def create_queue(call: Call) -> Answer:
    """Create a queue; 409 if it exists."""
    name, config = read_new_queue(call.values())
    configured = call.backend.queue_config.create(name, config)
    location = {"Location": f"{BASE}/queues/{quote(configured.name)}"}
    return Answer(encode(shapes.configured_queue(configured)), 201, location)


def get_queue_config(call: Call) -> Answer:
    """Return the settings that apply, and those that were set."""
    return Answer(encode(shapes.configured_queue(call.backend.queue_config.get(_name(call)))))


def change_queue_config(call: Call) -> Answer:
    """Set what the body names: all of it, or nothing."""
    configured = call.backend.queue_config.change(_name(call), read_settings(call.values()))
    return Answer(encode(shapes.configured_queue(configured)))


patch_queue_config = change_queue_config


def drain_queue(call: Call) -> Answer:
    """Let a queue take no new jobs."""
    return Answer(encode(shapes.configured_queue(call.backend.queue_config.drain(_name(call)))))


def delete_queue(call: Call) -> Answer:
    """Delete an empty queue; body or query name the strategy."""
    given = members_of(call.request.query) | call.values(optional=True)
    return Answer(encode(call.backend.queue_config.delete(_name(call), given)))
