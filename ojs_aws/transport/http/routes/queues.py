"""Queues."""

from __future__ import annotations

from typing import Final

from ojs_aws.transport.http.routes.route import BASE, Group, Route

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        method="GET",
        path=f"{BASE}/queues",
        operation="list_queues",
        group=Group.OPERATOR,
        home="queues",
        summary="List the queues",
        response="QueuesAnswer",
        query=("limit", "cursor", "offset"),
    ),
    Route(
        method="GET",
        path=f"{BASE}/admin/queues",
        operation="list_queues_with_counts",
        group=Group.OPERATOR,
        home="queues",
        summary="List the queues with how many jobs each has",
        response="CountedQueuesAnswer",
        query=("limit", "cursor", "offset", "page", "per_page"),
    ),
    Route(
        method="GET",
        path=f"{BASE}/queues/<queue>",
        aliases=(f"{BASE}/admin/queues/<queue>",),
        operation="get_queue",
        group=Group.OPERATOR,
        home="queues",
        summary="Read a queue with its statistics",
        response="QueueAnswer",
        errors=(404,),
    ),
    Route(
        method="GET",
        path=f"{BASE}/queues/<queue>/stats",
        aliases=(f"{BASE}/admin/queues/<queue>/stats",),
        operation="queue_stats",
        group=Group.OPERATOR,
        home="queues",
        summary="Count the jobs of a queue, and what it did in the last hour",
        response="QueueStatsAnswer",
        errors=(404,),
    ),
    Route(
        method="POST",
        path=f"{BASE}/queues/<queue>/pause",
        aliases=(f"{BASE}/admin/queues/<queue>/pause",),
        operation="pause_queue",
        group=Group.OPERATOR,
        home="queues",
        summary="Let nobody fetch from a queue",
        response="QueueAnswer",
        errors=(404,),
    ),
    Route(
        method="POST",
        path=f"{BASE}/queues/<queue>/resume",
        aliases=(f"{BASE}/admin/queues/<queue>/resume",),
        operation="resume_queue",
        group=Group.OPERATOR,
        home="queues",
        summary="Let workers fetch from a queue again",
        response="QueueAnswer",
        errors=(404,),
    ),
    Route(
        method="DELETE",
        path=f"{BASE}/queues/<queue>/jobs",
        aliases=(f"{BASE}/admin/queues/<queue>/jobs",),
        operation="purge_queue",
        group=Group.OPERATOR,
        home="queues",
        summary="Purge up to 100 jobs of a queue: ended ones are deleted, others cancelled",
        request="PurgeBody",
        response="PurgeAnswer",
        errors=(404,),
        needs_body=True,
    ),
)
