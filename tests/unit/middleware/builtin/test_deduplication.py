"""Deduplication: what is a duplicate, for how long, and what is forgotten."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, DuplicateError, InvalidRequestError
from ojs_aws.domain.unique.keys import UniquePolicy
from ojs_aws.middleware import (
    LOCALE,
    TIMEZONE,
    DeduplicationMiddleware,
    EnqueueChain,
    LocaleMiddleware,
    MemorySeenStore,
    SeenStore,
)
from ojs_aws.middleware.protocols import EnqueueSide
from tests.unit.middleware.doubles import store

_enqueues: EnqueueSide = DeduplicationMiddleware()
_keeps: SeenStore = MemorySeenStore()

UNIQUE = {"keys": ["type", "args"]}


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def numbered(number: int, *args: Any, **members: Any) -> Job:
    """A job with an id of its own."""
    given = {"id": f"01900000-0000-7000-8000-{number:012d}"} | members
    return Job(given.pop("type", "a.b"), args, **given)


def chain(clock: Clock, *others: Any, **options: Any) -> EnqueueChain:
    seen = MemorySeenStore(options.pop("max_keys", 100), clock=clock)
    return EnqueueChain([DeduplicationMiddleware(10.0, store=seen, **options), *others])


async def test_mw_enq_013_a_duplicate_is_dropped_within_the_window() -> None:
    """Also MW-ENQ-006: and the caller learns by whom."""
    clock = Clock()
    deduplicating = chain(clock)
    assert await deduplicating.run(numbered(1, "x"), store) is not None
    clock.now += 9.75
    assert await deduplicating.run_tracked(numbered(2, "x"), store) == (None, "deduplication")
    clock.now += 0.25
    assert await deduplicating.run(numbered(3, "x"), store) is not None


async def test_type_queue_and_arguments_make_a_job_another_one() -> None:
    deduplicating = chain(Clock())
    different: list[dict[str, Any]] = [{}, {"type": "a.c"}, {"queue": "other"}]
    for number, members in enumerate(different):
        assert await deduplicating.run(numbered(number, 1, **members), store) is not None
    assert await deduplicating.run(numbered(7, 2), store) is not None
    assert await deduplicating.run(numbered(8, 1, meta={"m": 1}, priority=5), store) is None


async def test_the_very_same_job_passes_again() -> None:
    """A request repeated after a lost answer must find the job that it made."""
    deduplicating = chain(Clock())
    assert await deduplicating.run(numbered(1, "x"), store) is not None
    assert await deduplicating.run(numbered(1, "x"), store) is not None
    with pytest.raises(BackendError):
        await deduplicating.run(numbered(1, "x"), failing)
    assert await deduplicating.run(numbered(2, "x"), store) is None  # the first one is still there


async def failing(job: Job) -> Job:
    raise BackendError("down")


async def test_a_job_that_could_not_be_enqueued_is_forgotten() -> None:
    deduplicating = chain(Clock())
    with pytest.raises(BackendError):
        await deduplicating.run(numbered(1, "x"), failing)
    assert await deduplicating.run(numbered(2, "x"), store) is not None


async def test_a_job_that_is_dropped_further_in_is_forgotten() -> None:
    verdicts = [True, False]

    async def drops(job: Job, call_next: Any) -> Job | None:
        return None if verdicts.pop(0) else await call_next(job)

    deduplicating = chain(Clock(), drops)
    assert await deduplicating.run(numbered(1, "x"), store) is None
    assert await deduplicating.run(numbered(2, "x"), store) is not None


async def test_a_cancelled_enqueue_is_forgotten() -> None:
    deduplicating = chain(Clock())

    async def waiting(job: Job) -> Job:
        await asyncio.sleep(3600)
        return job

    enqueueing = asyncio.ensure_future(deduplicating.run(numbered(1, "x"), waiting))
    await asyncio.sleep(0)
    enqueueing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await enqueueing
    assert await deduplicating.run(numbered(2, "x"), store) is not None


async def test_a_job_that_was_stored_before_an_error_stays_known() -> None:
    """The error says so, and the job is there."""

    async def breaks_afterwards(job: Job, call_next: Any) -> Job | None:
        await call_next(job)
        raise KeyError("too late")

    deduplicating = chain(Clock(), breaks_afterwards)
    with pytest.raises(KeyError):
        await deduplicating.run(numbered(1, "x"), store)
    assert await deduplicating.run(numbered(2, "x"), store) is None


async def test_a_jobs_own_unique_policy_says_what_is_compared() -> None:
    by_user = {"keys": ["args"], "args_keys": ["user"]}
    deduplicating = chain(Clock())
    first = numbered(1, {"user": 1, "n": 1}, unique=by_user)
    assert await deduplicating.run(first, store) is not None
    assert await deduplicating.run(numbered(2, {"user": 1, "n": 2}, unique=by_user), store) is None
    other = numbered(3, {"user": 2, "n": 1}, unique=by_user)
    assert await deduplicating.run(other, store) is not None


async def test_a_jobs_own_period_may_be_shorter_than_the_window() -> None:
    clock = Clock()
    deduplicating = chain(clock)
    for number, expected in [(1, True), (2, False), (3, True)]:
        job = numbered(number, unique=UNIQUE | {"period": "PT4S"})
        assert (await deduplicating.run(job, store) is not None) is expected
        clock.now += 2


@pytest.mark.parametrize("strategy", ["replace", "replace_except_schedule"])
async def test_a_job_that_replaces_its_duplicate_passes(strategy: str) -> None:
    deduplicating = chain(Clock())
    for number in (1, 2):
        job = numbered(number, unique=UNIQUE | {"on_conflict": strategy})
        assert await deduplicating.run(job, store) is not None


async def test_an_invalid_unique_policy_is_an_invalid_request() -> None:
    with pytest.raises(InvalidRequestError, match=r"unique\.keys"):
        await chain(Clock()).run(numbered(1, unique={"keys": ["argz"]}), store)


async def test_only_jobs_with_a_unique_policy_are_compared_if_so_wanted() -> None:
    """Middleware, section 10.1."""
    deduplicating = chain(Clock(), only_unique=True)
    for number in (1, 2):
        assert await deduplicating.run(numbered(number, "x"), store) is not None
    assert await deduplicating.run(numbered(3, "x", unique=UNIQUE), store) is not None
    assert await deduplicating.run(numbered(4, "x", unique=UNIQUE), store) is None


async def test_the_flow_of_section_10_1() -> None:
    """Trace context, locale and deduplication: no unique policy, so the job goes through."""
    traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    async def traces(job: Job, call_next: Any) -> Job | None:
        job.meta["traceparent"] = traceparent
        kept: Job | None = await call_next(job)
        return kept

    LOCALE.set("en-US")
    TIMEZONE.set("America/New_York")
    enqueueing = EnqueueChain(
        [traces, LocaleMiddleware(), DeduplicationMiddleware(only_unique=True)]
    )
    for number in (1, 2):
        job = numbered(number, "user@example.com", "welcome", type="email.send")
        kept = await enqueueing.run(job, store)
        assert kept is not None
        assert kept.meta == {
            "traceparent": traceparent,
            "locale": "en-US",
            "timezone": "America/New_York",
        }
    unique = [numbered(n, "x", unique={"keys": ["args"]}) for n in (3, 4)]
    passed = [await enqueueing.run(job, store) is not None for job in unique]
    assert passed == [True, False]


async def test_other_keys_can_be_compared() -> None:
    by_id = chain(Clock(), policy=UniquePolicy.by("args", args_keys=["id"]))
    assert await by_id.run(numbered(1, {"id": 1, "n": 1}), store) is not None
    assert await by_id.run(numbered(2, {"id": 1, "n": 2}), store) is None
    for number in (3, 4):  # jobs of other types, without an id, are none of its business
        assert await by_id.run(numbered(number, "x", type="c.d"), store) is not None
    by_tag = chain(Clock(), key=lambda job: job.tags[0] if job.tags else None)
    assert await by_tag.run(numbered(1, tags=["t"]), store) is not None
    assert await by_tag.run(numbered(2, "x", type="c.d", tags=["t"]), store) is None
    for number in (3, 4):
        assert await by_tag.run(numbered(number), store) is not None


async def test_a_duplicate_can_be_an_error() -> None:
    deduplicating = chain(Clock(), on_duplicate="raise")
    await deduplicating.run(numbered(1), store)
    with pytest.raises(DuplicateError) as refused:
        await deduplicating.run(numbered(2), store)
    assert refused.value.details == {"existing_job_id": numbered(1).id}
    assert refused.value.status == 409


def test_the_backend_runs_it_without_an_event_loop() -> None:
    deduplicating = chain(Clock())
    with pytest.raises(RuntimeError, match="no running event loop"):
        asyncio.get_running_loop()
    assert deduplicating.run_sync(numbered(1), lambda job: job)[0] is not None
    assert deduplicating.run_sync(numbered(2), lambda job: job) == (None, "deduplication")


async def test_a_store_may_be_asynchronous() -> None:
    """One that waits needs an event loop in the backend, and gets it."""

    class Remote:
        def __init__(self) -> None:
            self.seen = MemorySeenStore()

        async def claim(self, key: str, job_id: str, window_s: float) -> str | None:
            await asyncio.sleep(0)
            return self.seen.claim(key, job_id, window_s)

        async def release(self, key: str, job_id: str) -> None:
            await asyncio.sleep(0)
            self.seen.release(key, job_id)

    middleware = DeduplicationMiddleware(store=Remote())
    assert not middleware.never_waits
    deduplicating = EnqueueChain([middleware])
    with pytest.raises(BackendError):
        await deduplicating.run(numbered(1), failing)
    assert await deduplicating.run(numbered(2), store) is not None
    assert await deduplicating.run(numbered(3), store) is None


def test_memory_is_bounded_and_forgets_the_oldest() -> None:
    clock = Clock()
    seen = MemorySeenStore(2, clock=clock)
    for key in "abc":
        assert seen.claim(key, f"job-{key}", 10) is None
    assert len(seen) == 2
    assert seen.claim("c", "job-d", 10) == "job-c"
    assert seen.claim("a", "job-e", 10) is None
    clock.now += 10
    assert seen.claim("x", "job-x", 10) is None
    assert len(seen) == 1


def test_only_the_holder_releases_a_key() -> None:
    seen = MemorySeenStore(clock=Clock())
    seen.claim("a", "one", 10)
    seen.release("a", "other")
    seen.release("b", "other")
    assert seen.claim("a", "other", 10) == "one"


@pytest.mark.parametrize("options", [{"window_s": 0}, {"on_duplicate": "explode"}])
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        DeduplicationMiddleware(**options)
    with pytest.raises(ValueError, match="at least 1"):
        MemorySeenStore(0)


async def test_of_fifty_tasks_at_once_one_enqueues() -> None:
    deduplicating = EnqueueChain([DeduplicationMiddleware()])

    async def slow(job: Job) -> Job:
        await asyncio.sleep(0)
        return job

    runs = [deduplicating.run(numbered(n, "x"), slow) for n in range(50)]
    assert len([kept for kept in await asyncio.gather(*runs) if kept is not None]) == 1


def test_of_fifty_threads_at_once_one_enqueues() -> None:
    deduplicating = EnqueueChain([DeduplicationMiddleware()])
    together = threading.Barrier(50)

    def enqueue(number: int) -> bool:
        together.wait()
        return deduplicating.run_sync(numbered(number, "x"), lambda job: job)[0] is not None

    with ThreadPoolExecutor(50) as pool:
        assert sum(pool.map(enqueue, range(50))) == 1
