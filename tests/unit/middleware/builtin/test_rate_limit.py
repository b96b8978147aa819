"""The rate limit: tokens, keys, what is refused, and many at once."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.errors import RateLimitedError
from ojs_aws.middleware import EnqueueChain, RateLimitMiddleware
from ojs_aws.middleware.builtin.limits import TokenBuckets
from ojs_aws.middleware.protocols import EnqueueSide
from tests.unit.middleware.doubles import job, store

_enqueues: EnqueueSide = RateLimitMiddleware(1)


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_mw_enq_025_the_refusal_of_a_job_says_when_to_try_again() -> None:
    clock = Clock()
    chain = EnqueueChain([RateLimitMiddleware(2, 60.0, clock=clock)])
    for _ in range(2):
        assert await chain.run(job(), store) is not None
    stored: list[Any] = []
    with pytest.raises(RateLimitedError) as refused:
        await chain.run(job(), stored.append)
    assert stored == []
    problem = refused.value
    assert (problem.code, problem.status, problem.retryable) == ("rate_limited", 429, True)
    assert problem.details == {"retry_after_seconds": 30, "key": "a.b"}
    assert "2 jobs in 60 s" in problem.message
    clock.now += 29.5
    with pytest.raises(RateLimitedError) as refused:
        await chain.run(job(), store)
    assert refused.value.details["retry_after_seconds"] == 1
    clock.now += 0.5
    assert await chain.run(job(), store) is not None


async def test_mw_enq_025_a_job_beyond_the_limit_can_be_dropped() -> None:
    chain = EnqueueChain([RateLimitMiddleware(1, on_limit="drop", clock=Clock())])
    assert await chain.run(job(), store) is not None
    assert await chain.run_tracked(job(), store) == (None, "rate_limit")


async def test_each_key_has_a_limit_of_its_own() -> None:
    def chain(**options: Any) -> EnqueueChain:
        return EnqueueChain([RateLimitMiddleware(1, on_limit="drop", clock=Clock(), **options)])

    async def passed(chain: EnqueueChain, *jobs: Any) -> list[bool]:
        return [await chain.run(one, store) is not None for one in jobs]

    types = [job(type="a.b"), job(type="a.c"), job(type="a.b", queue="other")]
    assert await passed(chain(), *types) == [True, True, False]
    assert await passed(chain(key="queue"), *types) == [True, False, True]
    by_tenant = chain(key=lambda job: job.meta.get("tenant"))
    tenants = [job(meta={"tenant": name}) for name in "aab"]
    assert await passed(by_tenant, *tenants, job(), job()) == [True, False, True, True, True]


async def test_a_burst_may_be_larger_or_smaller_than_the_limit() -> None:
    for burst, expected in [(3, 3), (1, 1)]:
        clock = Clock()
        middleware = RateLimitMiddleware(2, burst=burst, on_limit="drop", clock=clock)
        chain = EnqueueChain([middleware])
        for pause_s in (0.0, 1000.0, 1000.0):  # a long one saves up no more than the burst
            clock.now += pause_s
            passed = [await chain.run(job(), store) is not None for _ in range(5)]
            assert sum(passed) == expected
        clock.now += 0.5
        assert await chain.run(job(), store) is not None
        assert await chain.run(job(), store) is None


def test_a_clock_that_goes_back_gives_no_tokens_and_takes_none() -> None:
    clock = Clock()
    buckets = TokenBuckets(1, 2, clock=clock)
    assert buckets.take("k") == 0
    clock.now -= 500
    assert buckets.take("k") == 0
    assert buckets.take("k") == 1


def test_keys_are_bounded_and_the_least_used_one_is_given_up() -> None:
    buckets = TokenBuckets(1, 1, max_keys=2, clock=Clock())
    assert [buckets.take(key) for key in "abacb"] == [0, 0, 1, 0, 0]
    assert len(buckets) == 2


@given(
    limit=st.integers(1, 50),
    per_s=st.floats(0.1, 100),
    gaps=st.lists(st.floats(0, 10), max_size=60),
)
def test_no_stretch_of_time_lets_more_pass_than_the_burst_and_the_rate(
    limit: int, per_s: float, gaps: list[float]
) -> None:
    """And whoever waits as long as the answer says passes."""
    clock = Clock()
    begun = clock.now
    buckets = TokenBuckets(limit / per_s, limit, clock=clock)
    passed = 0
    for gap in gaps:
        clock.now += gap
        wait = buckets.take("k")
        passed += not wait
        assert passed <= limit + (clock.now - begun) * limit / per_s + 1e-6
        if wait:
            clock.now += wait + 1e-9
            assert buckets.take("k") == 0
            passed += 1


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 0},
        {"limit": 1, "per_s": 0},
        {"limit": 1, "per_s": float("nan")},
        {"limit": 1, "burst": 0},
        {"limit": 1, "max_keys": 0},
        {"limit": 1, "key": "tenant"},
        {"limit": 1, "on_limit": "wait"},
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        RateLimitMiddleware(**options)


async def test_of_fifty_tasks_at_once_the_limit_passes() -> None:
    chain = EnqueueChain([RateLimitMiddleware(7, on_limit="drop", clock=Clock())])
    kept = await asyncio.gather(*(chain.run(job(n), store) for n in range(50)))
    assert len([one for one in kept if one is not None]) == 7


def test_of_fifty_threads_at_once_the_limit_passes() -> None:
    """Also: it needs no event loop."""
    chain = EnqueueChain([RateLimitMiddleware(7, on_limit="drop", clock=Clock())])
    together = threading.Barrier(50)

    def enqueue(number: int) -> bool:
        together.wait()
        return chain.run_sync(job(number), lambda kept: kept)[0] is not None

    with ThreadPoolExecutor(50) as pool:
        assert sum(pool.map(enqueue, range(50))) == 7
