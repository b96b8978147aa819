"""Shapes queues and their statistics in every form that documents and clients read.

The binding names the queue by a text, the cases by an object: who asks decides. Numbers stand in
``stats``, in ``queue`` and flat, and by the admin API's names in ``counts``, ``throughput`` and
``latency_ms``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.queues import QueueInfo, QueueSettings, QueueState
from ojs_aws.domain.queues.setting_rows import BACKPRESSURE, RETENTION
from ojs_aws.domain.queues.tallies import Tally, TallyKind, Times
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.services.bulk.purge import Purge, PurgeReport
from ojs_aws.services.queues.config_view import QueueConfigView
from ojs_aws.services.queues.stats import QueueCounts, QueueStats
from ojs_aws.transport.http.calls import T, json_of
from ojs_aws.transport.http.negotiation import Reader

if TYPE_CHECKING:
    from ojs_aws.transport.http import answers as shared
    from ojs_aws.transport.http.queues import models


_HOUR_MINUTES: Final = 60
_HOUR_SECONDS: Final = 3600
_STATES: Final = (
    "available",
    "active",
    "scheduled",
    "retryable",
    "pending",
    "completed",
    "cancelled",
    "discarded",
)

Members = dict[str, JsonValue]


def queue_members(info: QueueInfo, settings: QueueSettings | None = None) -> models.Queue:
    """Return what the registry says of a queue, and whether it drains."""
    is_paused = info.paused_at is not None
    is_draining = settings is not None and settings.state is QueueState.DRAINING
    status: models.QueueStatus = "paused" if is_paused else "draining" if is_draining else "active"
    members: models.Queue = {
        "name": info.name,
        "status": status,
        "state": status,
        "paused": is_paused,
    }
    if info.created_at is not None:
        members["created_at"] = format_instant(info.created_at)
    if info.paused_at is not None:
        members["paused_at"] = format_instant(info.paused_at)
    return members


def changed_queue(
    info: QueueInfo, resumed_at: Instant | None = None, reader: Reader = Reader.CASES
) -> models.ChangedQueueAnswer:
    """Return the answer to PAUSE and RESUME: the queue, wrapped and flat."""
    members = queue_members(info)
    if resumed_at is not None:
        members["resumed_at"] = format_instant(resumed_at)
    return {"queue": _named_queue(members, reader), **members}


def _named_queue(members: T, reader: Reader) -> T:
    """Return ``queue``: an object, but for clients that read the binding its name."""
    return members if reader is Reader.CASES else cast("Any", members)["name"]


def purge_answer(wanted: Purge, reports: Sequence[PurgeReport]) -> models.PurgeAnswer:
    """Return what a purge did, page after page."""
    deleted = sum(report.deleted for report in reports)
    cancelled = sum(report.cancelled for report in reports)
    return {
        "purged_count": deleted + cancelled,
        "deleted": deleted,
        "cancelled": cancelled,
        "states": [*wanted.states],
        "has_more": bool(reports[-1].cursor),
    }


def configured_queue(configured: QueueConfigView) -> models.ConfiguredQueueAnswer:
    """Return a queue with its settings; ``set`` are its own."""
    about: Mapping[str, object] = {}
    if configured.info is not None:
        about = queue_members(configured.info, configured.settings)
    name = {"name": configured.name, "queue": configured.name}
    return cast("models.ConfiguredQueueAnswer", {**name, **about, **_settings(configured)})


def _settings(configured: QueueConfigView) -> models.QueueSettingsAnswer:
    settings = configured.settings
    dated: models.SettingInstants = {}
    if settings.created_at is not None:
        dated["created_at"] = format_instant(settings.created_at)
    if settings.updated_at is not None:
        dated["updated_at"] = format_instant(settings.updated_at)
    config = {**configured.config, "backpressure": _backpressure(configured.config)}
    return {
        **dated,
        "config": config,
        "configuration": config,
        "set": configured.own,
    }


def _backpressure(config: Members) -> JsonValue:
    """Return the bound of a queue in the names of ojs-backpressure, section 6.2."""
    if config.get("max_size") is None:
        return None
    return {inside: config[name] for inside, name in BACKPRESSURE.items() if name in config}


def counted_queue(
    info: QueueInfo, counts: QueueCounts, settings: QueueSettings | None = None
) -> models.CountedQueue:
    """Return a queue of the admin API's list."""
    return {
        **queue_members(info, settings),
        "counts": {name: counts.counts[name] for name in _STATES},
        "depth": counts.depth,
        "estimated": [*counts.estimated],
    }


def queue_answer(
    info: QueueInfo,
    stats: QueueStats,
    configured: QueueConfigView,
    today: Tally,
    oldest: Instant | None = None,
) -> models.QueueAnswer:
    """Return one queue of the admin API, with its settings and counts since midnight."""
    numbers = _numbers(stats) | {
        f"{kind}_today": today.counts[kind] for kind in (TallyKind.COMPLETED, TallyKind.FAILED)
    }
    members: models.QueueDetail = {
        **counted_queue(info, stats.counts, configured.settings),
        **_activity(info, stats, numbers),
        **_settings(configured),
    }
    if oldest is not None:
        members["oldest_available_at"] = format_instant(oldest)
    return {"queue": json_of(members), **members}


def stats_answer(
    info: QueueInfo, stats: QueueStats, reader: Reader = Reader.CASES
) -> models.QueueStatsAnswer:
    """Return statistics of a queue: in ``queue``, in ``stats``, and flat.

    An average of nothing is null, and left out for clients that read numbers there.
    """
    numbers = _numbers(stats)
    if reader is not Reader.CASES:
        numbers = {name: value for name, value in numbers.items() if value is not None}
    about = cast("models.QueueNumbers", {**queue_members(info), **numbers})
    return {
        **about,
        "queue": _named_queue(about, reader),
        **_activity(info, stats, numbers),
        "computed_at": format_instant(stats.computed_at),
    }


def _activity(info: QueueInfo, stats: QueueStats, numbers: Members) -> models.QueueActivity:
    """Return what a queue did, and its times of waiting, from enqueueing to start, and running."""
    return {
        "stats": {"queue": info.name, **numbers},
        "throughput": _throughput(stats),
        **times_members(stats.hour),
    }


def _numbers(stats: QueueStats) -> Members:
    counts = stats.counts.counts
    return {
        **{name: counts[name] for name in _STATES},
        "dead_letter": counts["dead_letter"],
        "dead": counts["dead_letter"],
        "failed": counts["discarded"],
        "depth": stats.counts.depth,
        **{f"{kind}_last_hour": stats.hour.counts[kind] for kind in TallyKind},
        **{f"{kind}_last_minute": stats.minute.counts[kind] for kind in TallyKind},
        "avg_duration_ms": stats.hour.runs.average_ms,
        "avg_wait_ms": stats.hour.waits.average_ms,
        "throughput_per_second": round(stats.hour.counts[TallyKind.COMPLETED] / _HOUR_SECONDS, 4),
        "estimated": [*stats.counts.estimated],
        "sampled": stats.hour.runs.count,
    }


def _throughput(stats: QueueStats) -> dict[str, float]:
    counts = stats.hour.counts
    processed = counts[TallyKind.COMPLETED] + counts[TallyKind.FAILED]
    return {
        "enqueued_per_minute": round(counts[TallyKind.ENQUEUED] / _HOUR_MINUTES, 2),
        "processed_per_minute": round(processed / _HOUR_MINUTES, 2),
        "failed_per_minute": round(counts[TallyKind.FAILED] / _HOUR_MINUTES, 2),
        "retried_per_minute": round(counts[TallyKind.RETRIED] / _HOUR_MINUTES, 2),
    }


def times_members(tally: Tally) -> shared.Times:
    """Return how long jobs waited, from enqueueing to start, and how long they ran."""
    return {"latency_ms": _percentiles(tally.waits), "duration_ms": _percentiles(tally.runs)}


def _percentiles(times: Times) -> shared.Percentiles:
    return {
        "p50": times.percentile_ms(0.5),
        "p95": times.percentile_ms(0.95),
        "p99": times.percentile_ms(0.99),
    }


FLAT: Final = ("concurrency", "max_size")
"""Settings of a new queue that may stand beside its name."""


def read_new_queue(body: Mapping[str, JsonValue]) -> tuple[JsonValue, JsonValue]:
    """Return the name and the settings of a new queue.

    :raises InvalidRequestError: naming a member that a new queue does not have, or has twice.
    """
    flat = {name: body[name] for name in FLAT if body.get(name) is not None}
    config = body.get("config")
    others = sorted(body.keys() - {"name", "config", *FLAT})
    if isinstance(config, dict):
        others += sorted(flat.keys() & config.keys())
    if others:
        message = f"A new queue has 'name' and 'config'; received '{others[0][:80]}'."
        hint = "Settings stand in 'config'."
        raise field_error(others[0][:80], message, hint, allowed=["name", "config"])
    if config is None or isinstance(config, dict):
        return body.get("name"), read_settings({**flat, **(config or {})})
    return body.get("name"), config


def read_settings(body: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the settings in a body; one duration as ``retention`` applies to all ended jobs."""
    settings = {**body}
    if isinstance(retention := settings.get("retention"), str):
        settings["retention"] = dict.fromkeys(RETENTION, retention)
    return settings
