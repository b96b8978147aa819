"""Holds what the answers of several features have in common, without pydantic.

A feature declares its answers as TypedDicts beside the code that makes them, and its handlers name
them as their types, so that mypy checks what is answered; further members may stand beside those
that are declared. The OpenAPI document shows them. The TypedDict is that of typing_extensions:
before Python 3.12, pydantic reads no other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, NotRequired, Required, TypeAlias

from typing_extensions import TypedDict

from ojs_aws.domain.attributes import ID_PATTERN

JsonObject: TypeAlias = dict[str, Any]
DirectiveName: TypeAlias = Literal["running", "quiet", "terminate"]


class _Schema:
    """Adds members to the JSON schema of an annotated type; pydantic asks for them."""

    def __init__(self, **members: object) -> None:
        """Keep the members."""
        self.members = members

    def __get_pydantic_json_schema__(
        self, core: object, handler: Callable[[object], JsonObject]
    ) -> JsonObject:
        """Return the type's own schema with the members."""
        return {**handler(core), **self.members}


JobId: TypeAlias = Annotated[
    str, _Schema(pattern=f"^{ID_PATTERN}$", examples=["019539a4-b68c-7def-8000-1a2b3c4d5e6f"])
]
Timestamp: TypeAlias = Annotated[str, _Schema(format="date-time")]
Fraction: TypeAlias = Annotated[float, _Schema(minimum=0, maximum=1)]


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
