"""Makes the adapters of a deployment, and what they need of the machine: time, ids, threads.

Each adapter is made, and its module loaded, when a service first asks for it: so a function loads
what its own routes need and no more.
"""

from __future__ import annotations

import importlib
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final, TypeVar

import uuid_utils

from ojs_aws.bootstrap.clients import AwsClients
from ojs_aws.config import Settings
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import cron_queue_name, sqs_queue_name

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.domain.queues.state import Triggers

A = TypeVar("A")
B = TypeVar("B")


class SystemClock:
    """Reads the machine's clock."""

    def __init__(self) -> None:
        """Start without a last stamp."""
        self._last = 0

    def now(self) -> Instant:
        """Return the current instant (milliseconds)."""
        return Instant(time.time_ns() // 1_000_000)

    def order(self) -> int:
        """Return strictly increasing microseconds."""
        self._last = max(self._last + 1, time.time_ns() // 1000)
        return self._last


class UuidGenerator:
    """Makes UUIDv7 identifiers."""

    def job_id(self) -> str:
        """Return a new lowercase UUIDv7."""
        return str(uuid_utils.uuid7())

    def request_id(self) -> str:
        """Return a new request id."""
        return f"req_{uuid_utils.uuid7()}"


def write_token() -> str:
    """Return a token that identifies one write (8 hexadecimal digits)."""
    return secrets.token_hex(4)


def new_reservation_id() -> str:
    """Return an id that identifies one claim of a job (12 hexadecimal digits)."""
    return secrets.token_hex(6)


THREADS: Final = 8
"""Fewer than the connections that botocore keeps for a client."""


class InThreads:
    """Runs calls in parallel; the threads are made at the first use and kept.

    A call sees the context variables of its caller, so that its log lines have the request's id,
    and its calls of AWS the request's trace.
    """

    def __init__(self) -> None:
        """Start without threads."""
        self._made: ThreadPoolExecutor | None = None

    @property
    def _pool(self) -> ThreadPoolExecutor:
        if self._made is None:
            self._made = ThreadPoolExecutor(THREADS, thread_name_prefix="ojs")
        return self._made

    def each(self, call: Callable[[A], B], items: Sequence[A]) -> Iterable[B]:
        """Call the function for each item, in order as threads become free."""
        contexts = [copy_context() for _ in items]
        return self._pool.map(lambda context, item: context.run(call, item), contexts, items)

    def both(self, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
        """Call both functions and wait for both."""
        ahead = self._pool.submit(copy_context().run, first)
        try:
            right = second()
        finally:
            left = ahead.result()
        return left, right


def made(path: str, *given: object) -> Callable[[], Any]:
    """Return what makes an adapter when it is called, and loads its module then.

    :param path: of its class, such as ``dynamodb.limits:Limits``.
    :param given: what it is made with.
    """

    def make() -> Any:
        module, _, name = path.partition(":")
        return getattr(importlib.import_module(f"ojs_aws.adapters.{module}"), name)(*given)

    return make


def stores_on_demand(
    settings: Settings, aws: AwsClients, store: JobStore
) -> dict[str, Callable[[], Any]]:
    """Return what makes the rarely needed stores of a deployment, by their names in ``Stores``."""
    table, lines = (aws.dynamodb, settings.table), dict(settings.wide_queues)
    bus = (settings.event_bus, settings.event_bus_types, settings.event_bus_type_prefix)
    log = made(
        "dynamodb.events.log:EventLog", *table, settings.event_retention_s, write_token, bool(lines)
    )
    alarms = settings.queue_url_prefix + cron_queue_name(settings.queue_prefix)
    kept_s = settings.completed_retention_s
    return {
        "announce": made("events:EventBus", aws.events, *bus),
        "api_keys": made("dynamodb.access:ApiKeys", *table),
        "batches": made("dynamodb.batches:Batches", *table, store.retention, write_token),
        "bulk": made("dynamodb.bulk:BulkRequests", *table),
        "client_buckets": made("dynamodb.access:ClientBuckets", *table),
        "cron": made("dynamodb.cron:CronEntries", *table, write_token),
        "depths": made("dynamodb.queues.depths:Depths", *table, lines),
        "events": log,
        "failure_groups": made("dynamodb.failure_groups:FailureGroups", *table),
        "fair_keys": made("dynamodb.fairness:FairKeys", *table),
        "limits": made("dynamodb.limits:Limits", *table),
        "line_marks": made("dynamodb.queues.line_marks:LineMarks", *table, lines),
        "pools": made("dynamodb.workers:WorkerPools", *table),
        "pressures": made("dynamodb.queues.depths:Pressures", *table),
        "queue_bindings": made("dynamodb.queues.bindings:QueueBindings", *table),
        "queue_settings": made("dynamodb.queues.settings:QueueSettingsStore", *table, write_token),
        "schemas": made("dynamodb.schemas:Schemas", *table, write_token),
        "sequences": made("dynamodb.sequences:Sequences", store),
        "tallies": made("dynamodb.queues.tallies:Tallies", *table),
        "tenant_tallies": made("dynamodb.queues.tallies:of_tenants", *table),
        "unique": made("dynamodb.unique:UniqueJobs", store),
        "wake_ups": made("sqs:CronWakeUps", aws.sqs, alarms),
        "watermarks": made("dynamodb.watermarks:Watermarks", *table),
        "workers": made("dynamodb.workers:WorkerRegistry", *table),
        "workflows": made("dynamodb.workflows.store:Workflows", *table, store, write_token, kept_s),
    }


def triggers(settings: Settings, aws: AwsClients) -> Triggers:
    """Return the switch of Lambda workers' triggers."""
    from ojs_aws.adapters.functions import LambdaTriggers
    from ojs_aws.adapters.sqs import queue_arn
    from ojs_aws.services.backend.foundation import NoTriggers

    if aws.functions is None:
        return NoTriggers()

    def arn_of(queue: str) -> str:
        name = sqs_queue_name(settings.queue_prefix, queue)
        return queue_arn(aws.sqs, settings.queue_url_prefix, name)

    return LambdaTriggers(aws.functions(), arn_of)
