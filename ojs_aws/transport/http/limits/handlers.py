"""Handles limits (ojs-rate-limiting, sections 7.2 and 10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from typing_extensions import TypedDict

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.timestamps import Instant, format_duration, format_instant
from ojs_aws.services.limits.admin import Counted
from ojs_aws.transport.http.answers import JsonObject, Pagination, Timestamp
from ojs_aws.transport.http.calls import Answer, Call, JsonOf, beside, json_of
from ojs_aws.transport.http.negotiation import Reader, reader_of
from ojs_aws.transport.http.queries import read_mark, requested_page, write_mark

_MARK: Final = "l:"


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


def list_rate_limits(call: Call) -> Answer[RateLimitsAnswer]:
    """Return the limits by key; nobody counts them, so the total may be a lower bound."""
    wanted = requested_page(call.request.query)
    after = read_mark(_MARK, wanted.cursor)
    view = call.request.caller.view
    page, following = call.backend.limits.page(after, wanted.limit, skip=wanted.offset, view=view)
    items = json_of([_described(call, counted) for counted in page])
    cursor = write_mark(_MARK, following)
    total = wanted.total(len(page), cursor, is_followed=bool(following))
    pagination = wanted.pagination(total, cursor)
    return Answer({"items": items, "rate_limits": items, "pagination": pagination})


def get_rate_limit(call: Call) -> Answer[RateLimitAnswer]:
    """Return what one limit counts."""
    return Answer(
        _described(call, call.backend.limits.get(call.named("key"), call.request.caller.view))
    )


def override_rate_limit(call: Call) -> Answer[RateLimitAnswer]:
    """Set the policy that applies to a key."""
    given = call.values()
    counted = call.backend.limits.override(call.named("key"), read_policy(given))
    return Answer(_described(call, counted))


def lift_rate_limit(call: Call) -> Answer[LiftedAnswer]:
    """Remove the policy of a key, so that the jobs' own apply again."""
    key = call.named("key")
    call.backend.limits.lift(key)
    return Answer({"key": key, "deleted": True})


def limit_queue(call: Call) -> Answer[RateLimitAnswer]:
    """Limit how the jobs of a queue begin."""
    policy: JsonValue = call.values()
    counted = call.backend.limits.limit_queue(call.named("queue"), policy)
    return Answer(_described(call, counted))


def unlimit_queue(call: Call) -> Answer[UnlimitedQueueAnswer]:
    """Remove the limit of a queue."""
    queue = call.named("queue")
    call.backend.limits.unlimit_queue(queue)
    return Answer({"queue": queue, "deleted": True})


def _described(call: Call, counted: Counted) -> RateLimitAnswer:
    return for_reader(_members(counted), reader_of(call.request))


def _members(counted: Counted) -> RateLimitAnswer:
    bucket, limit, now = counted.bucket, counted.limit, counted.now
    use: LimitUse = {}
    if limit.concurrency is not None:
        use["concurrency"] = {
            "limit": limit.concurrency,
            "active": bucket.active,
            "available": max(0, limit.concurrency - bucket.active),
        }
    if limit.rate is not None:
        count = bucket.current_count(limit.rate, now)
        resets = (bucket.opened_at or now) + limit.rate.period_ms if count else now
        use["rate"] = {
            "limit": limit.rate.limit,
            "period": format_duration(limit.rate.period_ms),
            "current_count": count,
            "window_resets_at": format_instant(Instant(resets)),
        }
    if limit.throttle is not None:
        use["throttle"] = {
            "limit": limit.throttle.limit,
            "period": format_duration(limit.throttle.period_ms),
            "next_allowed_at": format_instant(max(now, bucket.next_at or now)),
        }
    if bucket.blocked_until is not None and bucket.blocked_until > now:
        use["blocked_until"] = format_instant(bucket.blocked_until)
    if counted.override is not None:
        use["override"] = counted.override.render()
    members: RateLimitAnswer = {"key": bucket.key, **use, "waiting_count": counted.waiting}
    if not counted.is_exact:
        members["estimated"] = ["waiting_count"]
    return members


Members = dict[str, JsonValue]


def read_policy(given: Mapping[str, JsonValue]) -> Members:
    """Return the policy of a body; the admin UI writes ``limit`` and ``period`` flat."""
    policy = {**given}
    if "rate" not in policy and {"limit", "period"} <= policy.keys():
        policy["rate"] = {"limit": policy.pop("limit"), "period": policy.pop("period")}
    return policy


def for_reader(members: RateLimitAnswer, reader: Reader) -> RateLimitAnswer:
    """Return a limit with flat members too; the command line reads ``concurrency`` as a number."""
    flat: Members = {"waiting": members["waiting_count"], **_flat_rate(members)}
    if "rate" in members:
        flat["active"] = members["rate"]["current_count"]
    if "override" in members:
        flat["override"] = _flat_override(members["override"])
    if "concurrency" in members:
        concurrency = members["concurrency"]
        flat |= {"active": concurrency["active"], "available": concurrency["available"]}
        flat.setdefault("limit", concurrency["limit"])
        if reader is Reader.CLI:
            flat["concurrency"] = concurrency["limit"]
    return beside(members, flat)


def _flat_rate(policy: Mapping[str, object]) -> Members:
    """Return the limit and the period of a rate, or of a throttle where there is no rate."""
    rate = policy.get("rate") or policy.get("throttle")
    return {name: rate[name] for name in ("limit", "period")} if isinstance(rate, dict) else {}


def _flat_override(override: Mapping[str, JsonValue]) -> Members:
    """Return an override with flat members too; ``limit`` may be the number of running jobs."""
    flat = _flat_rate(override)
    if not flat and "concurrency" in override:
        flat["limit"] = override["concurrency"]
    return {**override} | flat
