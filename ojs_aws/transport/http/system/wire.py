"""Shapes statistics of the deployment in every form that documents and clients read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.queues.tallies import Tally, TallyKind
from ojs_aws.services.queues.stats import QueueCounts
from ojs_aws.services.system.statistics import RECENT_MS
from ojs_aws.transport.http.negotiation import Reader

Members = dict[str, JsonValue]

_MINUTES: Final = RECENT_MS / 60_000


def throughput(recent: Tally) -> Members:
    """Return rates under the names of documents, and rounded up under the command line's.

    The command line reads whole numbers there, and nothing where it finds another one.
    """
    counts = recent.counts
    processed = counts[TallyKind.COMPLETED] + counts[TallyKind.FAILED]
    return {
        "enqueued_per_minute": counts[TallyKind.ENQUEUED] / _MINUTES,
        "processed_per_minute": processed / _MINUTES,
        "failed_per_minute": counts[TallyKind.FAILED] / _MINUTES,
        "enqueued_per_min": math.ceil(counts[TallyKind.ENQUEUED] / _MINUTES),
        "completed_per_min": math.ceil(counts[TallyKind.COMPLETED] / _MINUTES),
        "failed_per_min": math.ceil(counts[TallyKind.FAILED] / _MINUTES),
        "avg_latency_ms": recent.runs.average_ms,
    }


def for_reader(body: Members, reader: Reader) -> Members:
    """Return statistics with ``queues`` and ``workers`` as objects for the command line."""
    queues, paused = body["queues"], body["queues_paused"]
    if reader is not Reader.CLI or not isinstance(queues, int) or not isinstance(paused, int):
        return body
    return {
        **body,
        "queues": {"total": queues, "active": queues - paused, "paused": paused},
        "workers": body["workers_by_state"],
    }


def bottlenecks(by_queue: Mapping[str, tuple[QueueCounts, Tally]], limit: int) -> list[JsonValue]:
    """Return the deepest queues first, with their counts of the last five minutes."""
    deepest = sorted(by_queue.items(), key=lambda each: (-each[1][0].depth, each[0]))
    shown: list[JsonValue] = []
    for name, (counts, did) in deepest[:limit]:
        ended = did.counts[TallyKind.COMPLETED] + did.counts[TallyKind.FAILED]
        shown.append(
            {
                "name": name,
                "depth": counts.depth,
                "avg_duration_ms": did.runs.average_ms or 0,
                "error_rate": did.counts[TallyKind.FAILED] / ended if ended else 0,
            }
        )
    return shown


def metrics_answer(uptime_s: int, body: Members, today: Tally) -> Members:
    """Return the metrics of the command line; the totals count since midnight (UTC)."""
    jobs = body["jobs"]
    active = jobs.get("active", 0) if isinstance(jobs, dict) else 0
    queues, workers = body["queues"], body["workers_by_state"]
    paused = body["queues_paused"]
    rates = body["throughput"]
    completed = rates["processed_per_minute"] if isinstance(rates, dict) else 0
    return {
        "uptime_seconds": uptime_s,
        "jobs_enqueued_total": today.counts[TallyKind.ENQUEUED],
        "jobs_completed_total": today.counts[TallyKind.COMPLETED],
        "jobs_failed_total": today.counts[TallyKind.FAILED],
        "jobs_active": active,
        "queues_active": queues - paused
        if isinstance(queues, int) and isinstance(paused, int)
        else 0,
        "workers_active": workers.get("running", 0) if isinstance(workers, dict) else 0,
        "avg_latency_ms": today.runs.average_ms or 0,
        "throughput_per_second": completed / 60 if isinstance(completed, (int, float)) else 0,
    }
