"""Declares the operations on limits."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.access import ADMINISTERS, INSPECTS_OWN
from ojs_aws.transport.http.route import BASE, Group, Route

_operator = functools.partial(Route, group=Group.OPERATOR, home="limits.handlers")

ROUTES: Final[tuple[Route, ...]] = (
    _operator(
        at=f"PUT {BASE}/queues/<queue>/rate-limit",
        has_admin_path=True,
        operation="limit_queue",
        is_recorded=True,
        access=ADMINISTERS,
        summary="Limit how the jobs of a queue begin",
        request="RateLimitBody",
    ),
    _operator(
        at=f"DELETE {BASE}/queues/<queue>/rate-limit",
        has_admin_path=True,
        operation="unlimit_queue",
        is_recorded=True,
        access=ADMINISTERS,
        repeatable=True,
        summary="Remove the limit of a queue",
    ),
    _operator(
        at=f"GET {BASE}/rate-limits",
        operation="list_rate_limits",
        access=INSPECTS_OWN,
        summary="List the limits with their counters",
        query=("limit", "cursor", "page", "per_page"),
    ),
    _operator(
        at=f"GET {BASE}/rate-limits/<key>",
        operation="get_rate_limit",
        access=INSPECTS_OWN,
        summary="Read a limit with its counters",
    ),
    _operator(
        at=f"PUT {BASE}/rate-limits/<key>",
        more_paths=(f"{BASE}/rate-limits/<key>/override",),
        operation="override_rate_limit",
        is_recorded=True,
        access=ADMINISTERS,
        summary="Set the limits of a key, a queue or a job type",
        request="RateLimitOverrideBody",
    ),
    _operator(
        at=f"DELETE {BASE}/rate-limits/<key>",
        more_paths=(f"{BASE}/rate-limits/<key>/override",),
        operation="lift_rate_limit",
        is_recorded=True,
        access=ADMINISTERS,
        repeatable=True,
        summary="Remove the limits that were set for a key",
    ),
)
