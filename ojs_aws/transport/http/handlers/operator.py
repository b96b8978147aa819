"""The operations of operators: queues, dead letters and events (HTTP binding, 11 and 12)."""

from __future__ import annotations

from typing import Final

from ojs_aws.domain.events import render_event
from ojs_aws.domain.json_text import assemble, assemble_array, encode
from ojs_aws.services.render import render_job
from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.dialects.answers import (
    changed_job,
    job_answer,
    page_answer,
    queue_item,
)
from ojs_aws.transport.http.dialects.pages import read_mark, write_mark
from ojs_aws.transport.http.event_queries import read_events
from ojs_aws.transport.http.handlers.cron import (
    change_cron,
    delete_cron,
    get_cron,
    list_crons,
    pause_cron,
    register_cron,
    resume_cron,
    trigger_cron,
)
from ojs_aws.transport.http.handlers.workers import (
    deregister_worker,
    get_worker,
    list_workers,
    quiet_worker,
    quiet_workers,
    resume_worker,
    resume_workers,
    terminate_worker,
    terminate_workers,
)
from ojs_aws.transport.http.queries import number_of, text_of

__all__ = [
    "change_cron",
    "delete_cron",
    "delete_dead_letter",
    "deregister_worker",
    "get_cron",
    "get_worker",
    "list_crons",
    "list_dead_letters",
    "list_events",
    "list_queues",
    "list_workers",
    "pause_cron",
    "quiet_worker",
    "quiet_workers",
    "register_cron",
    "resume_cron",
    "resume_worker",
    "resume_workers",
    "retry_dead_letter",
    "terminate_worker",
    "terminate_workers",
    "trigger_cron",
]

_MARK: Final = "q:"


def list_queues(call: Call) -> Answer:
    """The queues by name; the cursor names the last one shown."""
    query = call.request.query
    limit, offset = number_of(query, "limit"), number_of(query, "offset")
    after = read_mark(_MARK, text_of(query, "cursor"))
    queues = call.backend.queues.list()
    rest = [info for info in queues if info.name > after][offset:]
    shown = rest[:limit]
    body = page_answer(
        "queues",
        [queue_item(info) for info in shown],
        total=len(queues),
        limit=limit,
        offset=offset,
        cursor=write_mark(_MARK, shown[-1].name) if len(rest) > limit else "",
    )
    return Answer(body)


def list_dead_letters(call: Call) -> Answer:
    """Discarded jobs whose policy keeps them for an operator."""
    query = call.request.query
    limit, offset = number_of(query, "limit"), number_of(query, "offset")
    page = call.backend.dead_letters.list(
        text_of(query, "queue") or None, limit, text_of(query, "cursor"), offset
    )
    body = page_answer(
        "jobs",
        [assemble(render_job(record)) for record in page.jobs],
        total=page.total,
        limit=limit,
        offset=offset,
        cursor=page.cursor,
    )
    return Answer(body)


def retry_dead_letter(call: Call) -> Answer:
    """Enqueue a discarded job again."""
    job = changed_job(call.backend.dead_letters.retry(call.job_id))
    more = {"previous_state": encode("discarded")}
    if "enqueued_at" in job:
        more["re_enqueued_at"] = job["enqueued_at"]
    return Answer(job_answer(job, more))


def delete_dead_letter(call: Call) -> Answer:
    """Remove a discarded job for good."""
    call.backend.dead_letters.delete(call.job_id)
    return Answer(encode({"deleted": True, "job_id": call.job_id, "id": call.job_id}))


def list_events(call: Call) -> Answer:
    """Lifecycle events in the order of the log (ojs-events, section 6.4)."""
    page = read_events(call.backend.events, call.request.query)
    body = assemble(
        {
            "events": assemble_array(render_event(event) for event in page.events),
            "cursor": encode(page.cursor),
            "has_more": encode(page.has_more),
        }
    )
    return Answer(body)
