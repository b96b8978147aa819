"""Holds a job as the system stores it: what it decides on, and the client's own document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, TypeAlias

from ojs_aws.domain.job_policies import NO_RETENTION, CheckedAttributes, Retention
from ojs_aws.domain.jobs.progress import Progress
from ojs_aws.domain.jobs.ready_keys import fair_ready_key, ready_key, ready_sort_key
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant


class JobState(StrEnum):
    """Names the eight states (core, section 6.1)."""

    SCHEDULED = "scheduled"
    AVAILABLE = "available"
    PENDING = "pending"
    ACTIVE = "active"
    COMPLETED = "completed"
    RETRYABLE = "retryable"
    CANCELLED = "cancelled"
    DISCARDED = "discarded"

    @property
    def is_terminal(self) -> bool:
        """Return whether a job never leaves this state by itself."""
        return self in _TERMINAL


_TERMINAL: Final = frozenset({JobState.COMPLETED, JobState.CANCELLED, JobState.DISCARDED})


@dataclass(frozen=True, slots=True)
class StoredElsewhere:
    """Points to a document outside the job's item: its storage (``item`` or ``s3``) and bytes.

    :ivar trace_id: the trace that it names, so that events need not read it; empty for none.
    """

    storage: str
    digest: str
    size_bytes: int
    trace_id: str = ""


Document: TypeAlias = RawJson | StoredElsewhere
"""JSON text, or where it is stored."""


def size_of(document: Document) -> int:
    """Return the size of a document in bytes, wherever it is kept."""
    return len(document.encode()) if isinstance(document, str) else document.size_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Holds the right of one worker to execute one attempt of a job.

    :ivar id: new with each claim; empty where an earlier version made the claim.
    :ivar worker_id: the holder, or empty when it gave no name.
    :ivar expires_at: when the visibility timeout ends, unless a heartbeat moves it.
    :ivar execution_ends_at: when the execution timeout ends; heartbeats do not move it.
    :ivar alive_until: when its worker counts as dead without a heartbeat; None if it sends none.
    :ivar message_handle: receipt handle of the SQS message that carries the reservation, or empty.
    :ivar message_job_id: the job which that message names; another job's message may serve.
    :ivar slots: keys of the limits in whose buckets it takes a slot until it ends.
    :ivar length_ms: what the job was fetched for, where neither the job nor the deployment's
        default says it.
    :ivar listed_at: when the waiting list shows the job as due, if that is before it is: a
        heartbeat left the row where it was. None for a row at the due time.
    """

    worker_id: str
    expires_at: Instant
    execution_ends_at: Instant
    alive_until: Instant | None = None
    message_handle: str = ""
    message_job_id: str = ""
    slots: tuple[str, ...] = ()
    id: str = ""
    length_ms: int | None = None
    listed_at: Instant | None = None

    @property
    def due_at(self) -> Instant:
        """Return when the attempt times out or its reservation expires, whichever comes first."""
        due = min(self.expires_at, self.execution_ends_at)
        return due if self.alive_until is None else min(due, self.alive_until)

    @property
    def row_at(self) -> Instant:
        """Return the instant at which the waiting list shows it as due, never after it is due."""
        return self.due_at if self.listed_at is None else min(self.listed_at, self.due_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Holds what a worker saved of an execution for the next attempt (ojs-durable-execution).

    :ivar state: any JSON value; with notes an object of the state and of them.
    :ivar sequence: number of checkpoints of the job so far.
    :ivar has_notes: whether the worker gave notes, too; ``checkpoints.opened`` separates them.
    """

    state: Document
    sequence: int
    created_at: Instant
    has_notes: bool = False


REDACTED: Final = "(redacted)"
"""Stands for the message of a failure that is not kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Describes one failed attempt (core, section 8.1; ojs-retry, section 10.1).

    :ivar type: class of the error; what retry patterns are matched against, with the code.
    :ivar code: code of the HTTP binding's error object, or empty.
    :ivar retryable: what the worker said, if it said anything.
    :ivar backtrace: frames, bounded in number and characters.
    :ivar extra: the error's other attributes as they were sent (details among them).
    """

    type: str
    message: str
    attempt: int
    occurred_at: Instant
    code: str = ""
    retryable: bool | None = None
    backtrace: tuple[str, ...] = ()
    extra: Mapping[str, RawJson] = field(default_factory=dict)
    error_class: str = ""

    def without_backtrace(self) -> Failure:
        """Return the failure without its frames; only the latest failure keeps them."""
        return replace(self, backtrace=()) if self.backtrace else self

    def without_message(self) -> Failure:
        """Return only the failure's type and code: message and details may quote arguments."""
        return replace(self, message=REDACTED, extra={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Records that a rule enqueued a dead letter again (ojs-dead-letter, section 7.2).

    :ivar count: how many times, since it was last retried by an operator.
    :ivar rule: name of the rule that did it last.
    """

    count: int
    at: Instant
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord(CheckedAttributes):
    """Holds a job's whole state. Immutable: transitions return a new record.

    :ivar version: number of writes so far; each write is conditional on the one it read.
    :ivar token: names the write that stored this version; empty where that is not known. A job that
        was deleted and pushed again has the same versions, with other tokens.
    :ivar order: microsecond stamp that gives the order within a priority; unique per process.
    :ivar document: the client's members except the promoted ones (id, type, queue, retry, pending).
    :ivar timeout_ms: execution timeout in milliseconds.
    :ivar next_attempt_at: when a retryable job becomes available.
    :ivar retry_delay_ms: the last backoff, in milliseconds.
    :ivar failures: error history of the current life, oldest first.
    :ivar past_failures: error history before the last manual retry.
    :ivar is_dead_letter: discarded by a policy that says ``dead_letter``.
    :ivar workflow_id: the workflow that it is a part of, or empty; ``workflow_step`` is its index.
    :ivar replay: its automatic replays, if there were any.
    :ivar unique_key: the uniqueness key that it was enqueued under, or empty.
    :ivar kept: how long it stays when it has ended, where its queue said that as it was enqueued.
    :ivar is_counted: its queue's depth counts it since before it was stored.
    :ivar is_message_left: completed; whoever reads the table's stream deletes its message.
    :ivar is_listing_left: completed; whoever reads the table's stream lists it.
    :ivar is_by_stream: an application's transaction stored it; the stream's reader sends for it.
    :ivar kept_until: when the store removes the ended job; None where it does not say.
    :ivar progress: what the attempt that reported last said.
    :ivar checkpoint: the latest one, until the job is over; ``checkpoints`` counts those saved.
    :ivar uncounted_attempts: attempts that were given back, and do not count (decision 55).
    :ivar changed_by: who made which version by hand, the latest of them (see ``actor.py``).
    :ivar shard: the line of its queue that it stands in, for life; 0 for the first.
    """

    state: JobState
    attempt: int
    version: int
    order: int
    document: Document
    timeout_ms: int
    created_at: Instant
    enqueued_at: Instant | None = None
    activated_at: Instant | None = None
    started_at: Instant | None = None
    completed_at: Instant | None = None
    cancelled_at: Instant | None = None
    discarded_at: Instant | None = None
    next_attempt_at: Instant | None = None
    retry_delay_ms: int | None = None
    reservation: Reservation | None = None
    failures: tuple[Failure, ...] = ()
    past_failures: tuple[Failure, ...] = ()
    result: Document | None = None
    is_dead_letter: bool = False
    workflow_id: str = ""
    workflow_step: int | None = None
    replay: Replay | None = None
    unique_key: str = ""
    is_by_stream: bool = False
    kept_until: Instant | None = field(default=None, compare=False)
    progress: Progress | None = None
    checkpoint: Checkpoint | None = None
    checkpoints: int = 0
    uncounted_attempts: int = 0
    kept: Retention = NO_RETENTION
    is_counted: bool = False
    is_message_left: bool = False
    is_listing_left: bool = False
    changed_by: str = ""
    shard: int = 0
    token: str = field(default="", compare=False)

    def next_version(self, **changes: Any) -> JobRecord:
        """Return the version after this one, which no write has stored yet."""
        return replace(self, version=self.version + 1, token="", **changes)

    @property
    def document_bytes(self) -> int:
        """Return the size of the document in bytes, wherever it is stored."""
        return size_of(self.document)

    @property
    def is_whole(self) -> bool:
        """Return whether all its documents are loaded."""
        checkpoint = self.checkpoint.state if self.checkpoint else None
        parts = (self.document, self.result, checkpoint)
        return not any(isinstance(part, StoredElsewhere) for part in parts)

    @property
    def ready_key(self) -> str:
        """Return the key in the queue's ready list: by priority (higher first), then order.

        Behind it stand the bucket of its limit and its tenant, so FETCH can pass it by unread.
        """
        fair = self.fairness
        if fair is not None and fair.start:
            limit_key = "" if self.limit is None else self.limit.key
            return fair_ready_key(self.priority, fair.start, self.order, limit_key, self.tenant)
        sort_key = ready_sort_key(self.priority, self.order)
        if self.limit is None and not self.tenant:
            return sort_key
        return ready_key(sort_key, "" if self.limit is None else self.limit.key, self.tenant)

    @property
    def allowed_attempts(self) -> int:
        """Return how many executions the policy allows; a policy of 0 still runs the job once."""
        return max(self.retry.max_attempts, 1)

    @property
    def counted_attempts(self) -> int:
        """Return the attempts that count against the policy's maximum, the running one included."""
        return self.attempt - self.uncounted_attempts

    @property
    def current_progress(self) -> Progress | None:
        """Return the progress of the current attempt; 1 for a completed job (ojs-progress, 8)."""
        known = self.progress
        if known is None or known.attempt != self.attempt:
            return None
        return replace(known, fraction=1.0) if self.state is JobState.COMPLETED else known

    @property
    def error(self) -> Failure | None:
        """Return the latest failure, until a success clears it."""
        return self.failures[-1] if self.failures and self.state is not JobState.COMPLETED else None


def is_blocked(job: JobRecord) -> bool:
    """Return whether a job waits for others of its sequence."""
    return job.sequence is not None and job.sequence.is_blocked
