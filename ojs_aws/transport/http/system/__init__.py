"""Declares the operations on the server itself: manifest, health, metrics, statistics, settings."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.route import (
    ADMINISTERS,
    COUNTS_QUEUES,
    INSPECTS,
    KNOWN,
    PUBLIC,
    Group,
    Route,
)

_operator = functools.partial(Route, group=Group.OPERATOR, module="system.admin_handlers")
_system = functools.partial(Route, group=Group.SYSTEM, module="system.handlers")

# fmt: off
ROUTES: Final[tuple[Route, ...]] = (
    _system("GET /ojs/manifest", "manifest", PUBLIC, "Show what this server implements", base=""),
    _system("GET /ojs/v1/health", "health", PUBLIC,
        "Check whether the server and its table can be reached",
        base="", more_paths=("/health", "/ready", "/ojs/v1/ready"), errors=(503,)),
    _system("GET /openapi.json", "openapi", KNOWN,
        "Read this API as an OpenAPI 3.1 document", media_type="application/json"),
    _system("GET /whoami", "whoami", KNOWN,
        "Show what the server knows of the caller: name, scopes and bounds"),
    _system("GET /metrics", "metrics", KNOWN,
        "Show that the function is up, in the Prometheus text format", base="",
        media_type="text/plain"),
    # The operators' function: the only one that may count, for those who read JSON.
    Route("GET /metrics", "show_metrics", KNOWN,
        "Show the same, and numbers as JSON for the official command line",
        group=Group.OPERATOR, module="system.handlers", media_type="text/plain"),
    _operator("GET /admin/stats", "show_stats", COUNTS_QUEUES,
        "Count the jobs of all queues", query=("queue", "detail", "limit")),
    _operator("GET /admin/overview", "show_overview", COUNTS_QUEUES,
        "Show all jobs in numbers, the busiest queues, and the sweep"),
    _operator("GET /admin/findings", "show_findings", COUNTS_QUEUES,
        "Show what needs attention: late sweeps, old jobs, failures, silent workers",
        query=("advice",)),
    _operator("GET /admin/errors", "show_errors", COUNTS_QUEUES,
        "Group the failures of jobs by error, with counts and sample jobs",
        query=("queue", "since_time", "limit")),
    _operator("GET /admin/metrics", "show_gauges", COUNTS_QUEUES,
        "Count jobs and workers, in the Prometheus text format", media_type="text/plain"),
    _operator("GET /admin/stats/history", "show_stats_history", COUNTS_QUEUES,
        "Count the jobs that ended in each period",
        query=("period", "since_time", "until", "queue", "growth")),
    _operator("GET /admin/system/config", "show_config", INSPECTS,
        "Show the settings of the backend, without names of resources and secrets",
        more_paths=("/admin/config",)),
    _operator("POST /admin/repair", "repair", ADMINISTERS,
        "Send the messages again that SQS lost, after a restore of the table", request="RepairBody",
        is_body_optional=True, repeatable=True),
)
