"""Handles limits (ojs-rate-limiting, sections 7.2 and 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.timestamps import Instant, format_duration, format_instant
from ojs_aws.services.limits.admin import Counted
from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.json_of import json_of
from ojs_aws.transport.http.limits.wire import for_reader, read_policy
from ojs_aws.transport.http.negotiation import reader_of
from ojs_aws.transport.http.pages import read_mark, requested_page, write_mark

if TYPE_CHECKING:
    from ojs_aws.transport.http.limits import answers

_MARK: Final = "l:"


def list_rate_limits(call: Call) -> Answer[answers.RateLimitsAnswer]:
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


def get_rate_limit(call: Call) -> Answer[answers.RateLimitAnswer]:
    """Return what one limit counts."""
    return Answer(
        _described(call, call.backend.limits.get(call.named("key"), call.request.caller.view))
    )


def override_rate_limit(call: Call) -> Answer[answers.RateLimitAnswer]:
    """Set the policy that applies to a key."""
    given = call.values()
    counted = call.backend.limits.override(call.named("key"), read_policy(given))
    return Answer(_described(call, counted))


def lift_rate_limit(call: Call) -> Answer[answers.LiftedAnswer]:
    """Remove the policy of a key, so that the jobs' own apply again."""
    key = call.named("key")
    call.backend.limits.lift(key)
    return Answer({"key": key, "deleted": True})


def limit_queue(call: Call) -> Answer[answers.RateLimitAnswer]:
    """Limit how the jobs of a queue begin."""
    policy: JsonValue = call.values()
    counted = call.backend.limits.limit_queue(call.named("queue"), policy)
    return Answer(_described(call, counted))


def unlimit_queue(call: Call) -> Answer[answers.UnlimitedQueueAnswer]:
    """Remove the limit of a queue."""
    queue = call.named("queue")
    call.backend.limits.unlimit_queue(queue)
    return Answer({"queue": queue, "deleted": True})


def _described(call: Call, counted: Counted) -> answers.RateLimitAnswer:
    return for_reader(_members(counted), reader_of(call.request))


def _members(counted: Counted) -> answers.RateLimitAnswer:
    bucket, limit, now = counted.bucket, counted.limit, counted.now
    use: answers.LimitUse = {}
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
    members: answers.RateLimitAnswer = {"key": bucket.key, **use, "waiting_count": counted.waiting}
    if not counted.is_exact:
        members["estimated"] = ["waiting_count"]
    return members
