"""Declares the requests and answers about limits."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from ojs_aws.transport.http.calls import JsonOf
from ojs_aws.transport.http.models import LARGEST_COUNT, Body, JsonObject, Pagination, Timestamp


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


class ConcurrencyUse(TypedDict):
    """Says how many jobs of a limit run, and how many more may."""

    limit: int
    active: int
    available: int


class RateUse(TypedDict):
    """Says how many jobs of a limit began in its period."""

    limit: int
    period: str
    current_count: int
    window_resets_at: Timestamp


class ThrottleUse(TypedDict):
    """Says when the next job of a limit may begin."""

    limit: int
    period: str
    next_allowed_at: Timestamp


class LimitUse(TypedDict, total=False):
    """Says what a limit counts, by kind."""

    concurrency: ConcurrencyUse
    rate: RateUse
    throttle: ThrottleUse
    blocked_until: Timestamp
    override: JsonObject
    estimated: list[str]


class RateLimitAnswer(LimitUse):
    """Shows a limit; ``estimated`` names the numbers that are lower bounds."""

    key: str
    waiting_count: int


class RateLimitsAnswer(TypedDict):
    """Shows a page of the limits."""

    items: JsonOf[list[RateLimitAnswer]]
    rate_limits: JsonOf[list[RateLimitAnswer]]
    pagination: Pagination


class LiftedAnswer(TypedDict):
    """Says that the policy of a key was removed."""

    key: str
    deleted: bool


class UnlimitedQueueAnswer(TypedDict):
    """Says that the limit of a queue was removed."""

    queue: str
    deleted: bool
