"""Declares the operations on limits."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.access import ADMINISTERS, INSPECTS
from ojs_aws.transport.http.route import BASE, Group, Route

_operator = functools.partial(Route, group=Group.OPERATOR, home="limits.handlers")

ROUTES: Final[tuple[Route, ...]] = (
    _operator(
        method="PUT",
        path=f"{BASE}/queues/<queue>/rate-limit",
        aliases=(f"{BASE}/admin/queues/<queue>/rate-limit",),
        operation="limit_queue",
        access=ADMINISTERS,
        summary="Limit how the jobs of a queue begin",
        request="RateLimitBody",
        errors=(404,),
        needs_body=True,
    ),
    _operator(
        method="DELETE",
        path=f"{BASE}/queues/<queue>/rate-limit",
        aliases=(f"{BASE}/admin/queues/<queue>/rate-limit",),
        operation="unlimit_queue",
        access=ADMINISTERS,
        repeatable=True,
        summary="Limit the jobs of a queue no more",
        errors=(404,),
    ),
    _operator(
        method="GET",
        path=f"{BASE}/rate-limits",
        operation="list_rate_limits",
        access=INSPECTS,
        summary="List the limits with what they count",
        query=("limit", "cursor", "page", "per_page"),
    ),
    _operator(
        method="GET",
        path=f"{BASE}/rate-limits/<key>",
        operation="get_rate_limit",
        access=INSPECTS,
        summary="What a limit counts now",
        errors=(404,),
    ),
    _operator(
        method="PUT",
        path=f"{BASE}/rate-limits/<key>",
        aliases=(f"{BASE}/rate-limits/<key>/override",),
        operation="override_rate_limit",
        access=ADMINISTERS,
        summary="Lay down what counts for a key, a queue or a job type",
        request="RateLimitOverrideBody",
        errors=(404,),
        needs_body=True,
    ),
    _operator(
        method="DELETE",
        path=f"{BASE}/rate-limits/<key>",
        aliases=(f"{BASE}/rate-limits/<key>/override",),
        operation="lift_rate_limit",
        access=ADMINISTERS,
        repeatable=True,
        summary="Undo what was laid down for a key",
        errors=(404,),
    ),
)
