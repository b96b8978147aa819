"""Describe filters of jobs, and what the backend answers about jobs and queues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypedDict

from ojs_aws.domain.errors import JsonValue


class JobFilter(TypedDict, total=False):
    """Which jobs are meant: those that match all that is said.

    ``type`` is a job type, or the beginning of one and ``*``. They were created ``since`` an
    instant or later, and before ``until``: aware datetimes. ``tag`` is one of their tags, and
    ``error`` a part of the latest error's type and message, ignoring case.
    """

    queue: str
    states: Iterable[str]
    type: str
    since: datetime | None
    until: datetime | None
    tag: str
    error: str


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """Holds the outcome for one job.

    :ivar status: ``done`` (of a dry run ``matched``), ``skipped`` (no longer discarded),
        ``not_found``, or ``failed`` (whether it took effect may be unknown).
    """

    job_id: str
    status: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEntry:
    """A job as it is shown in a list.

    :ivar described: everything that the backend says of it.
    """

    id: str
    type: str
    queue: str
    state: str
    attempt: int
    created_at: str
    described: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage:
    """Holds a page of jobs.

    :ivar cursor: where the next page starts; empty on the last one. A page may be short, or
        empty, and yet have one.
    :ivar total: how many match.
    :ivar is_exact: whether exactly so many do.
    :ivar total_is: ``exact``, an ``estimate``, or ``at_least``: a lower bound.
    :ivar examined: how many jobs were looked at for it.
    """

    jobs: Sequence[JobEntry]
    cursor: str
    total: int
    is_exact: bool
    examined: int = 0
    total_is: str = "exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobBulkResult:
    """Holds the outcome of one request of a bulk change, or of its dry run.

    :ivar matched: jobs that it met.
    :ivar succeeded: ids of those that were changed; of a dry run, those that would be.
    :ivar failed: the outcomes of the others.
    :ivar cursor: where to go on; empty when no more jobs match.
    :ivar as_of: of a dry run: the instant whose states it counted (RFC 3339).
    :ivar examined: jobs that it looked at.
    """

    matched: int
    succeeded: Sequence[str]
    failed: Sequence[BulkOutcome]
    cursor: str = ""
    as_of: str = ""
    examined: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReason:
    """Describes one cause for which a job does not run now.

    :ivar code: names it for programs, such as ``queue_paused``.
    :ivar message: one or two sentences for people.
    :ivar until: when it ends by itself (RFC 3339); empty where nobody knows.
    :ivar hint: a command that shows more or helps; empty for none.
    :ivar described: everything that the backend says of it; ``data`` has the numbers.
    """

    code: str
    message: str
    until: str = ""
    hint: str = ""
    described: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDiagnosis:
    """Says why a job does not run now.

    :ivar state: the job's state as of now.
    :ivar reasons: the most important one first.
    :ivar checked: what the backend looked at.
    """

    state: str
    reasons: Sequence[JobReason]
    checked: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEntry:
    """Describes a queue.

    :ivar paused_at: RFC 3339; None while it is not paused.
    :ivar described: everything that the backend says of it.
    """

    name: str
    paused: bool
    paused_at: str | None = None
    described: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingEntry:
    """Describes what a queue is, or may be, bound to (docs/lambda-bindings.md).

    It is a Lambda function, an endpoint (docs/push-delivery.md) or an ECS task.

    :ivar job_types: that it runs; none while nobody has registered any.
    :ivar is_registered: whether they were registered, and are not the stack's.
    :ivar state: ``active`` or ``suspended``.
    :ivar reason: why it is suspended; empty while it is not.
    :ivar kind: ``lambda``, ``https`` or ``ecs``.
    :ivar endpoint: the registered URL of the kind ``https``.
    :ivar config: how its jobs run: ``timeout_ms``, ``max_concurrency`` and ``retry``, where
        something says so.
    :ivar described: everything that the backend says of it.
    """

    name: str
    queue: str
    job_types: tuple[str, ...]
    is_registered: bool
    state: str
    reason: str = ""
    kind: str = "lambda"
    endpoint: str = ""
    config: Mapping[str, JsonValue] = field(default_factory=dict)
    described: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueNumbers:
    """The jobs of a queue in numbers, and what it did in the last hour.

    :ivar depth: jobs that have not ended.
    :ivar estimated: names of the numbers that are not exact: of completed jobs there are about so
        many, of others at least.
    :ivar described: everything that the backend says, durations and throughput among it.
    """

    name: str
    paused: bool
    available: int
    active: int
    scheduled: int
    retryable: int
    completed: int
    discarded: int
    depth: int
    estimated: Sequence[str] = ()
    described: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueDetail:
    """A queue, how long its jobs wait, and what it does.

    :ivar state: ``active``, ``paused`` or ``draining``.
    :ivar depth: jobs that have not ended.
    :ivar oldest_available_at: since when the oldest ready job waits (RFC 3339); empty for none.
    :ivar counts: jobs by state; those named in ``estimated`` are not exact, as in
        :class:`QueueNumbers`.
    :ivar throughput: ``enqueued``, ``processed`` and ``failed_per_minute`` in the last hour.
    :ivar described: everything that the backend says of it, its settings among it.
    """

    name: str
    state: str
    depth: int
    oldest_available_at: str = ""
    counts: Mapping[str, JsonValue] = field(default_factory=dict)
    throughput: Mapping[str, JsonValue] = field(default_factory=dict)
    estimated: Sequence[str] = ()
    described: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Purged:
    """Holds the outcome of one call of a purge.

    :ivar deleted: jobs that had ended, which are gone.
    :ivar cancelled: the others, which are cancelled now.
    :ivar cursor: where to go on; empty when the purge is over.
    """

    deleted: int
    cancelled: int
    cursor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """Holds a queue with its settings (ojs-queue-config, section 6).

    :ivar state: ``active``, ``paused`` or ``draining``.
    :ivar config: what holds: its own settings over the default policy's and the deployment's.
    :ivar own: what was set for this very queue.
    :ivar described: everything that the backend says of it.
    """

    name: str
    state: str
    config: Mapping[str, JsonValue]
    own: Mapping[str, JsonValue]
    described: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)
