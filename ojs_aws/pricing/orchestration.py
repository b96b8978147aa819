"""Computes what time, uniqueness, workflows, limits and batches add to a job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ojs_aws.pricing import units
from ojs_aws.pricing.prices import Line
from ojs_aws.pricing.workload import Workload

UNIQUE_WRITES: Final = 2
"""Write units of a lock in a transaction, which the job's item joins at twice its price; these and
the next are what ``python -m benchmarks.flow_costs`` counts."""

STEP_WRITES: Final = 4
STEP_READS: Final = 2
"""Of a workflow's step: the workflow and a result in the transaction that begins it; two reads."""

PLACE_WRITES: Final = 2
PLACE_READS: Final = 2
"""Of a place in a limit's bucket, taken and given back: in a transaction each."""

PASSED_MESSAGES: Final = 4
PASSED_READS: Final = 2
"""Requests and read units of the message by which a Lambda worker passes a place on: it is sent,
received, and deleted by the worker that finds nobody waiting, and by the trigger."""

DUE_READS: Final = 2
"""Read units of the FETCH that makes a scheduled or retried job available; it writes once more."""

BATCH_WRITES: Final = 30
"""Write units of a large batch beside its jobs: its log, the decision, its marks."""

BATCH_READS: Final = 1.0
"""Read units of each job of a large batch: the look whether its id is free."""

TRANSACTION_JOBS: Final = 100
"""Batches up to this size are one transaction, which doubles the price of their items."""


def place_units(size_bytes: int, compression: float) -> float:
    """Return the write units that a limit adds to a job's life.

    FETCH doubles the job's item, ACK too, and tries in vain before; a place goes in and out.
    """
    return 3 * units.hot_units(size_bytes, compression, is_claimed=True) + 2 * PLACE_WRITES


def orchestration(w: Workload) -> Iterator[Line]:
    """Yield what time, uniqueness, workflows, limits and batches add."""
    hot = units.hot_units(w.size_bytes, w.compression, is_claimed=False)
    document = units.blob_units(w.size_bytes, w.compression)
    unique, steps, limited = w.jobs * w.unique, w.jobs * w.steps, w.attempts * w.limited
    due, again = (
        units.due_units(w.size_bytes, w.compression, has_failed=failed) for failed in (False, True)
    )
    scheduled = w.jobs * w.scheduled
    places = limited * place_units(w.size_bytes, w.compression)
    available = scheduled * due + w.failures * again
    yield Line("made available, written", available, "write unit")
    yield Line("made available, read", (scheduled + w.failures) * DUE_READS, "read unit")
    yield Line("uniqueness, written", unique * (UNIQUE_WRITES + hot + document), "write unit")
    yield Line("workflows, written", steps * (STEP_WRITES + hot), "write unit")
    yield Line("workflows, read", steps * STEP_READS, "read unit")
    yield Line("limits, written", places, "write unit")
    passed = 0.0 if w.uses_http_workers else limited
    yield Line("limits, read", limited * PLACE_READS + passed * PASSED_READS, "read unit")
    yield Line("limits, messages", passed * PASSED_MESSAGES, "SQS request")
    batched = w.jobs * w.batched
    if w.batch_jobs <= TRANSACTION_JOBS:
        yield Line("batches, written", batched * hot * (w.batch_jobs > 1), "write unit")
    else:
        yield Line("batches, written", batched / w.batch_jobs * BATCH_WRITES, "write unit")
        yield Line("batches, read", batched * BATCH_READS, "read unit")
