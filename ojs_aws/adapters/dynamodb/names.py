"""Names the attributes of the table's items. Short, because DynamoDB bills names, too."""

from __future__ import annotations

from typing import Final

from ojs_aws.domain.jobs.ready_keys import READY_BASE, line_of
from ojs_aws.topology import JOB_SORT_KEY, STATE_ATTRIBUTE

PK: Final = "pk"
SK: Final = "sk"
GPK: Final = "gpk"
GSK: Final = "gsk"
TTL: Final = "ttl"

STATE: Final = STATE_ATTRIBUTE
TYPE: Final = "ty"
QUEUE: Final = "qu"
PRIORITY: Final = "pr"
ATTEMPT: Final = "at"
UNCOUNTED: Final = "un"
VERSION: Final = "v"
ORDER: Final = "o"
TOKEN: Final = "tk"  # noqa: S105 - of a write, not of a person
DOCUMENT: Final = "d"
RETRY: Final = "rp"
RETRY_OF_QUEUE: Final = "rq"
TIMEOUT: Final = "to"
VISIBILITY: Final = "vt"
CREATED: Final = "cr"
ENQUEUED: Final = "en"
ACTIVATED: Final = "ac"
STARTED: Final = "sa"
COMPLETED: Final = "co"
CANCELLED: Final = "ca"
DISCARDED: Final = "di"
SCHEDULED: Final = "sc"
EXPIRES: Final = "ex"
NEXT_ATTEMPT: Final = "nx"
RETRY_DELAY: Final = "rd"
WORKER: Final = "w"
RESERVATION: Final = "ri"
RESERVED_UNTIL: Final = "re"
RESERVED_FOR: Final = "rv"
EXECUTION_ENDS: Final = "rx"
ALIVE_UNTIL: Final = "ra"
HANDLE: Final = "rh"
MESSAGE_JOB: Final = "rm"
LIMIT: Final = "lm"
SLOTS: Final = "lp"
DONE_LIST: Final = "gc"
"""Where the index will list the job when it completes: ACK copies it without knowing the queue."""
FAILURES: Final = "f"
PAST_FAILURES: Final = "pf"
RESULT: Final = "rs"
DEAD_LETTER: Final = "dd"
WORKFLOW: Final = "wf"
WORKFLOW_STEP: Final = "wi"
REPLAY: Final = "rn"
UNIQUE_KEY: Final = "uk"
BY_STREAM: Final = "bs"
RESULT_TTL: Final = "rt"
RESULT_LIMIT: Final = "rl"
KEPT: Final = "rk"
"""Seconds that the completed job will be kept, where its outcome asks for more than usual."""
PROGRESS: Final = "pg"
CHECKPOINT: Final = "cp"
CHECKPOINTS: Final = "cn"
COUNTED: Final = "bq"
MESSAGE_LEFT: Final = "ml"
LISTING_LEFT: Final = "ll"
KEPT_COMPLETED: Final = "kc"
"""Seconds that the job stays when it has ended, each for one way to end; from its queue."""
KEPT_CANCELLED: Final = "kx"
KEPT_DISCARDED: Final = "kd"
KEPT_DEAD: Final = "kl"
BY: Final = "by"
"""Who made the last change that an operator makes."""
TENANT: Final = "tn"
"""Whose job it is, where it is not the default tenant's."""
FAIRNESS: Final = "fs"
"""Whose share of a fair queue it uses, in a map of its own."""
SEQUENCE: Final = "sq"
"""Its place among jobs that run one after another, in a map of its own."""
SHARD: Final = "sh"
"""The line of its queue that it stands in, where that is not the first."""

HOLDER: Final = "j"
"""On the lock of a uniqueness key: the job that holds it."""
APPLIED: Final = "ap"
"""On such a lock: the push whose arguments were last put into that job."""

BATCH: Final = "ba"
"""On such a lock: the batch that took it, and the job that had it before."""
PREVIOUS: Final = "jp"

KEPT_SPANS: Final = {
    KEPT_COMPLETED: "completed_s",
    KEPT_CANCELLED: "cancelled_s",
    KEPT_DISCARDED: "discarded_s",
    KEPT_DEAD: "dead_letter_s",
}
"""Seconds that an ended job stays, by the members of a retention."""

OPTIONAL_TEXTS: Final = {BY: "changed_by", TENANT: "tenant"}
"""Texts of a job record that are stored where they are not empty."""

TEXTS: Final = {TYPE: "type", QUEUE: "queue"}
"""Texts of a job record."""

NUMBERS: Final = {
    ATTEMPT: "attempt",
    VERSION: "version",
    ORDER: "order",
    CREATED: "created_at",
    TIMEOUT: "timeout_ms",
}
"""Numbers of a job record that are always stored."""

COUNTS: Final = {
    PRIORITY: "priority",
    UNCOUNTED: "uncounted_attempts",
    CHECKPOINTS: "checkpoints",
    SHARD: "shard",
}
"""Numbers of a job record that are stored where they are not 0."""

OPTIONAL_NUMBERS: Final = {
    VISIBILITY: "visibility_timeout_ms",
    RETRY_DELAY: "retry_delay_ms",
    RESULT_TTL: "result_ttl_s",
    RESULT_LIMIT: "result_limit_bytes",
    WORKFLOW_STEP: "workflow_step",
    ENQUEUED: "enqueued_at",
    ACTIVATED: "activated_at",
    STARTED: "started_at",
    COMPLETED: "completed_at",
    CANCELLED: "cancelled_at",
    DISCARDED: "discarded_at",
    SCHEDULED: "scheduled_at",
    EXPIRES: "expires_at",
    NEXT_ATTEMPT: "next_attempt_at",
}
"""Numbers and instants of a job record that are stored where it has them."""

FLAGS: Final = {
    BY_STREAM: "is_by_stream",
    COUNTED: "is_counted",
    RETRY_OF_QUEUE: "is_retry_queues",
    DEAD_LETTER: "is_dead_letter",
    MESSAGE_LEFT: "is_message_left",
    LISTING_LEFT: "is_listing_left",
}
"""Truths about a job record, stored where they hold."""

JOB_SK: Final = JOB_SORT_KEY
LOCK_SK: Final = "lock"
BLOB: Final = "blob#"


CLIENT: Final = "client#"
"""Begins the partition keys of API clients' buckets."""
DEPTHS: Final = "depths"
"""The partition of how many jobs bounded queues have."""


def job_pk(job_id: str) -> str:
    """Return the partition key of everything that belongs to a job."""
    return f"job#{job_id}"


def lock_pk(key: str) -> str:
    """Return the partition key of the lock of a uniqueness key."""
    return f"uniq#{key}"


def fair_pk(line: str, priority: int, key: str) -> str:
    """Return the partition key of a fairness key; no queue has a # in its name."""
    return f"fair#{line}#{priority}#{key}"


def sequence_pk(tenant: str, key: str) -> str:
    """Return the partition key of a sequence; no tenant has a # in its id."""
    return f"seq#{tenant}#{key}"


def job_id_of(pk: str) -> str:
    """Return the job that a partition key belongs to."""
    return pk.removeprefix("job#")


def blob_sk(digest: str) -> str:
    """Return the sort key of a document that has an item of its own."""
    return f"{BLOB}{digest}"


def list_key(queue: str, name: str, shard: int = 0) -> str:
    """Return the partition of the index that holds one list of a queue, or of one of its lines."""
    return f"{line_of(queue, shard)}|{name}" if shard else f"{queue}|{name}"


def instant_key(milliseconds: int) -> str:
    """Return the sort key of an instant; as text it sorts by time until the year 9999."""
    return f"{max(milliseconds, 0):015d}"


FAR: Final = "+"
"""Ends the sort key of a waiting job whose due time was beyond SQS's reach when it was written."""


RANK: Final = "#"
"""Goes before the priority in the sort key of a waiting job; sorts before FAR."""


def due_key(milliseconds: int, *, is_far: bool, priority: int | None = None) -> str:
    """Return the sort key of a waiting job: its due time, and what sweep and FETCH need to know.

    :param priority: None where who writes the key does not know it.
    """
    rank = "" if priority is None else f"{RANK}{READY_BASE - priority:03d}"
    return instant_key(milliseconds) + rank + (FAR if is_far else "")


def due_of(key: str) -> int:
    """Return the instant in the sort key of a waiting job."""
    return int(key.partition(RANK)[0].removesuffix(FAR))


def priority_of(key: str) -> int | None:
    """Return the priority in the sort key of a waiting job, if it is there."""
    rank = key.partition(RANK)[2].removesuffix(FAR)
    return READY_BASE - int(rank) if rank else None
