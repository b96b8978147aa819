"""Computes what one operation takes, and what time, uniqueness, workflows and limits add to a job.

DynamoDB bills a write by the begun kilobytes of the item, before or after it, whichever is more;
twice that in a transaction; and one for each row of the index that comes or goes. A document of
its own is put before the job, and read eventually consistent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from ojs_aws.pricing.workload import Line, Workload
from ojs_aws.topology import STREAM_BATCH

KILOBYTE: Final = 1024
READ_BLOCK: Final = 4096
INLINE_BYTES: Final = 1400
"""Envelopes that deflate to more leave the hot item (OJS_INLINE_ENVELOPE_BYTES)."""
S3_BYTES: Final = 8192
"""Documents that deflate to more are in S3 (OJS_S3_THRESHOLD_BYTES)."""
FIRST_BYTES: Final = 256
FIRST_COMPRESSION: Final = 1.5
"""How far deflating shortens the beginning of a JSON text: nothing in it is repeated yet."""
PUSHED_FRAME: Final = 170
"""Bytes of an item beside its document, when it has been pushed."""
CLAIMED_FRAME: Final = 585
"""The same under a reservation: the worker's id, and a receipt handle of 412 characters."""
FAILURE_BYTES: Final = 100
"""Bytes of a failed attempt, with an error of some words."""
BLOB_FRAME: Final = 75
DOCUMENT_REF_BYTES: Final = 275
"""Bytes by which a hot item refers to a document that has left it."""
EVENT_BYTES: Final = 55
"""Bytes of an event in a full chunk of the log: events are deflated together."""
DELETED: Final = 10
"""Messages that one request deletes at most."""
LISTED: Final = 36
"""Completed jobs of a queue that one item of their list holds, in one write unit."""
STREAM_POLL_S: Final = 0.25
LAMBDA_CLAIM_S: Final = 0.3
HTTP_CLAIM_S: Final = 1.5
"""How long a job waits for a Lambda worker, and for an HTTP worker that polls an idle queue."""
STREAM_RECORDS: Final = 3
"""Changes of a job that succeeds at once; each makes one event."""
BEAT_CHANGES: Final = 2
"""Changes of a heartbeat: the job's and the worker's."""
FAILED_CHANGES: Final = 3
"""Changes of a failed attempt: its end, the end of the wait, and the start of the next one."""
REQUEST_LOG: Final = 490
ENQUEUED_LOG: Final = 340
SOURCE_LOG: Final = 32
ACCESS_LOG: Final = 380
STREAM_LOG: Final = 290
TICK_LOG: Final = 790
"""Bytes of log for each request, push, request to the job endpoint, gateway request, stream batch
and tick; CloudWatch adds 26 to a line. Lambda's own lines of each invocation are not logged."""


def stored_bytes(size_bytes: int, compression: float) -> int:
    """Return the bytes that a document takes in the table."""
    first = min(size_bytes, FIRST_BYTES)
    rest = size_bytes - first
    return math.ceil(first / min(compression, FIRST_COMPRESSION) + rest / compression)


def is_inline(size_bytes: int, compression: float) -> bool:
    """Return whether a document is part of its hot item."""
    return stored_bytes(size_bytes, compression) <= INLINE_BYTES


def is_in_s3(size_bytes: int, compression: float) -> bool:
    """Return whether a document is in S3."""
    return stored_bytes(size_bytes, compression) > S3_BYTES


def hot_units(
    size_bytes: int, compression: float, *, is_claimed: bool, has_failed: bool = False
) -> int:
    """Return the started kilobytes of a job's hot item.

    :param has_failed: an attempt has failed before, whose error the item keeps.
    """
    stored = stored_bytes(size_bytes, compression)
    kept = stored if is_inline(size_bytes, compression) else DOCUMENT_REF_BYTES
    frame = CLAIMED_FRAME if is_claimed else PUSHED_FRAME
    return math.ceil((kept + frame + FAILURE_BYTES * has_failed) / KILOBYTE)


def blob_units(size_bytes: int, compression: float) -> int:
    """Return the started kilobytes of a document with an item of its own; 0 for none."""
    if is_inline(size_bytes, compression) or is_in_s3(size_bytes, compression):
        return 0
    stored = stored_bytes(size_bytes, compression)
    return math.ceil((stored + BLOB_FRAME) / KILOBYTE)


def push_units(size_bytes: int, compression: float) -> float:
    """Return the write units of a PUSH, its row of the index included."""
    hot = hot_units(size_bytes, compression, is_claimed=False)
    blob = blob_units(size_bytes, compression)
    return hot + blob + 1


def move_units(size_bytes: int, compression: float, *, has_failed: bool = False) -> float:
    """Return the write units of FETCH and FAIL: the hot item, and its rows in two lists."""
    return hot_units(size_bytes, compression, is_claimed=True, has_failed=has_failed) + 2


def due_units(size_bytes: int, compression: float, *, has_failed: bool = False) -> float:
    """Return the write units by which a job becomes available: likewise, without a reservation."""
    return hot_units(size_bytes, compression, is_claimed=False, has_failed=has_failed) + 2


def ack_units(size_bytes: int, compression: float, *, has_failed: bool = False) -> float:
    """Return the write units of ACK: the hot item, and the row that goes."""
    return hot_units(size_bytes, compression, is_claimed=True, has_failed=has_failed) + 1


def life_units(size_bytes: int, compression: float) -> float:
    """Return the write units of a job from PUSH to ACK, without what the stream's consumer adds."""
    return (
        push_units(size_bytes, compression)
        + move_units(size_bytes, compression)
        + ack_units(size_bytes, compression)
    )


def fetch_reads(size_bytes: int, compression: float) -> float:
    """Return the read units of a FETCH: two queries of the index, and a document of its own."""
    blob = blob_units(size_bytes, compression)
    return 1.0 + 0.5 * math.ceil(blob * KILOBYTE / READ_BLOCK)


def stream_batch(
    jobs_per_second: float, window_s: float, claim_s: float = 0.0, job_s: float = 0.0
) -> float:
    """Return how many changes an invocation of the stream's consumer gets.

    Lambda gathers changes for the batching window, also those of a job that is alone. Without a
    window, it takes what it finds when it asks a shard, four times a second: below a job a second,
    changes come one by one.

    :param claim_s: how long a job waits for its worker.
    :param job_s: how long its worker takes.
    """
    waiting = jobs_per_second * STREAM_RECORDS * max(window_s, STREAM_POLL_S)
    alone = STREAM_RECORDS / (1 + (claim_s >= window_s) + (job_s >= window_s))
    return min(max(waiting, alone), float(STREAM_BATCH))


def deleted_together(jobs: float) -> float:
    """Return how many messages an invocation that gets so many completed jobs deletes at once."""
    return min(max(jobs, 1.0), float(DELETED))


def listed_together(jobs: float) -> float:
    """Return how many of so many completed jobs an invocation lists in one write."""
    return min(max(jobs, 1.0), float(LISTED))


def stream_units(records: float) -> float:
    """Return the write units of an invocation with this many changes: the log, and one counter."""
    return math.ceil(records * EVENT_BYTES / KILOBYTE) + 1


def changes_of(w: Workload) -> float:
    """Return the changes that the stream's consumer reads."""
    more = w.scheduled + w.steps + BEAT_CHANGES * w.heartbeats
    return w.jobs * (STREAM_RECORDS + more) + w.failures * FAILED_CHANGES


def invocations(w: Workload) -> tuple[float, float]:
    """Return the invocations of the stream's consumer, and the changes of each.

    Jobs are spread over the shards evenly, and each shard has invocations of its own.
    """
    records = changes_of(w)
    claim_s = HTTP_CLAIM_S if w.uses_http_workers else LAMBDA_CLAIM_S
    each_job = records / w.jobs if w.jobs else STREAM_RECORDS
    rate = w.jobs_per_second / w.shards * each_job / STREAM_RECORDS
    each = stream_batch(rate, w.stream_window_s, claim_s, w.job_ms / 1000)
    return records / each, each


def jobs_together(w: Workload) -> float:
    """Return of how many jobs an invocation of the stream's consumer gets all changes."""
    batches, _ = invocations(w)
    return w.jobs / batches if batches else 1.0


def log_bytes(w: Workload, pushes: float, worked: float, *, ticks: float) -> float:
    """Return the bytes that the functions and the gateway write.

    :param pushes: requests that enqueue jobs.
    :param worked: requests of workers.
    """
    batches, _ = invocations(w)
    access = ACCESS_LOG * w.has_access_log if w.uses_gateway else SOURCE_LOG
    each_push = REQUEST_LOG + ENQUEUED_LOG + access
    work = worked * (REQUEST_LOG + access)
    return pushes * each_push + work + batches * STREAM_LOG + ticks * TICK_LOG


UNIQUE_WRITES: Final = 2
"""Write units of a lock in a transaction, which the job's item joins at twice its price; these and
the next are what ``python -m benchmarks.flow_costs`` counts."""

STEP_WRITES: Final = 4
STEP_READS: Final = 2
"""Of a workflow's step: the workflow and a result in the transaction that begins it; two reads."""

SLOT_WRITES: Final = 2
SLOT_READS: Final = 2
"""Of a slot in a limit's bucket, taken and given back: in a transaction each."""

PASSED_MESSAGES: Final = 4
PASSED_READS: Final = 2
"""Requests and read units of the message by which a Lambda worker passes a slot on: it is sent,
received, and deleted by the worker that finds nobody waiting, and by the trigger."""

DUE_READS: Final = 2
"""Read units of the FETCH that makes a scheduled or retried job available; it writes once more."""

BATCH_WRITES: Final = 30
"""Write units of a large batch beside its jobs: its log, the decision, its marks."""

BATCH_READS: Final = 1.0
"""Read units of each job of a large batch: the look whether its id is free."""

TRANSACTION_JOBS: Final = 100
"""Batches up to this size are one transaction, which doubles the price of their items."""


def slot_units(size_bytes: int, compression: float) -> float:
    """Return the write units that a limit adds to a job's life.

    FETCH doubles the job's item, ACK too, and tries in vain before; a slot goes in and out.
    """
    return 3 * hot_units(size_bytes, compression, is_claimed=True) + 2 * SLOT_WRITES


def orchestration(w: Workload) -> Iterator[Line]:
    """Yield what time, uniqueness, workflows, limits and batches add."""
    hot = hot_units(w.size_bytes, w.compression, is_claimed=False)
    document = blob_units(w.size_bytes, w.compression)
    unique, steps, limited = w.jobs * w.unique, w.jobs * w.steps, w.attempts * w.limited
    due, again = (
        due_units(w.size_bytes, w.compression, has_failed=failed) for failed in (False, True)
    )
    scheduled = w.jobs * w.scheduled
    slots = limited * slot_units(w.size_bytes, w.compression)
    available = scheduled * due + w.failures * again
    yield Line("made available, written", available, "write unit")
    yield Line("made available, read", (scheduled + w.failures) * DUE_READS, "read unit")
    yield Line("uniqueness, written", unique * (UNIQUE_WRITES + hot + document), "write unit")
    yield Line("workflows, written", steps * (STEP_WRITES + hot), "write unit")
    yield Line("workflows, read", steps * STEP_READS, "read unit")
    yield Line("limits, written", slots, "write unit")
    passed = 0.0 if w.uses_http_workers else limited
    yield Line("limits, read", limited * SLOT_READS + passed * PASSED_READS, "read unit")
    yield Line("limits, messages", passed * PASSED_MESSAGES, "SQS request")
    batched = w.jobs * w.batched
    if w.batch_jobs <= TRANSACTION_JOBS:
        yield Line("batches, written", batched * hot * (w.batch_jobs > 1), "write unit")
    else:
        yield Line("batches, written", batched / w.batch_jobs * BATCH_WRITES, "write unit")
        yield Line("batches, read", batched * BATCH_READS, "read unit")
