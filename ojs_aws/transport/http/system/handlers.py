"""Handles requests about the server itself: manifest, health, metrics, OpenAPI document."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NotRequired

from typing_extensions import TypedDict

from ojs_aws._version import __version__
from ojs_aws.domain.access import GRANTS, Permission, Scope
from ojs_aws.domain.attributes import MAX_QUEUE_LENGTH, MAX_TYPE_LENGTH
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.jobs.validation import MAX_META_BYTES, MAX_RESULT_TTL_S
from ojs_aws.transport.http.calls import (
    JSON_TYPE,
    MAX_BODY_BYTES,
    OJS_VERSION,
    UNAVAILABLE,
    Answer,
    Call,
    JsonOf,
    Request,
    json_of,
)
from ojs_aws.transport.http.negotiation import COMPRESSIONS, Reader, reader_of
from ojs_aws.transport.http.routes import BASE

if TYPE_CHECKING:
    from ojs_aws.config import Settings
    from ojs_aws.transport.http.answers import JsonObject
    from ojs_aws.transport.http.system import models
    from ojs_aws.transport.http.system.models import DisasterRecovery, ManifestAnswer


CONFORMANCE_LEVEL: Final = 4

CAPABILITIES: Final[Mapping[str, bool]] = {
    "backpressure": True,
    "batch_enqueue": True,
    "cron": True,
    "cron_jobs": True,
    "dead_letter": True,
    "delayed_jobs": True,
    "durable_execution": True,
    "events": True,
    "job_ttl": True,
    "pause_resume": True,
    "priority_queues": True,
    "progress": True,
    "rate_limiting": True,
    "results": True,
    "schema_validation": True,
    "unique_jobs": True,
    "workflows": True,
}
"""By the names of the HTTP binding and of the admin UI."""

EXTENSIONS: Final = (
    "admin-api",
    "backpressure",
    "cron",
    "dead-letter",
    "durable-execution",
    "events",
    "fair-scheduling",
    "payload-limits",
    "progress",
    "queue-config",
    "rate-limiting",
    "realtime",
    "results",
    "retry",
    "schema-registry",
    "unique-jobs",
    "worker-protocol",
    "workflows",
)

UNIQUE_JOBS: Final[Mapping[str, str]] = {
    "strength": "strong",
    "mechanism": "DynamoDB transaction of the job and a lock item per uniqueness key",
}
"""The declaration of unique jobs, section 8.3; clients read the capability as a boolean."""


DISASTER_RECOVERY: Final[DisasterRecovery] = {
    "durability_level": 2,  # DynamoDB acknowledges a write when several zones have it
    "replication_mode": "synchronous",
    "ha_mode": "none",  # zones need no failover; to another region there is none (decision 39)
    "backup": "point-in-time recovery of the table, versions of documents",
}
"""The declaration of ojs-disaster-recovery, DR-004, 005 and 007, of a deployment on AWS. DR-006 is
about failover between nodes, of which there is none."""


class CallerAnswer(TypedDict):
    """Shows what the server knows of the caller.

    Without bounds, ``queues`` and ``types`` are empty: the caller may use all of them.
    ``tenant_id`` is the only tenant of this request; without it, the caller may name any.
    """

    id: str
    name: str
    scopes: list[Scope]
    permissions: list[Permission]
    queues: list[str]
    types: list[str]
    tenant_id: NotRequired[str]


def manifest(call: Call) -> Answer[models.ManifestAnswer]:
    """Return the conformance manifest (HTTP binding, section 21)."""
    return Answer(manifest_of(call.backend.settings, call.request))


def health(call: Call) -> Answer[models.HealthAnswer]:
    """Return whether the table answers: 200, or 503 when it does not (section 8.1).

    What is read is the end of the last sweep, which is shown too.
    """
    begun = time.perf_counter()
    table: models.TableHealth = {"status": "ok"}
    last = None
    try:
        last = call.backend.stores.queues.last_tick()
    except OjsError as problem:
        table = {"status": "unhealthy", "error": problem.message}
    latency_ms = round((time.perf_counter() - begun) * 1000)
    is_well = table["status"] == "ok"
    answer: models.HealthAnswer = {
        "status": "ok" if is_well else "degraded",
        "version": OJS_VERSION,
        "uptime_seconds": _uptime_s(call),
        "backend": {"type": "dynamodb", **table, "latency_ms": latency_ms},
    }
    if last is not None:
        from ojs_aws.transport.http.system.serializers import sweep_health

        answer["sweep"] = sweep_health(last, call.backend.clock.now())
    return Answer(answer, 200 if is_well else UNAVAILABLE)


def _uptime_s(call: Call) -> int:
    return max(0, (call.backend.clock.now() - call.server.started_at) // 1000)


def whoami(call: Call) -> Answer[CallerAnswer]:
    """Return what the server knows of the caller (an extension)."""
    caller = call.request.caller
    answer: CallerAnswer = {
        "id": caller.id,
        "name": caller.name,
        "scopes": [scope for scope, needs in GRANTS.items() if needs <= caller.permissions],
        "permissions": sorted(caller.permissions),
        "queues": [*caller.queues],
        "types": [*caller.types],
    }
    if caller.tenant:
        answer["tenant_id"] = caller.tenant
    return Answer(answer)


def metrics(call: Call) -> Answer[str]:
    """Return that this function is up. CloudWatch counts what jobs do, over all functions."""
    lines = (
        "# HELP ojs_up Whether the server answers.",
        "# TYPE ojs_up gauge",
        "ojs_up 1",
        "# HELP ojs_server_uptime_seconds Age of the function that answers.",
        "# TYPE ojs_server_uptime_seconds gauge",
        f"ojs_server_uptime_seconds {_uptime_s(call)}",
        "",
    )
    return Answer("\n".join(lines), media_type="text/plain; version=0.0.4; charset=utf-8")


def show_metrics(call: Call) -> Answer[str]:
    """Return metrics as JSON for the official command line, or as text for everybody else."""
    if reader_of(call.request) is not Reader.CLI or "prometheus" in call.request.query.values():
        return metrics(call)
    caller = call.request.caller
    caller.check(Permission.INSPECT, "show_metrics")
    caller.check_untyped("show_metrics")
    from ojs_aws.transport.http.system.admin_handlers import stats_members  # rare
    from ojs_aws.transport.http.system.serializers import metrics_answer  # rare

    totals = call.backend.statistics.totals(sees=caller.may_touch)
    body = stats_members(call, totals)
    return Answer(json_of(metrics_answer(_uptime_s(call), body, totals.today)))


def openapi(call: Call) -> Answer[JsonObject]:
    """Return this API as an OpenAPI document."""
    return Answer(_document(call.backend.settings.base_url), media_type=JSON_TYPE)


@functools.cache
def _document(base_url: str) -> JsonOf[JsonObject]:
    from ojs_aws.transport.http.openapi import openapi_document  # rarely asked for

    return json_of(openapi_document(base_url))


def manifest_of(settings: Settings, request: Request) -> ManifestAnswer:
    """Return the manifest, with the server's URL as clients use it."""
    return {
        "specversion": OJS_VERSION,
        "ojs_version": OJS_VERSION,
        "implementation": {
            "name": "ojs-aws",
            "version": __version__,
            "language": "python",
        },
        "conformance_level": CONFORMANCE_LEVEL,
        "conformance_tier": "runtime",
        "protocols": ["http"],
        "backend": "dynamodb",
        "capabilities": {**CAPABILITIES},
        "extensions": [*EXTENSIONS],
        "authentication": {  # HTTP binding, section 5.2: requirements must be documented
            "required": settings.auth != "none",
            "schemes": [settings.auth] if settings.auth != "none" else [],
        },
        "events": {  # ojs-events, section 9: the guarantees must be declared
            "delivery": "at-least-once",
            "ordering": "per-job",
            "retention_seconds": settings.event_retention_s,
        },
        "disaster_recovery": DISASTER_RECOVERY,
        "unique_jobs": {**UNIQUE_JOBS},
        "unique_job_strength": UNIQUE_JOBS["strength"],  # ojs-conformance, section 4.2
        "results": {  # ojs-results, section 7: the limits must be documented
            "max_size_bytes": settings.max_result_bytes,
            "max_ttl_seconds": MAX_RESULT_TTL_S,
            "max_wait_ms": settings.result_wait_ms,
        },
        "payload_limits": {  # ojs-payload-limits, section 8
            "max_envelope_bytes": settings.max_envelope_bytes,
            "max_meta_bytes": MAX_META_BYTES,
            "max_queue_name_bytes": MAX_QUEUE_LENGTH,
            "max_job_type_bytes": MAX_TYPE_LENGTH,
            "max_request_bytes": MAX_BODY_BYTES,
            "max_batch_jobs": settings.max_batch_jobs,
            "supported_compression": [*COMPRESSIONS],
            "external_references": True,
            "chunking": False,
            "per_queue_limits": False,
        },
        "endpoints": {
            "base_url": _base_url(settings, request) + BASE,
            "manifest": "/ojs/manifest",
            "health": f"{BASE}/health",
            "openapi": f"{BASE}/openapi.json",
        },
    }


def _base_url(settings: Settings, request: Request) -> str:
    if settings.base_url:
        return settings.base_url.rstrip("/").removesuffix(BASE)
    host = request.header("host") or "localhost"
    scheme = request.header("x-forwarded-proto") or "http"
    return f"{scheme}://{host}"
