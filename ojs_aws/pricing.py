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

_API_MS: Final = 30
_API_GB: Final = 0.5
_MONTH_S: Final = 30 * 24 * 3600
_GB: Final = 1_000_000_000
_IDLE_POLLS: Final = 5 * _MONTH_S / 20
"""Receives of an idle Lambda trigger in a month: five pollers that wait twenty seconds each."""

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
    """

    jobs: float
    size_bytes: int = 600
    failure_rate: float = 0.0
    uses_http_workers: bool = False
    queues: int = 1
    job_ms: float = 0.0
    worker_mb: int = 512
    retention_days: float = 7.0


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
    f"an API request runs for {_API_MS} ms at {_API_GB} GB",
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


def estimate(workload: Workload) -> list[Line]:
    """What a month costs, line by line.

    :raises ValueError: a number that is negative.
    """
    w = workload
    numbers = (w.jobs, w.size_bytes, w.failure_rate, w.queues, w.job_ms, w.retention_days)
    if min(numbers) < 0:
        raise ValueError("A workload has no negative numbers.")
    attempts = w.jobs * (1 + w.failure_rate)
    failures = w.jobs * w.failure_rate
    move = move_units(w.size_bytes)
    calls = w.jobs + (2 * attempts if w.uses_http_workers else 0)
    stored = (w.size_bytes + _FRAME) * w.jobs / 30 * w.retention_days / _GB
    lines = [
        Line("PUSH, written", w.jobs * push_units(w.size_bytes), "write unit"),
        Line("FETCH, ACK and FAIL, written", 2 * attempts * move, "write unit"),
        Line("heads of queues and jobs, read", attempts * 0.5 + failures, "read unit"),
        Line("event log, written", (w.jobs * _EVENTS + failures * 2) * _EVENT_KB, "write unit"),
        Line("messages", w.jobs + 2 * attempts + failures, "SQS request"),
        Line("sweep, read", _TICKS * _TICK_READS * w.queues, "read unit"),
        Line("sweep, run", _TICKS * _TICK_MS / 1000 * _API_GB, "Lambda GB-second"),
        Line("jobs, stored", stored, "table GB-month"),
        Line("API, requests", calls, "HTTP API request"),
        Line("API, invocations", calls, "Lambda request"),
        Line("API, run", calls * _API_MS / 1000 * _API_GB, "Lambda GB-second"),
    ]
    if not w.uses_http_workers:
        worked = attempts * w.job_ms / 1000 * w.worker_mb / KILOBYTE
        lines += [
            Line("triggers, waiting", _IDLE_POLLS * w.queues, "SQS request"),
            Line("workers, invocations", attempts, "Lambda request"),
            Line("workers, run", worked, "Lambda GB-second"),
        ]
    return lines
