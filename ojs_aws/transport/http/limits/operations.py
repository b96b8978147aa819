"""Declares the operations on limits."""

from __future__ import annotations

from typing import Final

from ojs_aws.transport.http.access import ADMINISTERS, INSPECTS
from ojs_aws.transport.http.route import BASE, Group, Route

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        method="PUT",
        path=f"{BASE}/queues/<queue>/rate-limit",
        aliases=(f"{BASE}/admin/queues/<queue>/rate-limit",),
        operation="limit_queue",
        group=Group.OPERATOR,
        access=ADMINISTERS,
        home="limits.handlers",
        summary="Limit how the jobs of a queue begin",
        request="RateLimitBody",
        response="RateLimitAnswer",
        errors=(404,),
        needs_body=True,
    ),
    Route(
        method="DELETE",
        path=f"{BASE}/queues/<queue>/rate-limit",
        aliases=(f"{BASE}/admin/queues/<queue>/rate-limit",),
        operation="unlimit_queue",
        group=Group.OPERATOR,
        access=ADMINISTERS,
        home="limits.handlers",
        repeatable=True,
        summary="Limit the jobs of a queue no more",
        errors=(404,),
    ),
    Route(
        method="GET",
        path=f"{BASE}/rate-limits",
        operation="list_rate_limits",
        group=Group.OPERATOR,
        access=INSPECTS,
        home="limits.handlers",
        summary="List the limits with what they count",
        response="RateLimitsAnswer",
        query=("limit", "cursor", "page", "per_page"),
    ),
    Route(
        method="GET",
        path=f"{BASE}/rate-limits/<key>",
        operation="get_rate_limit",
        group=Group.OPERATOR,
        access=INSPECTS,
        home="limits.handlers",
        summary="What a limit counts now",
        response="RateLimitAnswer",
        errors=(404,),
    ),
    Route(
        method="PUT",
        path=f"{BASE}/rate-limits/<key>",
        aliases=(f"{BASE}/rate-limits/<key>/override",),
        operation="override_rate_limit",
        group=Group.OPERATOR,
        access=ADMINISTERS,
        home="limits.handlers",
        summary="Lay down what counts for a key, a queue or a job type",
        request="RateLimitOverrideBody",
        response="RateLimitAnswer",
        errors=(404,),
        needs_body=True,
    ),
    Route(
        method="DELETE",
        path=f"{BASE}/rate-limits/<key>",
        aliases=(f"{BASE}/rate-limits/<key>/override",),
        operation="lift_rate_limit",
        group=Group.OPERATOR,
        access=ADMINISTERS,
        home="limits.handlers",
        repeatable=True,
        summary="Undo what was laid down for a key",
        errors=(404,),
    ),
)
