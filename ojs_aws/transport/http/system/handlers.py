"""Handles requests about the server itself: manifest, health, metrics, OpenAPI document."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING

from ojs_aws.domain.access import GRANTS, Permission
from ojs_aws.domain.errors import OjsError
from ojs_aws.transport.http.calls import (
    JSON_TYPE,
    OJS_VERSION,
    UNAVAILABLE,
    Answer,
    Call,
    JsonOf,
    json_of,
)
from ojs_aws.transport.http.negotiation import Reader, reader_of

if TYPE_CHECKING:
    from ojs_aws.transport.http.models import JsonObject
    from ojs_aws.transport.http.system import models


def manifest(call: Call) -> Answer[models.ManifestAnswer]:
    """Return the conformance manifest (HTTP binding, section 21)."""
    from ojs_aws.transport.http.system.manifest import manifest_of  # rarely asked for

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


def whoami(call: Call) -> Answer[models.CallerAnswer]:
    """Return what the server knows of the caller (an extension)."""
    caller = call.request.caller
    return Answer(
        {
            "id": caller.id,
            "name": caller.name,
            "scopes": [scope for scope, needs in GRANTS.items() if needs <= caller.permissions],
            "permissions": sorted(caller.permissions),
            "queues": [*caller.queues],
            "types": [*caller.types],
        }
    )


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
