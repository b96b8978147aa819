"""What AWS charges, and what a workload costs by it: one source for benchmarks, CLI and docs.

The units of each operation are those that ``python -m benchmarks.costs`` counts; the rest are
assumptions, which every estimate names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

PRICED_ON: Final = "2026-11"
REGION: Final = "us-east-1"
PRICES: Final[Mapping[str, float]] = {
    "write unit": 0.625e-6,
    "read unit": 0.125e-6,
    "SQS request": 0.40e-6,
    "Lambda request": 0.20e-6,
    "Lambda GB-second": 13.3334e-6,
    "HTTP API request": 1.00e-6,
    "table GB-month": 0.25,
    "alarm": 0.10,
}
"""Dollars: DynamoDB on demand, SQS standard queues, Lambda on arm64, API Gateway HTTP APIs."""

KILOBYTE: Final = 1024
INLINE_BYTES: Final = 4096
"""Larger documents leave the hot item (OJS_INLINE_LIMIT_BYTES)."""

_FRAME: Final = 400
"""Bytes of an item beside the document."""

_COMPRESSION: Final = 6
"""Of ordinary JSON in documents that leave the hot item."""

_EVENT_KB: Final = 0.5
_EVENTS: Final = 3
"""Events of a job that succeeds at once, and kilobytes of each in the log."""

_STREAM_RECORDS: Final = 100
_STREAM_MS: Final = 150
_TALLY_WRITES: Final = 0.03
"""Of the stream's consumer: records of an invocation, what it takes, counters for each job."""

_API_MS: Final = 30
_API_GB: Final = 0.5
_MONTH_S: Final = 30 * 24 * 3600
_GB: Final = 1_000_000_000
_IDLE_POLLS: Final = 5 * _MONTH_S / 20
"""Receives of an idle Lambda trigger in a month: five pollers that wait twenty seconds each."""

UNIQUE_WRITES: Final = 2
"""Write units of a lock in a transaction, which the job's item joins at twice its price; these and
the next are what ``python -m benchmarks.flow_costs`` counts."""

STEP_WRITES: Final = 4
STEP_READS: Final = 2
"""Of a workflow's step: the workflow and a result in the transaction that begins it; two reads."""

PLACE_WRITES: Final = 2
PLACE_READS: Final = 2
"""Of a place in a limit's bucket, taken and given back: in a transaction each."""

DUE_READS: Final = 2
"""Read units of the FETCH that makes a scheduled or retried job available; it writes once more."""

BATCHED_MESSAGES: Final = 0.1
BATCHED_WRITES: Final = 0.03
BATCHED_READS: Final = 1.0
BATCH_JOBS: Final = 1000
"""Of a job in a batch of so many: calls to SQS, its share of the log, the look whether ids are
free."""

_TICKS: Final = _MONTH_S / 60
_TICK_MS: Final = 100
_TICK_READS: Final = 0.75
"""Read units of a tick and queue, idle or not (``python -m benchmarks.sweep_costs``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What a backend has to do in a month.

    :ivar jobs: jobs enqueued.
    :ivar size_bytes: of an envelope's JSON.
    :ivar failure_rate: failed attempts for each job, 0.02 for two in a hundred.
    :ivar uses_http_workers: workers poll the API, instead of being invoked by SQS.
    :ivar queues: how many queues there are.
    :ivar job_ms: what a handler takes, for Lambda workers; 0 leaves their time out.
    :ivar worker_mb: memory of the worker function.
    :ivar retention_days: how long ended jobs are kept.
    :ivar unique: the share of jobs with a unique policy, 0.5 for half of them; likewise the others.
    :ivar steps: the share that are steps of workflows, begun one after the other.
    :ivar limited: the share that need a place in a limit's bucket.
    :ivar batched: the share that is enqueued in batches of a thousand.
    :ivar scheduled: the share that begins later than it is enqueued.
    """

    jobs: float
    size_bytes: int = 600
    failure_rate: float = 0.0
    uses_http_workers: bool = False
    queues: int = 1
    job_ms: float = 0.0
    worker_mb: int = 512
    retention_days: float = 7.0
    unique: float = 0.0
    steps: float = 0.0
    limited: float = 0.0
    batched: float = 0.0
    scheduled: float = 0.0


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an estimate.

    :ivar amount: how many units in a month.
    :ivar unit: name of the price.
    """

    what: str
    amount: float
    unit: str

    @property
    def dollars(self) -> float:
        """Dollars a month."""
        return self.amount * PRICES[self.unit]


ASSUMPTIONS: Final[Sequence[str]] = (
    f"prices of {REGION}, {PRICED_ON}, without free tiers, taxes, data transfer and logs",
    "a push is one request to the API; clients inside AWS that go directly save it",
    "steps of workflows begin one after the other; members of large groups cost less",
    f"an API request runs for {_API_MS} ms at {_API_GB} GB",
    f"{_STREAM_RECORDS} changes are told together, in {_STREAM_MS} ms; few at a time cost more",
    f"a job tells {_EVENTS} events of {_EVENT_KB} KB each; the event bus comes on top",
    "documents above 4 KB compress six to one; nothing above 300 KB (those are in S3)",
    "HTTP workers fetch one job a request; their own machines come on top",
)


def hot_kilobytes(size_bytes: int) -> int:
    """Begun kilobytes of a job's hot item."""
    inline = size_bytes if size_bytes <= INLINE_BYTES else 0
    return math.ceil((inline + _FRAME) / KILOBYTE)


def push_units(size_bytes: int) -> float:
    """Write units of a PUSH, its place in the index among them."""
    hot = hot_kilobytes(size_bytes)
    if size_bytes <= INLINE_BYTES:
        return hot + 1
    kept = math.ceil(size_bytes / KILOBYTE / _COMPRESSION * 0.95)
    return 2 * (hot + kept) + 1  # a transaction costs twice


def move_units(size_bytes: int) -> float:
    """Write units of FETCH, ACK and FAIL: the hot item, and its place in two lists."""
    return hot_kilobytes(size_bytes) + 2


def _orchestration(w: Workload, attempts: float) -> list[Line]:
    """What time, uniqueness, workflows, limits and batches add; nothing where there are none."""
    hot = hot_kilobytes(w.size_bytes)
    doubled = hot if w.size_bytes <= INLINE_BYTES else 0  # larger ones are transactions anyway
    unique, steps = w.jobs * w.unique, w.jobs * w.steps
    limited, batched = attempts * w.limited, w.jobs * w.batched
    due = w.jobs * w.scheduled + attempts - w.jobs
    # FETCH doubles the job's item, ACK too and tries in vain before; a place goes in and out.
    places = limited * (3 * hot + 2 * PLACE_WRITES)
    lines = [
        Line("made available, written", due * move_units(w.size_bytes), "write unit"),
        Line("made available, read", due * DUE_READS, "read unit"),
        Line("uniqueness, written", unique * (UNIQUE_WRITES + doubled), "write unit"),
        Line("workflows, written", steps * (STEP_WRITES + doubled), "write unit"),
        Line("workflows, read", steps * STEP_READS, "read unit"),
        Line("limits, written", places, "write unit"),
        Line("limits, read", limited * PLACE_READS, "read unit"),
        Line("batches, written", batched * BATCHED_WRITES, "write unit"),
        Line("batches, read", batched * BATCHED_READS, "read unit"),
    ]
    return [line for line in lines if line.amount]


def estimate(workload: Workload) -> list[Line]:
    """What a month costs, line by line.

    :raises ValueError: a number that is negative, or a share of more than all.
    """
    w = workload
    numbers = (w.jobs, w.size_bytes, w.failure_rate, w.queues, w.job_ms, w.retention_days)
    shares = (w.unique, w.steps, w.limited, w.batched, w.scheduled)
    if min(*numbers, *shares) < 0:
        raise ValueError("A workload has no negative numbers.")
    if max(shares) > 1:
        raise ValueError("A share is 1 at most.")
    attempts = w.jobs * (1 + w.failure_rate)
    failures = w.jobs * w.failure_rate
    move = move_units(w.size_bytes)
    pushes = w.jobs * (1 - w.batched + w.batched / BATCH_JOBS)
    sent = w.jobs * (1 - w.batched + w.batched * BATCHED_MESSAGES)
    calls = pushes + (2 * attempts if w.uses_http_workers else 0)
    batches = w.jobs * _EVENTS / _STREAM_RECORDS
    stored = (w.size_bytes + _FRAME) * w.jobs / 30 * w.retention_days / _GB
    lines = [
        Line("PUSH, written", w.jobs * push_units(w.size_bytes), "write unit"),
        Line("FETCH, ACK and FAIL, written", 2 * attempts * move, "write unit"),
        Line("heads of queues and jobs, read", attempts * 0.5 + failures, "read unit"),
        Line("event log, written", (w.jobs * _EVENTS + failures * 2) * _EVENT_KB, "write unit"),
        Line("counters, written", w.jobs * _TALLY_WRITES, "write unit"),
        Line("events, invocations", batches, "Lambda request"),
        Line("events, run", batches * _STREAM_MS / 1000 * _API_GB, "Lambda GB-second"),
        Line("messages", sent + 2 * attempts + failures, "SQS request"),
        Line("sweep, read", _TICKS * _TICK_READS * w.queues, "read unit"),
        Line("sweep, run", _TICKS * _TICK_MS / 1000 * _API_GB, "Lambda GB-second"),
        Line("jobs, stored", stored, "table GB-month"),
        Line("API, requests", calls, "HTTP API request"),
        Line("API, invocations", calls, "Lambda request"),
        Line("API, run", calls * _API_MS / 1000 * _API_GB, "Lambda GB-second"),
    ]
    lines += _orchestration(w, attempts)
    if not w.uses_http_workers:
        worked = attempts * w.job_ms / 1000 * w.worker_mb / KILOBYTE
        lines += [
            Line("triggers, waiting", _IDLE_POLLS * w.queues, "SQS request"),
            Line("workers, invocations", attempts, "Lambda request"),
            Line("workers, run", worked, "Lambda GB-second"),
        ]
    return lines
