"""Holds policies of jobs, and the attributes that a checked envelope and the job's record share.

Policies say how many jobs of a key may begin, in which order jobs run, and how long they stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.retry import RetryPolicy
from ojs_aws.domain.timestamps import Instant, format_duration


class OnLimit(StrEnum):
    """Says what happens to a job that may not begin."""

    WAIT = "wait"
    DROP = "drop"
    RESCHEDULE = "reschedule"


@dataclass(frozen=True, slots=True)
class Window:
    """Holds how many jobs may start in a period (milliseconds)."""

    limit: int
    period_ms: int

    @property
    def per_s(self) -> float:
        """Return how many jobs start per second on average."""
        return self.limit * 1000 / self.period_ms

    @property
    def spacing_ms(self) -> int:
        """Return the milliseconds between two evenly spaced starts."""
        return -(-self.period_ms // self.limit)

    def render(self) -> dict[str, JsonValue]:
        """Return it as the specification writes it."""
        return {"limit": self.limit, "period": format_duration(self.period_ms)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Holds a limit policy (ojs-rate-limiting, section 6).

    :ivar key: the bucket.
    :ivar concurrency: most active jobs; 0 lets none begin, None any number.
    """

    key: str
    concurrency: int | None = None
    rate: Window | None = None
    throttle: Window | None = None
    on_limit: OnLimit = OnLimit.WAIT

    @property
    def limits_nothing(self) -> bool:
        """Return whether any number of jobs may begin."""
        return self.concurrency is None and self.rate is None and self.throttle is None

    def render(self) -> dict[str, JsonValue]:
        """Return it as the specification writes it."""
        members: dict[str, JsonValue] = {"key": self.key}
        if self.concurrency is not None:
            members["concurrency"] = self.concurrency
        if self.rate is not None:
            members["rate"] = self.rate.render()
        if self.throttle is not None:
            members["throttle"] = self.throttle.render()
        if self.on_limit is not OnLimit.WAIT:
            members["on_limit"] = str(self.on_limit)
        return members


LimitOfType: TypeAlias = Callable[[str], Limit | None]
"""Returns the limit that jobs of a type have by the binding of their queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long ended jobs of a queue stay, in seconds; None where the deployment says it."""

    completed_s: int | None = None
    cancelled_s: int | None = None
    discarded_s: int | None = None
    dead_letter_s: int | None = None


NO_RETENTION: Final = Retention()


@dataclass(frozen=True, slots=True, kw_only=True)
class FairShare:
    """Holds whose share of a fair queue a job uses, and where that puts it.

    :ivar key: of the jobs that share; empty for all that name none.
    :ivar weight: how many starts the key gets for each start of a key of weight 1; None where the
        job names none and nothing was decided yet.
    :ivar start: its virtual start in nanoseconds; 0 before it first entered the ready list.
    :ivar cost: how long jobs of its type run, compared to all of its queue; None where every start
        costs the same.
    """

    key: str = ""
    weight: float | None = None
    start: int = 0
    cost: float | None = None

    @property
    def rate(self) -> float:
        """Return how many starts the key gets for each start of weight and cost 1."""
        return (self.weight or 1.0) / (self.cost or 1.0)


class OnDiscard(StrEnum):
    """Says what becomes of a sequence when a job of it was discarded after an attempt."""

    STOP = "stop"
    SKIP = "skip"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True, kw_only=True)
class SequencePlace:
    """Holds a job's place in a sequence: jobs with one key that run one after another.

    :ivar position: counts from 1 for each run of the sequence; 0 before the job is stored.
    :ivar is_blocked: the job is pending, or scheduled, and others of the sequence are before it.
    :ivar checks: whoever reads the table's stream looks whether the head has ended unnoticed.
    """

    key: str
    on_discard: OnDiscard = OnDiscard.STOP
    position: int = 0
    is_blocked: bool = False
    checks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAttributes:
    """Holds what the system decides on, as the checked envelope and the job's record both have it.

    A field added here is copied from the envelope into the record.

    :ivar retry_document: the client's or its queue's retry object, or None for the default policy.
    :ivar is_retry_queues: the retry object is its queue's; the client sent none.
    :ivar visibility_timeout_ms: the job's own reservation length in milliseconds, if it has one.
    :ivar limit: the job's own limit on how it begins, if it has one.
    :ivar result_ttl_s: seconds to keep its outcome: 0 for none, -1 for ever, None: as the job.
    :ivar result_limit_bytes: its own limit on the size of its result.
    :ivar tenant: whose it is; empty for the default tenant.
    :ivar sequence: its place among the jobs that run one after another, if it is one of such.
    :ivar fairness: whose share of its queue it uses, where the queue or the job says so.
    """

    id: str
    type: str
    queue: str
    priority: int
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    retry_document: RawJson | None = None
    is_retry_queues: bool = False
    visibility_timeout_ms: int | None = None
    scheduled_at: Instant | None = None
    expires_at: Instant | None = None
    limit: Limit | None = None
    result_ttl_s: int | None = None
    result_limit_bytes: int | None = None
    tenant: str = ""
    sequence: SequencePlace | None = None
    fairness: FairShare | None = None
