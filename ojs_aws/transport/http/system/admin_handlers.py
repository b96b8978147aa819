"""Handles statistics and settings of the whole deployment (ojs-admin-api, 10 and 12.2)."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final

from ojs_aws._version import __version__
from ojs_aws.config import Settings
from ojs_aws.domain.attributes import check_queue, invalid
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.queues.tallies import TallyKind, total
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.services.system.statistics import Point, Totals
from ojs_aws.transport.http.calls import OJS_VERSION, Answer, Call, JsonOf, json_of
from ojs_aws.transport.http.members import flag_in
from ojs_aws.transport.http.negotiation import Reader, reader_of
from ojs_aws.transport.http.queries import (
    boolean_of,
    further,
    instant_or_age,
    number_of,
    read_mark,
    text_of,
    write_mark,
)
from ojs_aws.transport.http.queues.serializers import times_members
from ojs_aws.transport.http.system.serializers import (
    MAX_QUEUES,
    bottlenecks,
    for_reader,
    gauges,
    overview_queues,
    still_waiting,
    sweep_health,
    throughput,
)

if TYPE_CHECKING:
    from ojs_aws.transport.http.system import models

SHOWN: Final = frozenset(
    {
        "allow_undeclared_queues",
        "base_url",
        "completed_retention_s",
        "dead_letter_max_count",
        "dead_letter_replay",
        "dead_letter_retention_s",
        "default_timeout_s",
        "default_visibility_timeout_s",
        "discarded_retention_s",
        "enqueue_middleware",
        "event_bus_types",
        "event_retention_s",
        "fetch_wait_ms",
        "hooks",
        "inline_limit_bytes",
        "json_content_type",
        "max_depth",
        "max_envelope_bytes",
        "max_fetch_count",
        "max_result_bytes",
        "queue_visibility_timeouts_s",
        "queues",
        "redact_backtraces",
        "redact_messages",
        "s3_threshold_bytes",
        "test_mode",
    }
)
"""Settings that say how the backend behaves. Those that name AWS resources, or that nobody put
here, are not shown."""


def show_stats(call: Call) -> Answer[models.TotalsAnswer]:
    """Return what all queues hold together (section 10.1), or what one holds."""
    query, reader = call.request.query, reader_of(call.request)
    caller = call.request.caller
    totals = call.backend.statistics.totals(text_of(query, "queue"), caller.may_touch)
    if reader is Reader.CLI and boolean_of(query, "detail"):
        shown = {"queues": bottlenecks(totals.by_queue, number_of(query, "limit"))}
        return Answer(JsonOf(json_of(shown)))
    return Answer(for_reader(stats_members(call, totals), reader))


def stats_members(call: Call, totals: Totals) -> models.TotalsAnswer:
    """Return statistics under the names of the documents."""
    workers = call.backend.workers.service.list(1, view=call.request.caller.view)
    now = call.backend.clock.now()
    return {
        "queues": totals.queues,
        "queues_paused": len(totals.paused),
        "queues_counted": totals.counted,
        "workers": workers.summary["total"],
        "workers_by_state": {**workers.summary},
        "jobs": {**totals.jobs},
        "throughput": throughput(totals.recent),
        **times_members(total(totals.times.values())),
        "is_exact": not totals.estimated and workers.is_exact,
        "estimated": [*totals.estimated],
        "uptime_seconds": max(0, (now - call.server.started_at) // 1000),
        "computed_at": format_instant(totals.computed_at),
    }


def show_overview(call: Call) -> Answer[models.OverviewAnswer]:
    """Return what a page of operators shows first (an extension), in a few calls for any queues."""
    totals = call.backend.statistics.totals(sees=call.request.caller.may_touch)
    last = call.backend.stores.queues.last_tick()
    oldest = {} if last is None else still_waiting(totals, last.oldest)
    body: models.OverviewAnswer = {
        "totals": stats_members(call, totals),
        "queues": overview_queues(totals, oldest),
        "has_more": len(totals.by_queue) > MAX_QUEUES,
    }
    if oldest:
        queue = min(oldest, key=lambda name: (oldest[name], name))
        body["oldest_available_at"] = format_instant(oldest[queue])
        body["oldest_available_queue"] = queue
    if last is not None:
        body["sweep"] = sweep_health(last, call.backend.clock.now())
    if totals.lag is not None:
        body["events"] = {"last_at": format_instant(totals.lag.at), "lag_ms": totals.lag.ms}
    return Answer(body)


def show_findings(call: Call) -> Answer[models.FindingsAnswer]:
    """Return what needs attention (an extension); a bound caller sees that of its own queues."""
    caller, advice = call.request.caller, boolean_of(call.request.query, "advice") or False
    report = call.backend.findings(caller.may_touch if caller.is_bound else None, advice=advice)
    found: list[models.FoundProblem] = [
        {
            "code": each.code,
            "severity": each.severity,
            "check": each.check,
            "message": each.message,
            "hint": each.hint,
            "data": {**each.data},
        }
        for each in report.findings
    ]
    checks: list[models.Check] = [
        {"name": name, "message": message} for name, message in report.checks.items()
    ]
    return Answer({"as_of": format_instant(report.at), "findings": found, "checks": checks})


def show_errors(call: Call) -> Answer[models.ErrorsAnswer]:
    """Return failures by error (an extension); a caller bound to queues sees those of its own."""
    query, now = call.request.query, call.backend.clock.now()
    queue, since = text_of(query, "queue"), text_of(query, "since_time")
    report = call.backend.failures.report(
        instant_or_age(since, "since", now) if since else None,
        check_queue(queue) if queue else "",
        call.request.caller.may_touch,
    )
    limit = number_of(query, "limit")
    groups: list[models.ErrorGroup] = [
        {
            "type": each.group.type,
            "message": each.group.message,
            "example": each.group.example or each.group.message,
            "count": each.group.count,
            "first_seen": format_instant(each.group.first_seen),
            "last_seen": format_instant(each.group.last_seen),
            "queues": [*each.queues],
            "job_ids": [*each.group.job_ids],
            "counts": [*each.counts],
        }
        for each in report.groups[:limit]
    ]
    body: models.ErrorsAnswer = {
        "since": format_instant(report.since),
        "until": format_instant(report.until),
        "window_ms": report.window_ms,
        "groups": groups,
        "ungrouped": report.ungrouped,
        "has_more": report.is_cut or len(report.groups) > limit,
        "is_exact": False,
    }
    return Answer(body)


def show_gauges(call: Call) -> Answer[str]:
    """Return the numbers of jobs and workers now, for Prometheus (ojs-observability, 8.3).

    Read from the totals of the queues and the last sweep, in a few queries and a read. Those of
    tenants are about all queues, so nobody who is bound to some sees them.
    """
    backend, caller = call.backend, call.request.caller
    settings = backend.settings
    has_tenants = settings.metrics_by_tenant and settings.tenant_gauges and not caller.is_bound
    tenants = backend.tenants.gauges(settings.tenant_gauges) if has_tenants else {}
    totals = backend.statistics.totals(sees=caller.may_touch)
    last = backend.stores.queues.last_tick()
    oldest = {} if last is None else still_waiting(totals, last.oldest)
    workers = backend.workers.service.list(1, view=caller.view).summary
    text = gauges(totals, oldest, workers.get("running", 0), tenants)
    return Answer(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def show_stats_history(call: Call) -> Answer[models.HistoryAnswer]:
    """Return what was done in each period (section 10.2) of the last month."""
    query = call.request.query
    period = text_of(query, "period") or "5m"
    since, until = text_of(query, "since_time"), text_of(query, "until")
    now = call.backend.clock.now()
    history = call.backend.statistics.history(
        period,
        instant_or_age(since, "since", now) if since else None,
        instant_or_age(until, "until", now) if until else None,
        text_of(query, "queue"),
        call.request.caller.may_touch,
    )
    data = [_point(point) for point in history.points]
    body: models.HistoryAnswer = {"period": period, "data": data, "data_points": data}
    if boolean_of(query, "growth"):
        most = sorted(history.growth.items(), key=lambda each: (-sum(map(abs, each[1])), each[0]))
        body["growth"] = {name: [*changes] for name, changes in most[:MAX_QUEUES]}
    return Answer(body)


def _point(point: Point) -> models.HistoryPoint:
    tally = point.tally
    completed, failed = tally.counts[TallyKind.COMPLETED], tally.counts[TallyKind.FAILED]
    return {
        "timestamp": format_instant(point.at),
        "enqueued": tally.counts[TallyKind.ENQUEUED],
        "processed": completed + failed,
        "completed": completed,
        "failed": failed,
        "retried": tally.counts[TallyKind.RETRIED],
        "cancelled": tally.counts[TallyKind.CANCELLED],
        **times_members(tally),
        "latency_p50_ms": tally.waits.percentile_ms(0.5),
        "latency_p99_ms": tally.waits.percentile_ms(0.99),
        "avg_wait_ms": tally.waits.average_ms,
        "avg_duration_ms": tally.runs.average_ms,
        "avg_latency_ms": tally.runs.average_ms,
    }


def show_config(call: Call) -> Answer[models.ConfigAnswer]:
    """Return the backend's settings (section 12.2): no names of resources, no secrets."""
    settings = call.backend.settings
    shown: dict[str, JsonValue] = {
        each.name: _plain(getattr(settings, each.name))
        for each in fields(Settings)
        if each.name in SHOWN
    }
    body: models.ConfigAnswer = {
        "implementation": {"name": "ojs-aws", "version": __version__},
        "specversion": OJS_VERSION,
        "settings": shown,
    }
    return Answer(body)


def _plain(value: object) -> JsonValue:
    """Return a setting as JSON: pairs become an object, other tuples an array."""
    if isinstance(value, tuple):
        if value and all(isinstance(each, tuple) for each in value):
            return {str(name): _plain(each) for name, each in value}
        return [_plain(each) for each in value]
    return value if isinstance(value, bool | int | float | str) else str(value)


_MARK: Final = "r:"


def repair(call: Call) -> Answer[models.RepairAnswer]:
    """Do the next part of a repair, or only count what it would do."""
    values = call.values(optional=True)
    is_dry, cursor = flag_in(values, "dry_run"), values.get("cursor") or ""
    if not isinstance(cursor, str):
        raise invalid("cursor", "a text", cursor)
    report = call.backend.upkeep.repair(read_mark(_MARK, cursor), is_dry=is_dry)
    if not is_dry:
        call.backend.audit("repair", {"queues": [*report.queues]}, call.actor)
    body: models.RepairAnswer = {
        "dry_run": is_dry,
        "queues": [*report.queues],
        "ready": report.ready,
        "waiting": report.waiting,
        "paused": report.paused,
        "workflows": report.workflows,
        **further(write_mark(_MARK, report.cursor)),
    }
    return Answer(body)
