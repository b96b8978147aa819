"""Declares the answers about limits."""

from __future__ import annotations

from typing_extensions import TypedDict

from ojs_aws.transport.http.answers import JsonObject, Pagination, Timestamp
from ojs_aws.transport.http.json_of import JsonOf


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
