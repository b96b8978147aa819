"""Shapes statistics of the deployment in every form that documents and clients read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.queues import LastTick
from ojs_aws.domain.queues.tallies import Tally, TallyKind
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.services.queues.stats import QueueCounts
from ojs_aws.services.system.statistics import RECENT_MS, Totals
from ojs_aws.transport.http.calls import beside
from ojs_aws.transport.http.negotiation import Reader
from ojs_aws.transport.http.queues.serializers import times_members

if TYPE_CHECKING:
    from ojs_aws.transport.http import answers as shared
    from ojs_aws.transport.http.system import models


MAX_QUEUES: Final = 100
"""Queues that an overview names."""

_SHARES: Final = (0.5, 0.95, 0.99)

_MINUTES: Final = RECENT_MS / 60_000


def throughput(recent: Tally) -> shared.Throughput:
    """Return rates under the names of documents, and rounded up under the command line's.

    The command line reads whole numbers there, and nothing where it finds another one.
    """
    counts = recent.counts
    processed = counts[TallyKind.COMPLETED] + counts[TallyKind.FAILED]
    return {
        "enqueued_per_minute": counts[TallyKind.ENQUEUED] / _MINUTES,
        "processed_per_minute": processed / _MINUTES,
        "failed_per_minute": counts[TallyKind.FAILED] / _MINUTES,
        "retried_per_minute": counts[TallyKind.RETRIED] / _MINUTES,
        "enqueued_per_min": math.ceil(counts[TallyKind.ENQUEUED] / _MINUTES),
        "completed_per_min": math.ceil(counts[TallyKind.COMPLETED] / _MINUTES),
        "failed_per_min": math.ceil(counts[TallyKind.FAILED] / _MINUTES),
        "avg_latency_ms": recent.runs.average_ms,
    }


def for_reader(body: models.TotalsAnswer, reader: Reader) -> models.TotalsAnswer:
    """Return statistics with ``queues`` and ``workers`` as objects for the command line."""
    if reader is not Reader.CLI:
        return body
    queues, paused = body["queues"], body["queues_paused"]
    counted = {"total": queues, "active": queues - paused, "paused": paused}
    return beside(body, {"queues": counted, "workers": body["workers_by_state"]})


def bottlenecks(
    by_queue: Mapping[str, tuple[QueueCounts, Tally]], limit: int
) -> list[models.Bottleneck]:
    """Return the deepest queues first, with their counts of the last five minutes."""
    deepest = sorted(by_queue.items(), key=lambda each: (-each[1][0].depth, each[0]))
    return [_bottleneck(name, counts, did) for name, (counts, did) in deepest[:limit]]


def _bottleneck(name: str, counts: QueueCounts, did: Tally) -> models.Bottleneck:
    ended = did.counts[TallyKind.COMPLETED] + did.counts[TallyKind.FAILED]
    return {
        "name": name,
        "depth": counts.depth,
        "avg_duration_ms": did.runs.average_ms or 0,
        "error_rate": did.counts[TallyKind.FAILED] / ended if ended else 0,
    }


def overview_queues(totals: Totals, oldest: Mapping[str, Instant]) -> list[models.OverviewQueue]:
    """Return the queues with the most available jobs first, with what each holds and did."""
    busiest = sorted(totals.by_queue.items(), key=lambda each: (-_available(each[1][0]), each[0]))
    found: list[models.OverviewQueue] = []
    for name, (counts, did) in busiest[:MAX_QUEUES]:
        times = times_members(totals.times[name])
        queue: models.OverviewQueue = {
            "name": name,
            "paused": name in totals.paused,
            "counts": {**counts.counts},
            "depth": counts.depth,
            "throughput": throughput(did),
            "latency_ms": times["latency_ms"],
            "duration_ms": times["duration_ms"],
        }
        if name in oldest:
            queue["oldest_available_at"] = format_instant(oldest[name])
        found.append(queue)
    return found


def still_waiting(totals: Totals, oldest: Mapping[str, Instant]) -> dict[str, Instant]:
    """Return the longest waits that the sweep found, of the queues where jobs are available."""
    waits = {name for name, (counts, _) in totals.by_queue.items() if _available(counts)}
    return {name: since for name, since in oldest.items() if name in waits - totals.paused.keys()}


def _available(counts: QueueCounts) -> int:
    return counts.counts.get("available", 0)


def sweep_health(last: LastTick, now: Instant) -> models.SweepHealth:
    """Return when the last sweep ended, and whether it was late."""
    return {
        "status": "late" if last.is_late(now) else "ok",
        "last_run_at": format_instant(last.at),
        "lag_ms": last.lag_ms,
    }


def gauges(
    totals: Totals,
    oldest: Mapping[str, Instant],
    running: int,
    tenants: Mapping[str, Mapping[str, int]],
) -> str:
    """Return the numbers of jobs and workers as Prometheus reads them.

    :param running: how many workers run and beat.
    :param tenants: their jobs by state; none where there are no gauges of tenants.
    """
    lines = [*_gauge("ojs_queue_depth", "Jobs of a queue in a state.")]
    for name, (counts, _) in totals.by_queue.items():
        lines += [
            f'ojs_queue_depth{{queue="{name}",state="{state}"}} {amount}'
            for state, amount in counts.counts.items()
        ]
    lines += _gauge("ojs_queue_oldest_available_seconds", "For how long its oldest job waits.")
    lines += [
        f'ojs_queue_oldest_available_seconds{{queue="{name}"}} {(totals.computed_at - at) / 1000}'
        for name, at in oldest.items()
    ]
    lines += _quantiles("ojs_queue_wait_seconds", "From enqueueing to start, lately.", totals, 0)
    lines += _quantiles("ojs_queue_run_seconds", "From start to completion, lately.", totals, 1)
    if totals.lag is not None:
        lines += _gauge("ojs_events_lag_seconds", "How late changes were counted.")
        lines.append(f"ojs_events_lag_seconds {totals.lag.ms / 1000}")
    lines += [*_gauge("ojs_workers_active", "Workers that run and beat.")]
    lines.append(f"ojs_workers_active {running}")
    lines += [*_gauge("ojs_workers_busy", "Jobs that are being executed.")]
    lines += [
        f'ojs_workers_busy{{queue="{name}"}} {counts.counts.get("active", 0)}'
        for name, (counts, _) in totals.by_queue.items()
    ]
    if tenants:
        lines += _gauge("ojs_tenant_jobs", "Jobs of a tenant in a state.")
        lines += [
            f'ojs_tenant_jobs{{tenant_id="{name}",state="{state}"}} {amount}'
            for name, jobs in tenants.items()
            for state, amount in jobs.items()
        ]
    return "\n".join([*lines, ""])


def _gauge(name: str, about: str) -> tuple[str, str]:
    return f"# HELP {name} {about}", f"# TYPE {name} gauge"


def _quantiles(name: str, about: str, totals: Totals, part: int) -> list[str]:
    """Return percentiles of the queues in which any time was measured."""
    lines = [*_gauge(name, about)]
    for queue, tally in totals.times.items():
        times = (tally.waits, tally.runs)[part]
        for share in _SHARES if times.ranges else ():
            seconds = (times.percentile_ms(share) or 0) / 1000
            lines.append(f'{name}{{queue="{queue}",quantile="{share}"}} {seconds}')
    return lines


def metrics_answer(uptime_s: int, body: models.TotalsAnswer, today: Tally) -> models.MetricsAnswer:
    """Return the metrics of the command line; the totals count since midnight (UTC)."""
    return {
        "uptime_seconds": uptime_s,
        "jobs_enqueued_total": today.counts[TallyKind.ENQUEUED],
        "jobs_completed_total": today.counts[TallyKind.COMPLETED],
        "jobs_failed_total": today.counts[TallyKind.FAILED],
        "jobs_active": body["jobs"].get("active", 0),
        "queues_active": body["queues"] - body["queues_paused"],
        "workers_active": body["workers_by_state"].get("running", 0),
        "avg_latency_ms": today.runs.average_ms or 0,
        "throughput_per_second": body["throughput"]["processed_per_minute"] / 60,
    }
