"""Queues and their statistics, in every form that documents and clients read.

The binding names the queue by a text, the cases by an object; numbers stand in ``stats``, in
``queue`` and flat, and by the admin API's names in ``counts``, ``throughput`` and ``latency_ms``.
"""

from __future__ import annotations

from typing import Final

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.ports import QueueInfo
from ojs_aws.services.queue_stats import QueueCounts, QueueStats, percentile

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


def queue_members(info: QueueInfo) -> Members:
    """What the registry says of a queue."""
    is_paused = info.paused_at is not None
    status = "paused" if is_paused else "active"
    members: Members = {
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


def changed_queue(info: QueueInfo, resumed_at: Instant | None = None) -> Members:
    """PAUSE and RESUME: the queue, wrapped and flat."""
    members = queue_members(info)
    if resumed_at is not None:
        members["resumed_at"] = format_instant(resumed_at)
    return {"queue": {**members}, **members}


def counted_queue(info: QueueInfo, counts: QueueCounts) -> Members:
    """A queue of the admin API's list."""
    return {
        **queue_members(info),
        "counts": {name: counts.counts[name] for name in _STATES},
        "depth": counts.depth,
        "estimated": [*counts.estimated],
    }


def queue_answer(info: QueueInfo, stats: QueueStats) -> Members:
    """One queue of the admin API."""
    numbers = _numbers(stats)
    members: Members = {
        **counted_queue(info, stats.counts),
        "stats": {**numbers},
        "throughput": _throughput(stats),
        "latency_ms": _latency(stats),
    }
    return {"queue": {**members}, **members}


def stats_answer(info: QueueInfo, stats: QueueStats) -> Members:
    """Statistics of a queue: in ``queue``, in ``stats``, and flat."""
    numbers = _numbers(stats)
    about = queue_members(info)
    return {
        **about,
        **numbers,
        "queue": {**about, **numbers},
        "stats": {**numbers},
        "throughput": _throughput(stats),
        "latency_ms": _latency(stats),
        "computed_at": format_instant(stats.computed_at),
    }


def _numbers(stats: QueueStats) -> Members:
    counts = stats.counts.counts
    return {
        **{name: counts[name] for name in _STATES},
        "dead_letter": counts["dead_letter"],
        "dead": counts["dead_letter"],
        "failed": counts["discarded"],
        "depth": stats.counts.depth,
        "completed_last_hour": stats.completed_last_hour,
        "failed_last_hour": stats.failed_last_hour,
        "avg_duration_ms": _average(stats.durations_ms),
        "avg_wait_ms": _average(stats.waits_ms),
        "throughput_per_second": round(stats.completed_last_hour / _HOUR_SECONDS, 4),
        "estimated": [*stats.counts.estimated],
        "sampled": len(stats.durations_ms),
    }


def _throughput(stats: QueueStats) -> Members:
    processed = stats.completed_last_hour + stats.failed_last_hour
    return {
        "processed_per_minute": round(processed / _HOUR_MINUTES, 2),
        "failed_per_minute": round(stats.failed_last_hour / _HOUR_MINUTES, 2),
    }


def _latency(stats: QueueStats) -> Members:
    """Of waiting: from enqueueing to start."""
    return {
        "p50": percentile(stats.waits_ms, 0.5),
        "p95": percentile(stats.waits_ms, 0.95),
        "p99": percentile(stats.waits_ms, 0.99),
    }


def _average(values: tuple[int, ...]) -> int | None:
    return round(sum(values) / len(values)) if values else None
