"""Declares the operations on the event log."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.route import INSPECTS_JOB, INSPECTS_NAMED, INSPECTS_QUEUE, Group, Route

EVENT_STREAM: Final = "text/event-stream"

_stream = functools.partial(
    Route,
    group=Group.OPERATOR,
    module="events.stream_handlers",
    media_type=EVENT_STREAM,
    statuses=(200, 204),
)

# fmt: off
ROUTES: Final[tuple[Route, ...]] = (
    Route("GET /events", "list_events", INSPECTS_NAMED,
        "Read the lifecycle events", group=Group.OPERATOR, module="events.handlers",
        query=("types", "event_type", "queues", "queue", "job_types", "job_type", "job_id", "since",
               "event_limit", "cursor", "after", "page", "per_page")),
    _stream("GET /events/stream", "stream_events", INSPECTS_NAMED,
        "Follow events as server-sent events: of a job, a queue, or all",
        query=("channel", "event_types", "types", "queues", "queue", "job_types", "job_type",
               "last_event_id"),
        errors=(404,)),
    _stream("GET /jobs/<job_id>/events", "stream_job_events", INSPECTS_JOB,
        "Follow a job as server-sent events, until it has ended",
        query=("event_types", "last_event_id")),
    _stream("GET /queues/<queue>/events", "stream_queue_events", INSPECTS_QUEUE,
        "Follow the events of a queue as server-sent events",
        query=("event_types", "job_types", "job_type", "last_event_id")),
)
