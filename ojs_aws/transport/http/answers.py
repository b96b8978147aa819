"""Holds what the answers of several features have in common. Only the OpenAPI document imports it.

Each feature declares its answers in a module of this name. Handlers and the functions that shape
answers name them as their types, so that mypy checks what is answered. Further members may stand
beside those that are declared. The TypedDict is that of typing_extensions: before Python 3.12,
pydantic reads no other.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, Required, TypeAlias

from pydantic import Field
from typing_extensions import TypedDict

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
