"""Declares job envelopes, one or many. PUSH checks them itself, on the raw text."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ojs_aws.config import MAX_BATCH_JOBS
from ojs_aws.domain.attributes import PRIORITY_LIMIT
from ojs_aws.domain.envelope import DEFAULT_QUEUE
from ojs_aws.domain.job_policies import OnDiscard
from ojs_aws.domain.jobs import validation as rules
from ojs_aws.domain.retry import MAX_ATTEMPTS
from ojs_aws.transport.http.limits.models import RateLimitBody
from ojs_aws.transport.http.models import Body, JobId, JobType, QueueName, VisibilityMs


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
    priority: Annotated[int, Field(ge=-PRIORITY_LIMIT, le=PRIORITY_LIMIT)] | None = None
    timeout_ms: Annotated[int, Field(ge=0, le=rules.MAX_TIMEOUT_MS)] | None = None
    timeout: Annotated[int, Field(ge=0, le=rules.MAX_TIMEOUT_MS // 1000)] | None = None
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
    tags: Annotated[list[str], Field(max_length=rules.MAX_TAGS)] | None = None
    pending: bool | None = None
    result_ttl: Annotated[int, Field(ge=rules.PERMANENT, le=rules.MAX_RESULT_TTL_S)] | None = None
    result_size_limit: Annotated[int, Field(ge=0, le=rules.LARGEST_INTEGER)] | None = None


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

    priority: Annotated[int, Field(ge=-PRIORITY_LIMIT, le=PRIORITY_LIMIT)]


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
