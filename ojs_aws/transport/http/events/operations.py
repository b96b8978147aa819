"""Declares the operations on the event log."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.access import INSPECTS_JOB, INSPECTS_NAMED, INSPECTS_QUEUE
from ojs_aws.transport.http.route import BASE, Group, Route

EVENT_STREAM: Final = "text/event-stream"

_stream = functools.partial(
    Route,
    group=Group.OPERATOR,
    home="events.stream_handlers",
    media_type=EVENT_STREAM,
    statuses=(200, 204),
)

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        at=f"GET {BASE}/events",
        operation="list_events",
        group=Group.OPERATOR,
        access=INSPECTS_NAMED,
        home="events.handlers",
        summary="Read the lifecycle events",
        query=(
            "types",
            "event_type",
            "queues",
            "queue",
            "job_types",
            "job_type",
            "job_id",
            "since",
            "event_limit",
            "cursor",
            "after",
            "page",
            "per_page",
        ),
    ),
    _stream(
        at=f"GET {BASE}/events/stream",
        operation="stream_events",
        access=INSPECTS_NAMED,
        summary="Follow events as server-sent events: of a job, a queue, or all",
        query=(
            "channel",
            "event_types",
            "types",
            "queues",
            "queue",
            "job_types",
            "job_type",
            "last_event_id",
        ),
        errors=(404,),
    ),
    _stream(
        at=f"GET {BASE}/jobs/<job_id>/events",
        operation="stream_job_events",
        access=INSPECTS_JOB,
        summary="Follow a job as server-sent events, until it has ended",
        query=("event_types", "last_event_id"),
    ),
    _stream(
        at=f"GET {BASE}/queues/<queue>/events",
        operation="stream_queue_events",
        access=INSPECTS_QUEUE,
        summary="Follow the events of a queue as server-sent events",
        query=("event_types", "job_types", "job_type", "last_event_id"),
    ),
)
