"""Declares the operations on the server itself."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.access import (
    ADMINISTERS,
    COUNTS_QUEUES,
    INSPECTS,
    KNOWN,
    PUBLIC,
)
from ojs_aws.transport.http.route import BASE, Group, Route

_operator = functools.partial(Route, group=Group.OPERATOR, home="system.admin_handlers")
_system = functools.partial(Route, group=Group.SYSTEM, home="system.handlers")

ROUTES: Final[tuple[Route, ...]] = (
    _system(
        at="GET /ojs/manifest",
        operation="manifest",
        access=PUBLIC,
        summary="Show what this server implements",
    ),
    _system(
        at=f"GET {BASE}/health",
        more_paths=("/health", "/ready", f"{BASE}/ready"),
        operation="health",
        access=PUBLIC,
        summary="Check whether the server and its table can be reached",
        errors=(503,),
    ),
    _system(
        at=f"GET {BASE}/openapi.json",
        operation="openapi",
        access=KNOWN,
        summary="Read this API as an OpenAPI 3.1 document",
        media_type="application/json",
    ),
    _system(
        at=f"GET {BASE}/whoami",
        operation="whoami",
        access=KNOWN,
        summary="Show what the server knows of the caller: name, scopes and bounds",
    ),
    _system(
        at="GET /metrics",
        operation="metrics",
        access=KNOWN,
        summary="Show that the function is up, in the Prometheus text format",
        media_type="text/plain",
    ),
    Route(
        at=f"GET {BASE}/metrics",
        operation="show_metrics",
        group=Group.OPERATOR,  # the only one that may count for those who read JSON
        access=KNOWN,
        home="system.handlers",
        summary="Show the same, and numbers as JSON for the official command line",
        media_type="text/plain",
    ),
    _operator(
        at=f"GET {BASE}/admin/stats",
        operation="show_stats",
        access=COUNTS_QUEUES,
        summary="Count the jobs of all queues",
        query=("queue", "detail", "limit"),
    ),
    _operator(
        at=f"GET {BASE}/admin/overview",
        operation="show_overview",
        access=COUNTS_QUEUES,
        summary="Show all jobs in numbers, the busiest queues, and the sweep",
    ),
    _operator(
        at=f"GET {BASE}/admin/findings",
        operation="show_findings",
        access=COUNTS_QUEUES,
        summary="Show what needs attention: late sweeps, old jobs, failures, silent workers",
    ),
    _operator(
        at=f"GET {BASE}/admin/errors",
        operation="show_errors",
        access=COUNTS_QUEUES,
        summary="Group the failures of jobs by error, with counts and sample jobs",
        query=("queue", "since_time", "limit"),
    ),
    _operator(
        at=f"GET {BASE}/admin/metrics",
        operation="show_gauges",
        access=COUNTS_QUEUES,
        summary="Count jobs and workers, in the Prometheus text format",
        media_type="text/plain",
    ),
    _operator(
        at=f"GET {BASE}/admin/stats/history",
        operation="show_stats_history",
        access=COUNTS_QUEUES,
        summary="Count the jobs that ended in each period",
        query=("period", "since_time", "until", "queue"),
    ),
    _operator(
        at=f"GET {BASE}/admin/system/config",
        more_paths=(f"{BASE}/admin/config",),
        operation="show_config",
        access=INSPECTS,
        summary="Show the settings of the backend, without names of resources and secrets",
    ),
    _operator(
        at=f"POST {BASE}/admin/repair",
        operation="repair",
        access=ADMINISTERS,
        repeatable=True,
        summary="Send the messages again that SQS lost, after a restore of the table",
        request="RepairBody",
        is_body_optional=True,
    ),
)
