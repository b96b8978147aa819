"""What operators send about queues."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ojs_aws.transport.http.bodies import LARGEST_COUNT, Body, QueueName
from ojs_aws.transport.http.jobs.bodies import RetryPolicyBody
from ojs_aws.transport.http.limits.bodies import RateLimitBody


class QueuePurgeBody(Body):
    """Which jobs of a queue to purge, where the path confirms it."""

    states: Annotated[
        list[
            Literal[
                "available",
                "pending",
                "scheduled",
                "retryable",
                "completed",
                "cancelled",
                "discarded",
            ]
        ],
        Field(min_length=1, max_length=7),
    ]
    older_than: str | None = None


class PurgeBody(QueuePurgeBody):
    """Which jobs of a queue to purge (ojs-admin-api, section 6.5).

    ``confirm`` must be true, unless ``dry_run`` is: then the jobs are only counted.
    """

    confirm: bool = False
    dry_run: bool = False
    cursor: Annotated[str, Field(max_length=2048)] | None = None


class BackpressureBody(Body):
    """The bound of a queue (ojs-backpressure, section 6.2); 0 for none."""

    max_depth: Annotated[int, Field(ge=0, le=1_000_000_000)] | None = None
    max_size_bytes: Annotated[int, Field(ge=0, le=0)] | None = None
    strategy: Literal["reject"] | None = None
    warning_threshold: Annotated[float, Field(ge=0, le=1)] | None = None


class RetentionBody(Body):
    """How long ended jobs of a queue stay, as ISO 8601 durations."""

    completed: str | None = None
    discarded: str | None = None
    cancelled: str | None = None


class QueueConfigBody(Body):
    """Settings of a queue (ojs-queue-config, section 6): ``null`` takes one away."""

    max_size: Annotated[int, Field(ge=0, le=1_000_000_000)] | None = None
    overflow_policy: Literal["reject"] | None = None
    ordering_shards: Literal[1] | None = None
    warning_threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    backpressure: BackpressureBody | None = None
    concurrency: Annotated[int, Field(ge=0, le=LARGEST_COUNT)] | None = None
    rate_limit: RateLimitBody | None = None
    visibility_timeout: Annotated[int, Field(ge=1, le=43_200)] | None = None
    default_timeout: Annotated[int, Field(ge=1, le=604_800)] | None = None
    default_retry: RetryPolicyBody | None = None
    retention: RetentionBody | None = None
    dead_letter_ttl: str | None = None
    allowed_job_types: Annotated[list[str], Field(min_length=1, max_length=100)] | None = None


class QueueBody(Body):
    """A new queue (ojs-queue-config, section 9.2)."""

    name: QueueName
    config: QueueConfigBody | None = None


class QueueDeletionBody(Body):
    """What becomes of the jobs that are left (ojs-queue-config, section 5.3)."""

    strategy: Literal["reject"]
