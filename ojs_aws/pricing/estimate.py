"""Computes the lines of a bill from a workload."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from ojs_aws.pricing import units
from ojs_aws.pricing.units import log_bytes, orchestration
from ojs_aws.pricing.workload import (
    MONTH_S,
    NEW_TABLE_PARTITIONS,
    ORDINARY_JSON,
    PRICED_ON,
    RANDOM_TOKENS,
    REGION,
    Line,
    Workload,
)
from ojs_aws.topology import STREAM_BATCH

GB: Final = 1_000_000_000
API_GB: Final = 0.5
API_MS: Final = 30
DISPATCH_MS: Final = 60
SETTLE_MS: Final = 20
"""What dispatcher and settler take for a job, each in an invocation of its own. Busy ones share an
invocation among up to ten jobs."""
LEASE_MINUTES: Final = 5
LEASE_WRITES: Final = 1
"""How often the job of a running task is reserved anew, and the unit of it beside the item's: the
job's row of the index (``tests/unit/worker/test_task_costs.py``)."""
STREAM_MS: Final = 50
STREAM_RECORD_MS: Final = 1
TICK_MS: Final = 100
TICKS: Final = MONTH_S / 60
TICK_READS: Final = 1.3
TICK_WRITES: Final = 1
"""Read units of a tick and queue, idle or not, and write units of a tick
(``python -m benchmarks.sweep_costs``)."""

MARK_WRITES: Final = 1
MARK_READS: Final = 0.5
"""Units by which the stream's consumer notes that it has handled a tick, and the next one reads it
(``tests/functions/test_events_lag.py``)."""

IDLE_POLLS: Final = 5 * MONTH_S / 20
"""Receives of an idle Lambda trigger in a month: five pollers that wait twenty seconds each."""

ALARMS: Final = 19
"""Alarms of the stack, however many queues it has; a test compares them with the template. A job
endpoint has one more."""

FEW: Final = 1e-9
"""Jobs of a month in which a queue is in use, and next to nothing is paid for jobs."""

TICK_METRICS: Final = 2
QUEUE_METRICS: Final = 7
SHARED_METRICS: Final = 1
"""Custom metrics that are published all the time, those of a queue whose jobs succeed, and those of
all queues together once there are jobs: the longest wait."""

KEY_CACHED_S: Final = 300
IDLE_CALLERS: Final = 2
CALLERS: Final = 3
"""How long DynamoDB remembers the table's key for each role that uses the table, the roles that do
so without a job (the tick, and the reader of the stream), and those that jobs add: who pushes, the
authorizer, and the workers' function. All roles of a deployment together are some ten."""

BACKUP_DAYS: Final = 35
"""Days that the bucket keeps deleted documents; a test compares them with the construct's."""

BEAT_WRITES: Final = 2.0
"""Units of a heartbeat beside the job's item: the worker's entry, and two for the job's row of the
index at each second heartbeat. A worker that beats more often than it must moves the row less."""

GROUP_WRITES: Final = 1
"""Write units of the item that groups failures by error; up to three where errors differ much."""


ASSUMPTIONS: Final[Sequence[str]] = (
    f"list prices of {REGION}, {PRICED_ON}, without free tiers, taxes and data transfer",
    "a push is one request, if it is not direct; requests use the gateway, or the job endpoint",
    "steps of workflows begin one after the other, without a request; large groups cost less",
    "creating workflows is not included",
    f"an API request runs for {API_MS} ms at {API_GB} GB",
    f"dispatcher and settler of bindings run for {DISPATCH_MS} and {SETTLE_MS} ms a job",
    f"a stream of {NEW_TABLE_PARTITIONS} shards, as that of a new table, unless you say otherwise",
    f"the changes of a shard come evenly, {STREAM_BATCH} together at most",
    "DynamoDB removes expired jobs many at a time, and refuses no append to the event log",
    f"jobs wait {units.LAMBDA_CLAIM_S:g} s for Lambda workers, {units.HTTP_CLAIM_S:g} s for polls",
    f"random tokens deflate {RANDOM_TOKENS:g} to one, ordinary JSON {ORDINARY_JSON:g} to one",
    "HTTP workers fetch one job a request; their own machines come on top",
    "a delivery to an endpoint has an invocation of its own; busy ones share it among up to ten",
    "tasks are Fargate's on arm64, and report how their jobs ended",
)


def estimate(workload: Workload) -> list[Line]:
    """Return what a month costs, line by line, standing costs included."""
    lines = [
        *_jobs(workload),
        *_documents(workload),
        *orchestration(workload),
        *_stream(workload),
        *_requests(workload),
        *_workers(workload),
        *_standing(workload),
        *_logs(workload),
    ]
    return [line for line in lines if line.amount]


def standing(workload: Workload) -> float:
    """Return the dollars of a month without a job."""
    idle = replace(workload, jobs=0, empty_polls=0)
    return sum(line.dollars for line in estimate(idle))


def million(workload: Workload) -> float:
    """Return the dollars of a million jobs, without standing costs.

    :raises ZeroDivisionError: the workload has no jobs.
    """
    few = replace(workload, jobs=FEW, empty_polls=0, rate=workload.jobs_per_second)
    whole, fixed = (sum(line.dollars for line in estimate(each)) for each in (workload, few))
    return (whole - fixed) / workload.jobs * 1e6


def _jobs(w: Workload) -> Iterator[Line]:
    """Yield the units of PUSH, FETCH, ACK and FAIL. Each job is taken to succeed in the end."""
    push = units.push_units(w.size_bytes, w.compression)
    move, again = (
        units.move_units(w.size_bytes, w.compression, has_failed=failed) for failed in (False, True)
    )
    fetch = units.fetch_reads(w.size_bytes, w.compression)
    sent = w.jobs * (1 - w.batched + w.batched / min(w.batch_jobs, 10))
    messages = sent + 2 * w.attempts + w.failures
    if w.uses_http_workers:  # FAIL keeps the message; the stream's consumer deletes many at once
        together = units.deleted_together(units.jobs_together(w))
        messages -= w.failures + w.jobs * (1 - 1 / together)
    elif (
        w.uses_bindings or w.uses_tasks
    ):  # the message of a dispatched job stays until the stream deletes it
        messages -= w.jobs * (1 - 1 / units.deleted_together(units.jobs_together(w)))
    is_in_table = not units.is_in_s3(w.size_bytes, w.compression)
    document = units.stored_bytes(w.size_bytes, w.compression) if is_in_table else 0
    stored = document + units.CLAIMED_FRAME
    kept = stored * w.jobs / 30 * w.retention_days / GB
    yield Line("PUSH, written", w.jobs * push, "write unit")
    moved = w.jobs * move + w.failures * (again + move)
    yield Line("FETCH, ACK and FAIL, written", moved + _acks(w), "write unit")
    failed = w.failures * w.uses_http_workers  # a Lambda worker knows the job
    yield Line("FETCH and FAIL, read", w.attempts * fetch + failed, "read unit")
    yield Line("messages", messages, "SQS request")
    yield Line("jobs, stored", kept, "table GB-month")
    yield Line("jobs, in backups", kept, "backup GB-month")


def _acks(w: Workload) -> float:
    """Return the write units of all ACKs; the item of a job that has failed before is larger."""
    first, later = (
        units.ack_units(w.size_bytes, w.compression, has_failed=failed) for failed in (False, True)
    )
    retried = min(w.failures, w.jobs)
    return (w.jobs - retried) * first + retried * later


def _documents(w: Workload) -> Iterator[Line]:
    """Yield what documents in S3 cost."""
    if units.is_in_s3(w.size_bytes, w.compression):
        yield Line("documents, put", w.jobs, "S3 PUT")
        yield Line("documents, got", w.attempts, "S3 GET")
        days = w.retention_days + BACKUP_DAYS
        kept = w.size_bytes * w.jobs / 30 * days / GB
        yield Line("documents, stored", kept, "S3 GB-month")


def _stream(w: Workload) -> Iterator[Line]:
    """Yield what follows each change: the event log, counters, the bus."""
    invocations, each = units.invocations(w)
    run_s = invocations * (STREAM_MS + each * STREAM_RECORD_MS) / 1000
    yield Line("events, written", invocations * units.stream_units(each), "write unit")
    yield Line(
        "completed jobs, listed",
        w.jobs / units.listed_together(units.jobs_together(w)),
        "write unit",
    )
    if w.failures:  # batches with a failure add to the item of its queue and hour
        with_failures = invocations * -math.expm1(-w.failures / invocations)
        yield Line("failures, grouped", with_failures * GROUP_WRITES, "write unit")
    yield Line("events, invocations", invocations, "Lambda request")
    yield Line("events, run", run_s * API_GB, "Lambda GB-second")
    if w.has_bus:
        yield Line("event bus", w.jobs + w.failures, "bus event")


def _calls(w: Workload) -> tuple[float, float]:
    """Return the pushes and the workers' requests."""
    pushes = w.jobs * (1 - w.batched + w.batched / w.batch_jobs) * (not w.is_direct)
    worked = 2 * w.attempts if w.uses_http_workers or w.uses_tasks else 0.0
    return pushes * (1 - w.steps), worked + w.empty_polls + w.jobs * w.heartbeats


def _requests(w: Workload) -> Iterator[Line]:
    """Yield the API's requests, and the units behind heartbeats and empty polls."""
    calls, beats = sum(_calls(w)), w.jobs * w.heartbeats
    yield Line("API, requests", calls * w.uses_gateway, "HTTP API request")
    yield Line("API, invocations", calls, "Lambda request")
    yield Line("API, run", calls * API_MS / 1000 * API_GB, "Lambda GB-second")
    yield Line("empty polls, read", w.empty_polls, "read unit")
    yield Line("empty polls, received", w.empty_polls, "SQS request")
    beat = BEAT_WRITES + units.hot_units(w.size_bytes, w.compression, is_claimed=True)
    yield Line("heartbeats, written", beats * beat, "write unit")
    yield Line("heartbeats, messages", beats, "SQS request")


def _workers(w: Workload) -> Iterator[Line]:
    """Yield the costs of Lambda workers."""
    if w.uses_http_workers:
        return
    worked = 0.0 if w.uses_tasks else w.attempts * w.job_ms / 1000 * w.worker_mb / units.KILOBYTE
    yield Line("triggers, waiting", IDLE_POLLS * w.queues, "SQS request")
    passed = w.attempts * w.limited  # each invokes a worker
    yield Line("workers, invocations", w.attempts + passed, "Lambda request")
    yield Line("workers, run", worked, "Lambda GB-second")
    if w.uses_bindings:
        yield from _bindings(w)
    if w.uses_tasks:
        yield from _tasks(w)
    if w.uses_endpoints:
        yield Line("bindings, read", w.attempts, "read unit")


def _bindings(w: Workload) -> Iterator[Line]:
    """Yield what a dispatched job costs beside one of a Lambda worker."""
    run_s = w.attempts * (DISPATCH_MS + SETTLE_MS) / 1000
    yield Line("functions' requests", w.attempts, "Lambda request")
    yield Line("outcomes, sent and received", 3 * w.attempts, "SQS request")
    yield Line("outcomes' trigger, waiting", IDLE_POLLS, "SQS request")
    yield Line("settler, invocations", w.attempts, "Lambda request")
    yield Line("dispatcher and settler, run", run_s * API_GB, "Lambda GB-second")
    yield Line("bindings, read", w.attempts, "read unit")


def _tasks(w: Workload) -> Iterator[Line]:
    """Yield what a job in a task costs beside one of a Lambda worker."""
    minutes = w.attempts * w.job_ms / 60_000
    run_s = w.attempts * (DISPATCH_MS + SETTLE_MS) / 1000
    item = units.hot_units(w.size_bytes, w.compression, is_claimed=True)
    yield Line("tasks, processors", minutes / 60 * w.task_vcpu, "vCPU-hour")
    yield Line("tasks, memory", minutes / 60 * w.task_gb, "task GB-hour")
    reads = units.fetch_reads(w.size_bytes, w.compression)
    yield Line("bindings, jobs and ends, read", w.attempts * (reads + 2), "read unit")
    yield Line("ends, sent and received", 3 * w.attempts, "SQS request")
    yield Line("ends' trigger, waiting", IDLE_POLLS, "SQS request")
    yield Line("settler, invocations", w.attempts, "Lambda request")
    yield Line("dispatcher and settler, run", run_s * API_GB, "Lambda GB-second")
    yield Line("leases, read", minutes, "read unit")
    yield Line("leases, written", minutes / LEASE_MINUTES * (item + LEASE_WRITES), "write unit")
    yield Line("leases, messages", minutes / LEASE_MINUTES, "SQS request")
    yield Line("tasks' sweep, invocations", TICKS, "Lambda request")
    yield Line("tasks' sweep, run", TICKS * TICK_MS / 1000 * API_GB, "Lambda GB-second")


def _standing(w: Workload) -> Iterator[Line]:
    """Yield what a month costs without a job."""
    yield Line("sweep, read", TICKS * TICK_READS * w.queues, "read unit")
    yield Line("sweep, written", TICKS * TICK_WRITES, "write unit")
    yield Line("sweep, invocations", TICKS, "Lambda request")
    yield Line("sweep, run", TICKS * TICK_MS / 1000 * API_GB, "Lambda GB-second")
    yield Line("events' lag, read", TICKS * MARK_READS, "read unit")
    yield Line("events' lag, written", TICKS * MARK_WRITES, "write unit")
    yield Line("events' lag, invocations", TICKS, "Lambda request")
    mark_s = (STREAM_MS + STREAM_RECORD_MS) / 1000
    yield Line("events' lag, run", TICKS * mark_s * API_GB, "Lambda GB-second")
    yield Line("cron's trigger, waiting", IDLE_POLLS, "SQS request")
    callers = (IDLE_CALLERS + CALLERS * bool(w.jobs)) * w.has_account_key
    yield Line("table's key, asked for", callers * MONTH_S / KEY_CACHED_S, "KMS request")
    in_use = SHARED_METRICS + w.queues * QUEUE_METRICS
    yield Line("metrics", TICK_METRICS + in_use * bool(w.jobs), "metric")
    if w.has_alarms:
        yield Line("alarms", ALARMS + (not w.uses_gateway), "alarm")
    if w.has_dashboard:
        yield Line("dashboard", 1, "dashboard")


def _logs(w: Workload) -> Iterator[Line]:
    """Yield what the functions and the gateway write into their logs."""
    yield Line("logs", log_bytes(w, *_calls(w), ticks=TICKS) / GB, "log GB")
