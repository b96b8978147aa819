"""Limits on how jobs begin: of jobs, of queues, and as operators override them."""

from __future__ import annotations

from typing import Any, Final

from tests.transcript.steps import Feature, Step, delete, get, post, put


def limited(n: int, policy: Any, queue: str = "work") -> Step:
    """Return a push of a job with a limit."""
    body = {"type": "a.some", "args": [n], "queue": queue, "rate_limit": policy}
    return post(f"push job {n} to {queue}", "/jobs", body)


ONE: Final = {"key": "stripe", "concurrency": 1}

STEPS: Final[list[Step]] = [
    limited(1, ONE),
    limited(2, ONE),
    limited(3, {"key": "slow", "rate": {"limit": 1, "period": "PT1M"}, "on_limit": "reschedule"}),
    limited(4, {"key": "slow", "rate": {"limit": 1, "period": "PT1M"}, "on_limit": "drop"}),
    limited(5, {"max_per_second": 5}),
    limited(6, {"key": "by", "by": "meta.tenant", "concurrency": 1}),
    limited(7, {"key": "t", "throttle": {"limit": 1, "period": "PT1H"}}),
    post(
        "fetch what begins", "/workers/fetch", {"queues": ["work"], "worker_id": "w", "count": 10}
    ),
    get("list the limits", "/rate-limits"),
    get(
        "list a page of the limits", "/rate-limits?limit=1", save={"page": "pagination.next_cursor"}
    ),
    get("list the next page", "/rate-limits?limit=1&cursor=<page>"),
    get("list the limits by a page's number", "/rate-limits?page=2&per_page=1"),
    get("list the limits with a wrong limit", "/rate-limits?limit=x"),
    get("list the limits with a wrong cursor", "/rate-limits?cursor=%3F"),
    get("read a limit", "/rate-limits/stripe"),
    get("read an unknown limit", "/rate-limits/nowhere"),
    put("override a limit", "/rate-limits/stripe", {"concurrency": 3, "on_limit": "wait"}),
    get("read the override", "/rate-limits/stripe"),
    put(
        "override a limit for a time",
        "/rate-limits/stripe",
        {"rate": {"limit": 9, "period": "PT1S"}, "expires_at": "2030-01-01T00:00:00Z"},
    ),
    put("override a limit with nothing", "/rate-limits/stripe", {}),
    put("override a limit with a text", "/rate-limits/stripe", {"concurrency": "x"}),
    put(
        "override a limit with a wrong period",
        "/rate-limits/stripe",
        {"rate": {"limit": 1, "period": "x"}},
    ),
    put(
        "override a limit until no time",
        "/rate-limits/stripe",
        {"concurrency": 1, "expires_at": "x"},
    ),
    put(
        "override a limit in an unknown way",
        "/rate-limits/stripe",
        {"concurrency": 1, "on_limit": "cry"},
    ),
    put("override a limit without a body", "/rate-limits/stripe"),
    put("override an unknown limit", "/rate-limits/nowhere", {"concurrency": 1}),
    delete("lift an override", "/rate-limits/stripe"),
    delete("lift an override again", "/rate-limits/stripe"),
    delete("lift the override of an unknown limit", "/rate-limits/unheard"),
    put(
        "limit a queue",
        "/queues/work/rate-limit",
        {"concurrency": 1, "rate": {"limit": 5, "period": "PT1M"}},
    ),
    put("limit a queue by a number", "/queues/work/rate-limit", {"rate": 5}),
    put("limit a queue with nothing", "/queues/work/rate-limit", {}),
    put("limit a queue with a text", "/queues/work/rate-limit", {"concurrency": "x"}),
    put("limit a queue without a body", "/queues/work/rate-limit"),
    put("limit an unknown queue", "/queues/nowhere/rate-limit", {"concurrency": 1}),
    limited(8, {"concurrency": 2}),
    post("fetch within the queue's limit", "/workers/fetch", {"queues": ["work"], "count": 10}),
    get("list the limits with that of a queue", "/rate-limits"),
    delete("lift the limit of a queue", "/queues/work/rate-limit"),
    delete("lift the limit of a queue again", "/queues/work/rate-limit"),
    delete("lift the limit of an unknown queue", "/queues/nowhere/rate-limit"),
]

FEATURES: Final = [Feature(name="limits", steps=STEPS)]
