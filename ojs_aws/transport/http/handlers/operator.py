"""The operations of operators: queues, cron jobs, dead letters, schemas, events, workers."""

from __future__ import annotations

from ojs_aws.domain.events import render_event
from ojs_aws.domain.json_text import assemble, assemble_array, encode
from ojs_aws.transport.http.calls import Answer, Call
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
from ojs_aws.transport.http.handlers.dead_letters import (
    dead_letter_stats,
    delete_dead_letter,
    delete_dead_letters,
    get_dead_letter,
    list_dead_letters,
    purge_dead_letters,
    retry_dead_letter,
    retry_dead_letters,
)
from ojs_aws.transport.http.handlers.limits import (
    get_rate_limit,
    limit_queue,
    list_rate_limits,
    unlimit_queue,
)
from ojs_aws.transport.http.handlers.queues import (
    get_queue,
    list_queues,
    list_queues_with_counts,
    pause_queue,
    purge_queue,
    queue_stats,
    resume_queue,
)
from ojs_aws.transport.http.handlers.schemas import (
    delete_schema,
    delete_schema_version,
    get_schema,
    get_schema_version,
    list_schema_versions,
    list_schemas,
    put_schema,
    register_schema,
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
from ojs_aws.transport.http.handlers.workflows import list_workflows

__all__ = [
    "change_cron",
    "dead_letter_stats",
    "delete_cron",
    "delete_dead_letter",
    "delete_dead_letters",
    "delete_schema",
    "delete_schema_version",
    "deregister_worker",
    "get_cron",
    "get_dead_letter",
    "get_queue",
    "get_rate_limit",
    "get_schema",
    "get_schema_version",
    "get_worker",
    "limit_queue",
    "list_crons",
    "list_dead_letters",
    "list_events",
    "list_queues",
    "list_queues_with_counts",
    "list_rate_limits",
    "list_schema_versions",
    "list_schemas",
    "list_workers",
    "list_workflows",
    "pause_cron",
    "pause_queue",
    "purge_dead_letters",
    "purge_queue",
    "put_schema",
    "queue_stats",
    "quiet_worker",
    "quiet_workers",
    "register_cron",
    "register_schema",
    "resume_cron",
    "resume_queue",
    "resume_worker",
    "resume_workers",
    "retry_dead_letter",
    "retry_dead_letters",
    "terminate_worker",
    "terminate_workers",
    "trigger_cron",
    "unlimit_queue",
]


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
