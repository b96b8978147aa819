"""Counts the changes of jobs that the stream's consumer reads, and its invocations."""

from __future__ import annotations

from typing import Final

from ojs_aws.pricing import units
from ojs_aws.pricing.workload import Workload

BEAT_CHANGES: Final = 2
"""Changes of a heartbeat: the job's and the worker's."""

FAILED_CHANGES: Final = 3
"""Changes of a failed attempt: its end, the end of the wait, and the start of the next one."""


def changes_of(w: Workload) -> float:
    """Return the changes that the stream's consumer reads."""
    more = w.scheduled + w.steps + BEAT_CHANGES * w.heartbeats
    return w.jobs * (units.STREAM_RECORDS + more) + w.failures * FAILED_CHANGES


def invocations(w: Workload) -> tuple[float, float]:
    """Return the invocations of the stream's consumer, and the changes of each.

    Jobs are spread over the shards evenly, and each shard has invocations of its own.
    """
    records = changes_of(w)
    claim_s = units.HTTP_CLAIM_S if w.uses_http_workers else units.LAMBDA_CLAIM_S
    each_job = records / w.jobs if w.jobs else units.STREAM_RECORDS
    rate = w.jobs_per_second / w.shards * each_job / units.STREAM_RECORDS
    each = units.stream_batch(rate, w.stream_window_s, claim_s, w.job_ms / 1000)
    return records / each, each


def jobs_together(w: Workload) -> float:
    """Return of how many jobs an invocation of the stream's consumer gets all changes."""
    batches, _ = invocations(w)
    return w.jobs / batches if batches else 1.0
