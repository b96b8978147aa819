"""Defines the table, its index and the SQS queues, in one place.

Pure data: the CDK app, the local server and the tests all build from here, so that what is
tested is what is deployed. Short names save money: DynamoDB bills attribute names, too.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Index:
    """Describes a global secondary index: its keys (strings) and the projected attributes."""

    name: str
    partition_key: str
    sort_key: str
    projected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Describes the table: string keys, one sparse index, TTL attribute and stream view."""

    partition_key: str
    sort_key: str
    ttl_attribute: str
    stream_view: Literal["NEW_AND_OLD_IMAGES"]
    index: Index


TABLE: Final = Table(
    partition_key="pk",
    sort_key="sk",
    ttl_attribute="ttl",
    stream_view="NEW_AND_OLD_IMAGES",
    # `st`, `ty`, `vt` and `to` let FETCH claim, and the sweep arm, without reading the job first.
    index=Index("lists", "gpk", "gsk", ("st", "ty", "vt", "to")),
)

JOB_SORT_KEY: Final = "job"
"""Sort key of the items of jobs; each has a partition of its own."""

EVENT_TRIES_PARTITION: Final = "tries#events"
EXPORT_TRIES_PARTITION: Final = "tries#export"
"""Partitions of the records of the stream that may end the functions which read it."""

STATE_ATTRIBUTE: Final = "st"
"""Of a job's item: its state."""

ENDED_STATES: Final = ("completed", "cancelled", "discarded")
"""The values of that attribute that are final."""

EXPORT_PREFIX: Final = "jobs"
"""Begins the name of each file of an export."""

DOCUMENT_PREFIX: Final = "jobs/"
"""Begins the keys of documents in the bucket."""

EVENT_PREFIX: Final = "events/"
"""Begins the keys of jobs that are too large for the events of functions."""

WORKFLOW_SORT_KEY: Final = "workflow"
"""Sort key of the items of workflows; each has a partition of its own."""

STREAMED_SORT_KEYS: Final = (JOB_SORT_KEY, WORKFLOW_SORT_KEY)
"""Sort keys of items whose every change the stream publishes, whatever their partition."""

STREAM_BATCH: Final = 500
"""Changes that an invocation of the stream's consumer gets at most. Their events fit one append of
the event log (docs/decisions/0125-the-consumer-gets-five-hundred-changes-at-once.md)."""

SETTINGS_PARTITION: Final = "settings"
"""Partition of the settings of queues."""

PRESSURE_PARTITION: Final = "pressure"
"""Partition of what events report of full queues: warnings, and what was rejected."""

BULK_PARTITION: Final = "bulk"
"""Partition of the finished bulk operations that the stream publishes."""

OPERATION_PARTITION: Final = "operations"
"""Partition of the records of who did what, where no changed item says so."""

SCHEMA_LIST: Final = "schemas"
"""Partition of the list of all versions of schemas."""

TICK_PARTITION: Final = "tick"
"""Partition of the item that each tick writes at its end. The stream's consumer notes that it has
seen the change, so that the next tick knows whether the stream is read."""

STREAMED_PARTITIONS: Final = (
    "cron",
    "workers",
    SETTINGS_PARTITION,
    PRESSURE_PARTITION,
    BULK_PARTITION,
    OPERATION_PARTITION,
    SCHEMA_LIST,
    TICK_PARTITION,
)
"""Partitions of items whose every change the stream publishes, beside the jobs."""

BATCHES_PARTITION: Final = "batches"
"""Partition of the committed batches whose jobs may not all be in their places."""

QUEUE_PARTITION: Final = "queues"
LIMIT_PARTITION: Final = "limits"
PAUSED_ATTRIBUTE: Final = "pa"
"""Of the queues only pausing is published: the sweep touches their items each minute. Of the
buckets of limits only their exhaustion, which the same attribute says: each job touches one."""

KEY_PARTITION: Final = "apikeys"
"""Partition of the records of API keys: only the authorizer's role may read it."""

MESSAGE_RETENTION_S: Final = 14 * 24 * 3600
"""How long SQS keeps a message (its maximum, in seconds); the sweep sends lost ones again."""

MAX_DELAY_S: Final = 900
"""SQS delays a message by at most this many seconds; the sweep arms what is due later."""

MAX_RECEIVE_COUNT: Final = 1000
"""Receives before SQS gives a message to the dead-letter queue: only unreadable ones get there,
the retry policy lives in the job."""

OWNER_TAG: Final = "ojs-queue-prefix"
"""Tag of what belongs to a deployment and is found by it: the triggers of its workers, and the SQS
queues that were made at their first use. Its value is the prefix of the deployment's queues, which
is unique in an account and region."""

REMOVAL_TAG: Final = "ojs-removal"
REMOVED_WITH_STACK: Final = "destroy"
"""Tag of a bucket, and its value where the bucket goes with its stack: only then is it emptied."""

METRICS: Final = "OJS"
"""CloudWatch namespace of the metrics. Their dimension ``service`` is a function's name."""

QUEUE_DIMENSION: Final = "queue"
"""The second dimension of metrics about one queue: its OJS name."""

SECRETS: Final = "OJS_SECRETS"
"""The variable that names the ARNs of a worker's secrets, as a JSON object by their names."""
DELIVERY: Final = "OJS_DELIVERY"
"""The variable that says, as a JSON object, what a function delivers, and to which endpoint."""
DELIVERY_START_S: Final = 10
"""What an endpoint that may have to start gets beside its timeout, in seconds."""
REPORT_URL: Final = "OJS_REPORT_URL"
"""The variable by which a dispatcher lets functions report on their jobs: the URL of the API."""
BINDINGS: Final = "OJS_BINDINGS"
"""The variable that says, as a JSON array, which functions run the jobs of which queues."""
TASK_LEASE_S: Final = 600
"""For how long a job is reserved for its task, in seconds. While the task runs, the sweep extends
it each time that half of it is over."""
SIGNING_SECRET: Final = "OJS_SIGNING_SECRET"  # noqa: S105 - a name
"""The secret that signs delivered jobs, where nobody names another one."""
TASK_PROTECTION: Final = "OJS_TASK_PROTECTION"
"""The variable by which a worker on ECS protects its task while it runs jobs."""

AGE_METRIC: Final = "OldestAvailable"
"""For how long the longest waiting of a queue's next hundred jobs has been available, in
milliseconds; nothing for a queue that is empty or paused. Without a queue: the longest of all."""

DEAD_LETTERED_METRIC: Final = "ojs.job.dead_lettered"
"""Jobs of a queue that became dead letters. Without a queue: those of all queues."""

UNDECLARED_METRIC: Final = "UndeclaredQueues"
"""Queues that came to be on their first use."""

LAG_METRIC: Final = "SweepLag"
"""How long the most overdue job without a message had been due, in milliseconds."""

SET_ASIDE_METRIC: Final = "EventsSetAside"
"""Changes whose events could not be published; each of them needs an operator."""

REFUSED_PUTS_METRIC: Final = "EventPutsRefused"
"""Puts of the event log that were refused because another shard's consumer came first. They are
billed, and made again."""

EVENTS_LAG_METRIC: Final = "EventsLag"
"""How long ago the newest tick was written whose change the stream's consumer has handled, in
milliseconds: about a minute where all is well. Nothing until it has handled one."""

LEFT_OUT_METRIC: Final = "ExportLeftOut"
"""Changes that could not be exported; the jobs are missing in the files."""

LEFT_METRIC: Final = "SweepLeft"
"""Queues, jobs and large batches that a sweep could not do, or had no time for."""

SUSPENDED_METRIC: Final = "BindingsSuspended"
"""Bindings of a queue that suspended themselves, as their function or endpoint is wrong. Without a
queue: those of all queues."""

LOST_METRIC: Final = "BatchesLost"
"""Large batches that were given up because something of their log is gone; each needs somebody."""

OUTBOX_AGE_METRIC: Final = "OutboxAge"
"""For how long the oldest row of an outbox has been waiting, in seconds, after its relay ran."""

OUTBOX_PARKED_METRIC: Final = "OutboxParked"
"""Rows of an outbox that its relay has given up; each needs an operator."""

OUTBOX_DATABASE: Final = "OJS_OUTBOX_DATABASE"
"""The variable that has the URL of the database with an outbox, as SQLAlchemy writes it."""

OUTBOX_TABLE: Final = "OJS_OUTBOX_TABLE"
"""The variable that names the outbox's table."""

EVENT_RULES: Final = "OJS_EVENT_RULES"
"""The setting that says which events make which jobs."""

OUTBOX_PASSWORD: Final = "OJS_OUTBOX_PASSWORD"  # noqa: S105 - a name
"""The secret that is the password for that database."""

ALARM_RETENTION_S: Final = 3600
"""How long SQS keeps the alarm of a cron job; the tick has done its work long before (seconds)."""

DEFAULT_QUEUE: Final = "default"
"""The OJS queue that works on every deployment without configuration (core, section 5.1)."""

SQS_NAME_LIMIT: Final = 80
_HASH_LENGTH: Final = 16


QUEUE_SEPARATOR: Final = "__"
"""Stands between prefix and queue in the names of SQS queues. No prefix holds an underscore, so
the first one ends it: no two deployments can give one name to their queues, and no pattern of one
deployment covers queues of another."""

OLD_QUEUE_SEPARATOR: Final = "-"
"""What stood there before, and still does in deployments that were made with it."""


def task_group(queue_prefix: str) -> str:
    """Return the group of a deployment's tasks, which tells them from those of another one."""
    return f"ojs-{queue_prefix}"


def queue_name_prefix(prefix: str, separator: str) -> str:
    """Return the prefix of a deployment, for the functions of this module.

    :param prefix: the deployment's own prefix.
    :param separator: one of the two separators.
    """
    return prefix + separator if separator == QUEUE_SEPARATOR else prefix


def _prefix(prefix: str, name: str) -> str:
    """Put a prefix before a name, joined by the old separator unless it ends with the new one."""
    separator = "" if prefix.endswith(QUEUE_SEPARATOR) else OLD_QUEUE_SEPARATOR
    return f"{prefix}{separator}{name}"


def sqs_queue_name(prefix: str, queue: str) -> str:
    """Return the name of the SQS queue behind an OJS queue.

    OJS names may hold dots and 128 characters; SQS names neither. Dots become underscores (which
    OJS names cannot hold), and a name that is too long ends in a hash instead.

    :param prefix: of the deployment: see :func:`queue_name_prefix`.
    :param queue: a valid OJS queue name.
    """
    name = _prefix(prefix, queue.replace(".", "_"))
    if len(name) <= SQS_NAME_LIMIT:
        return name
    digest = hashlib.sha256(queue.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{name[: SQS_NAME_LIMIT - _HASH_LENGTH - 1]}_{digest}"


def is_streamed(partition: str, sort_key: str) -> bool:
    """Return whether the stream's consumer gets changes of an item, by its key.

    What the trigger's filters say when deployed (queues there only when they are paused, buckets
    of limits only while they are exhausted).
    """
    streamed = (*STREAMED_PARTITIONS, QUEUE_PARTITION, LIMIT_PARTITION)
    return sort_key in STREAMED_SORT_KEYS or partition in streamed


def dead_letter_queue_name(prefix: str) -> str:
    """Return the name of the SQS queue for unreadable messages.

    The capital letters keep it apart from every OJS queue's.
    """
    return _prefix(prefix, "UNREADABLE")


def any_queue_name(prefix: str) -> str:
    """Return the pattern of the names of all SQS queues of a deployment, for IAM."""
    return _prefix(prefix, "*")


def cron_queue_name(prefix: str) -> str:
    """Return the name of the SQS queue whose messages wake the tick for a due cron job.

    The capital letters keep it apart from every OJS queue's.
    """
    return _prefix(prefix, "CRON")
