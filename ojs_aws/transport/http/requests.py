"""Declares what bodies have in common, and those that hold jobs: pydantic's models.

PUSH checks envelopes itself, on the raw text. Only the OpenAPI document, and handlers that need a
model, import this module.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from ojs_aws.config import MAX_BATCH_JOBS
from ojs_aws.domain import attributes
from ojs_aws.domain.envelope import DEFAULT_QUEUE
from ojs_aws.domain.job_policies import OnDiscard
from ojs_aws.domain.jobs import validation
from ojs_aws.domain.retry import MAX_ATTEMPTS
from ojs_aws.services.outcomes.results import MAX_IDS

JobId = Annotated[
    str,
    Field(pattern=f"^{attributes.ID_PATTERN}$", examples=["019539a4-b68c-7def-8000-1a2b3c4d5e6f"]),
]
JobType = Annotated[
    str,
    Field(
        pattern=f"^{attributes.TYPE_PATTERN}$",
        min_length=1,
        max_length=attributes.MAX_TYPE_LENGTH,
        examples=["email.send"],
    ),
]
QueueName = Annotated[
    str,
    Field(
        pattern=f"^{attributes.QUEUE_PATTERN}$",
        min_length=1,
        max_length=attributes.MAX_QUEUE_LENGTH,
        examples=["default"],
    ),
]
ShortText = Annotated[str, Field(max_length=256)]
VisibilityMs = Annotated[
    int, Field(ge=validation.MIN_VISIBILITY_MS, le=validation.MAX_VISIBILITY_MS)
]

LARGEST_COUNT = 1_000_000


class Body(BaseModel):
    """What every body has in common: strict types, and room for what it does not name."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow", strict=True, frozen=True)


class WindowBody(Body):
    """So many starts in a period (ojs-rate-limiting, section 6.1)."""

    limit: Annotated[int, Field(ge=0, le=LARGEST_COUNT)]
    period: Annotated[str, Field(examples=["PT1M"])]


class LimitMembers(Body):
    """Says how many jobs run at a time, or begin in a period, and what the others do."""

    concurrency: Annotated[int, Field(ge=0, le=LARGEST_COUNT)] | None = None
    rate: WindowBody | int | None = None
    throttle: WindowBody | None = None
    on_limit: Literal["wait", "reschedule", "drop"] | None = None


class RateLimitBody(LimitMembers):
    """Limits how jobs begin; some clients send ``rate`` as a number, or ``max_per_second``."""

    key: Annotated[str, Field(max_length=256)] | None = None
    by: Annotated[
        str | list[str] | None,
        Field(description="Paths into args and meta, the values of which end the key."),
    ] = None
    max_per_second: Annotated[int, Field(ge=0, le=LARGEST_COUNT)] | None = None


class RateLimitOverrideBody(LimitMembers):
    """Sets the limits of a key in place of those of its jobs; null lifts one (section 10.2)."""

    expires_at: str | None = None


class RetryPolicyBody(Body):
    """Holds a retry policy (ojs-retry); intervals are durations (30s, PT30S) or milliseconds."""

    max_attempts: Annotated[int, Field(ge=0, le=MAX_ATTEMPTS)] | None = None
    initial_interval: str | None = None
    initial_interval_ms: Annotated[int, Field(ge=0)] | None = None
    backoff_coefficient: Annotated[float, Field(ge=1.0, le=1000.0)] | None = None
    backoff_strategy: str | None = None
    backoff_type: str | None = None
    max_interval: str | None = None
    max_interval_ms: Annotated[int, Field(ge=0)] | None = None
    jitter: bool | None = None
    non_retryable_errors: list[str] | None = None
    on_exhaustion: str | None = None


class UniquePolicyBody(Body):
    """A unique policy (ojs-unique-jobs, section 2); ``key`` and ``within`` as some clients have."""

    keys: list[Literal["type", "queue", "args", "meta"]] | None = None
    args_keys: list[str] | None = None
    meta_keys: list[str] | None = None
    period: str | None = None
    states: list[str] | None = None
    on_conflict: (
        Literal["reject", "replace", "replace_except_schedule", "ignore", "use_existing"] | None
    ) = None
    key: list[str] | str | None = None
    within: str | int | None = None
    period_ms: Annotated[int, Field(ge=0)] | None = None


class SequenceBody(Body):
    """Names jobs that run one after another, and what happens when one of them is discarded."""

    key: str
    on_discard: OnDiscard = OnDiscard.STOP


class FairnessBody(Body):
    """Says whose share of its queue's starts a job uses, and with which weight."""

    key: str | None = None
    weight: Annotated[float, Field(ge=0.01, le=1000)] | None = None


class OptionsBody(Body):
    """Enqueue options; each may stand at the top level of the envelope as well."""

    queue: QueueName | None = None
    priority: (
        Annotated[int, Field(ge=-attributes.PRIORITY_LIMIT, le=attributes.PRIORITY_LIMIT)] | None
    ) = None
    timeout_ms: Annotated[int, Field(ge=0, le=validation.MAX_TIMEOUT_MS)] | None = None
    timeout: Annotated[int, Field(ge=0, le=validation.MAX_TIMEOUT_MS // 1000)] | None = None
    visibility_timeout_ms: VisibilityMs | None = None
    visibility_timeout: int | str | None = None
    metadata: dict[str, Any] | None = None
    scheduled_at: str | None = None
    delay_until: str | None = None
    delay: str | None = None
    expires_at: str | None = None
    retry: RetryPolicyBody | None = None
    retry_policy: RetryPolicyBody | None = None
    unique: UniquePolicyBody | None = None
    rate_limit: RateLimitBody | None = None
    sequence: str | SequenceBody | None = None
    fairness: FairnessBody | None = None
    tags: Annotated[list[str], Field(max_length=validation.MAX_TAGS)] | None = None
    pending: bool | None = None
    result_ttl: (
        Annotated[int, Field(ge=validation.PERMANENT, le=validation.MAX_RESULT_TTL_S)] | None
    ) = None
    result_size_limit: Annotated[int, Field(ge=0, le=validation.LARGEST_INTEGER)] | None = None


class PushBody(OptionsBody):
    """PUSH: a job envelope, flat or with an ``options`` object (section 9.1)."""

    type: JobType
    args: list[Any]
    id: JobId | None = None
    specversion: str | None = None
    meta: dict[str, Any] | None = None
    schema_: Annotated[str | None, Field(alias="schema")] = None
    options: OptionsBody | None = None


class JobChangeBody(Body):
    """What of a job can be changed (ojs-priority, section 8.1)."""

    priority: Annotated[int, Field(ge=-attributes.PRIORITY_LIMIT, le=attributes.PRIORITY_LIMIT)]


class BatchBody(Body):
    """PUSH of a batch (section 9.2)."""

    jobs: Annotated[list[PushBody], Field(min_length=1, max_length=MAX_BATCH_JOBS)]


class CloudEventBody(Body):
    """A CloudEvent that makes a job (ojs-cloudevents-interop, section 6); ``data`` is its argument.

    ``ojsqueue`` is the extension attribute that names the queue of the job.
    """

    specversion: str
    id: Annotated[str, Field(min_length=1)]
    source: Annotated[str, Field(min_length=1)]
    type: Annotated[str, Field(min_length=1)]
    subject: str | None = None
    time: str | None = None
    data: Any = None
    data_base64: str | None = None
    ojsqueue: QueueName = DEFAULT_QUEUE


class BulkEnqueueBody(Body):
    """Holds a bulk enqueue (ojs-bulk-operations, section 5)."""

    jobs: Annotated[list[PushBody], Field(min_length=1, max_length=1000)]
    atomicity: Literal["atomic", "partial"] = "partial"
    idempotency_key: Annotated[str, Field(min_length=1, max_length=256)] | None = None


class BulkFilterBody(Body):
    """Which jobs are meant (ojs-bulk-operations, section 6.1)."""

    queue: str | None = None
    type: str | None = None
    state: list[str] | None = None
    enqueued_before: str | None = None
    enqueued_after: str | None = None
    priority: int | None = None
    meta: dict[str, Any] | None = None


class BulkChangeBody(Body):
    """Jobs to be changed, by their ids or by a filter (ojs-bulk-operations, sections 6 to 8)."""

    job_ids: Annotated[list[JobId], Field(min_length=1, max_length=1000)] | None = None
    filter: BulkFilterBody | None = None
    atomicity: Literal["atomic", "partial"] = "partial"
    idempotency_key: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    cursor: str | None = None


class ResultsBody(Body):
    """Jobs whose outcomes are asked for (ojs-results, section 9.3)."""

    ids: Annotated[list[str], Field(min_length=1, max_length=MAX_IDS)]
