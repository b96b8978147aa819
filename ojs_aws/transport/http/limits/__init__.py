"""Declares the operations on limits."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.route import ADMINISTERS, INSPECTS_OWN, Group, Route

_operator = functools.partial(Route, group=Group.OPERATOR, module="limits.handlers")

# fmt: off
ROUTES: Final[tuple[Route, ...]] = (
    _operator("PUT /queues/<queue>/rate-limit", "limit_queue", ADMINISTERS,
        "Limit how the jobs of a queue begin", has_admin_path=True, request="RateLimitBody",
        is_recorded=True),
    _operator("DELETE /queues/<queue>/rate-limit", "unlimit_queue", ADMINISTERS,
        "Remove the limit of a queue", has_admin_path=True, repeatable=True, is_recorded=True),
    _operator("GET /rate-limits", "list_rate_limits", INSPECTS_OWN,
        "List the limits with their counters", query=("limit", "cursor", "page", "per_page")),
    _operator("GET /rate-limits/<key>", "get_rate_limit", INSPECTS_OWN,
        "Read a limit with its counters"),
    _operator("PUT /rate-limits/<key>", "override_rate_limit", ADMINISTERS,
        "Set the limits of a key, a queue or a job type",
        more_paths=("/rate-limits/<key>/override",), request="RateLimitOverrideBody",
        is_recorded=True),
    _operator("DELETE /rate-limits/<key>", "lift_rate_limit", ADMINISTERS,
        "Remove the limits that were set for a key", more_paths=("/rate-limits/<key>/override",),
        repeatable=True, is_recorded=True),
)
