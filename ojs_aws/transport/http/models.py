"""Holds what the requests and answers of several features have in common.

Each feature declares its own in a module of this name: the bodies of requests as pydantic's
models, the answers as TypedDicts. Only the OpenAPI document, and handlers that need a model, import
it. Handlers name the answers as their types, so that mypy checks what is answered; further members
may stand beside those that are declared. The TypedDict is that of typing_extensions: before Python
3.12, pydantic reads no other.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, NotRequired, Required, TypeAlias

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from ojs_aws.domain import attributes as rules
from ojs_aws.domain.jobs.validation import MAX_VISIBILITY_MS, MIN_VISIBILITY_MS
from ojs_aws.domain.timestamps import MAX_DURATION_MS
from ojs_aws.services.workers.heartbeat import MAX_WORKER_ID
from ojs_aws.services.workers.liveness import MAX_INTERVAL_MS, MIN_INTERVAL_MS

JobId = Annotated[
    str, Field(pattern=f"^{rules.ID_PATTERN}$", examples=["019539a4-b68c-7def-8000-1a2b3c4d5e6f"])
]
JobType = Annotated[
    str,
    Field(
        pattern=f"^{rules.TYPE_PATTERN}$",
        min_length=1,
        max_length=rules.MAX_TYPE_LENGTH,
        examples=["email.send"],
    ),
]
QueueName = Annotated[
    str,
    Field(
        pattern=f"^{rules.QUEUE_PATTERN}$",
        min_length=1,
        max_length=rules.MAX_QUEUE_LENGTH,
        examples=["default"],
    ),
]
WorkerId = Annotated[str, Field(min_length=1, max_length=MAX_WORKER_ID)]
IntervalMs = Annotated[int, Field(ge=MIN_INTERVAL_MS, le=MAX_INTERVAL_MS)]
ReservationId = Annotated[str, Field(min_length=1, max_length=256, examples=["9f3c52e01ab7"])]
DelayMs = Annotated[int, Field(ge=0, le=MAX_DURATION_MS, examples=[60_000])]
AttemptNumber = Annotated[int, Field(ge=0, le=2_147_483_647)]
ShortText = Annotated[str, Field(max_length=256)]
VisibilityMs = Annotated[int, Field(ge=MIN_VISIBILITY_MS, le=MAX_VISIBILITY_MS)]

MAX_QUEUES = 100
MAX_LABELS = 50
LARGEST_COUNT = 1_000_000


class Body(BaseModel):
    """What every body has in common: strict types, and room for what it does not name."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow", strict=True, frozen=True)


Timestamp: TypeAlias = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
JsonObject: TypeAlias = dict[str, Any]
Fraction: TypeAlias = Annotated[float, Field(ge=0, le=1)]


class Further(TypedDict):
    """Says whether there is more, and where to go on."""

    has_more: bool
    next_cursor: NotRequired[str]


class Pagination(TypedDict):
    """Describes a page of a list.

    ``total_is`` says whether ``total`` is the exact number of what matches, an estimate that
    counters give, or a lower bound; ``total_is_exact`` is true for the first.
    """

    total: int
    limit: int
    offset: int
    has_more: bool
    total_is: NotRequired[Literal["exact", "estimate", "at_least"]]
    total_is_exact: NotRequired[bool]
    page: NotRequired[int]
    per_page: NotRequired[int]
    next_cursor: NotRequired[str]


class Throughput(TypedDict):
    """Gives rates under the names of documents, and rounded up under the command line's."""

    enqueued_per_minute: float
    processed_per_minute: float
    failed_per_minute: float
    retried_per_minute: float
    enqueued_per_min: int
    completed_per_min: int
    failed_per_min: int
    avg_latency_ms: int | None


class Percentiles(TypedDict):
    """Gives times in milliseconds; null where nothing was measured."""

    p50: float | None
    p95: float | None
    p99: float | None


class Times(TypedDict):
    """Says how long jobs waited until they began, and ran until they completed."""

    latency_ms: Percentiles
    duration_ms: Percentiles


class Failure(TypedDict, total=False):
    """Describes a failed attempt."""

    type: Required[str]
    code: str
    message: Required[str]
    retryable: bool
    backtrace: list[str]
    attempt: Required[int]
    occurred_at: Required[Timestamp]


class ShownError(TypedDict):
    """Says what went wrong, and whether to send the request again."""

    code: str
    message: str
    retryable: bool
    request_id: str
    type: NotRequired[str]
    details: NotRequired[JsonObject]
    hint: NotRequired[str]
    docs_url: NotRequired[str]


class ErrorAnswer(TypedDict):
    """Answers a request that was refused or failed."""

    error: ShownError
