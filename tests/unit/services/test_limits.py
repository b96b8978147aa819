"""Limits at FETCH, over the model (ojs-rate-limiting, section 8)."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import NotFoundError, OjsError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.json_text import parse_object
from ojs_aws.services.fetch import FetchRequest
from tests.simulation.faults import Fault, ProcessDiedError
from tests.simulation.world import World

ERROR = parse_object('{"type": "Broken", "message": "it broke"}')


@pytest.fixture
def world() -> World:
    """A fresh backend."""
    return World()


def push(world: World, limit: dict[str, Any] | None = None, **attributes: Any) -> str:
    """Push a job, with a limit of its own."""
    job = Job("demo.echo", [], **attributes)
    if limit is not None:
        job["rate_limit"] = limit
    record = world.backend.push(job).record
    assert record is not None
    return record.id


def fetch(world: World, count: int = 1) -> list[str]:
    """Fetch jobs."""
    return [job.id for job in world.backend.fetch(FetchRequest(("default",), count, "w"))]


def active(world: World, key: str) -> int:
    """Places that are taken."""
    return world.backend.limits.get(key).bucket.active


ONE = {"key": "api", "concurrency": 1}


def test_rl_001_a_job_waits_until_another_has_ended(world: World) -> None:
    """It stays available (RL-003), whichever way the other one ends."""
    for end in ("ack", "fail", "cancel", "expire"):
        first, second = push(world, ONE), push(world, ONE)
        assert fetch(world, 2) == [first], end
        assert fetch(world) == []
        assert world.store.jobs[second].state is JobState.AVAILABLE
        match end:
            case "ack":
                world.backend.ack(first, "w", None)
            case "fail":
                world.backend.fail(first, "w", ERROR)
            case "cancel":
                world.backend.cancel(first)
            case "expire":
                world.clock.advance(s=1801)
                world.backend.info(first)
        assert active(world, "api") == 0, end
        taken = fetch(world)
        assert len(taken) == 1, end
        assert active(world, "api") == 1, end
        world.backend.ack(taken[0], "w", None)
        for job_id in (first, second):
            with suppress(OjsError):
                world.backend.cancel(job_id)


def test_rl_002_each_key_has_a_bucket_of_its_own(world: World) -> None:
    """And jobs without a limit none."""
    jobs = [push(world, {"key": key, "concurrency": 1}) for key in ("a", "b")] + [push(world)]
    assert fetch(world, 5) == jobs


def test_rl_004_jobs_behind_those_that_wait_are_fetched(world: World) -> None:
    """Also far behind them, and higher priorities first among the eligible."""
    first = push(world, ONE)
    for _ in range(150):
        push(world, ONE)
    low, high = push(world, priority=-5), push(world, priority=-4)
    assert fetch(world) == [first]
    assert fetch(world) == [high]
    assert fetch(world) == [low]
    assert fetch(world) == []


def test_rl_r001_a_window_lets_so_many_begin(world: World) -> None:
    """L4-RL-001: a job may name a limit of its queue, without a key."""
    jobs = [push(world, {"max_per_second": 1}) for _ in range(3)]
    assert fetch(world, 3) == jobs[:1]
    assert fetch(world, 3) == []
    world.clock.advance(ms=1000)
    assert fetch(world, 3) == jobs[1:2]
    counted = world.backend.limits.get("queue:default")
    assert (counted.bucket.started, counted.bucket.active) == (1, 2)


def test_a_retried_attempt_counts_as_a_start(world: World) -> None:
    """The backoff is independent of the limit (section 8.3)."""
    job = push(world, {"key": "k", "rate": {"limit": 1, "period": "PT1H"}})
    assert fetch(world) == [job]
    world.backend.fail(job, "w", ERROR)
    world.clock.advance(s=60)
    assert fetch(world) == []
    world.clock.advance(s=3600)
    assert fetch(world) == [job]


def test_a_job_may_rather_be_given_up_than_wait(world: World) -> None:
    """on_limit drop: discarded, and the others of its bucket, too."""
    limit = {**ONE, "on_limit": "drop"}
    first, second, third = (push(world, limit) for _ in range(3))
    assert fetch(world, 3) == [first]
    assert {world.store.jobs[each].state for each in (second, third)} == {JobState.DISCARDED}


def test_a_whole_queue_is_limited_whatever_its_jobs_say(world: World) -> None:
    """RL-R005: all limits must be satisfied; and it can be undone."""
    world.backend.limits.limit_queue("default", {"concurrency": 2})
    jobs = [push(world, {"key": "k", "concurrency": 9}) for _ in range(3)]
    assert fetch(world, 3) == jobs[:2]
    assert (active(world, "queue:default"), active(world, "k")) == (2, 2)
    world.backend.ack(jobs[0], "w", None)
    assert (active(world, "queue:default"), active(world, "k")) == (1, 1)
    assert fetch(world, 3) == jobs[2:]
    world.backend.limits.unlimit_queue("default")
    more = push(world)
    assert fetch(world) == [more]


def test_lambda_workers_are_limited_and_their_messages_wait(world: World) -> None:
    """They come back when it is worth it, not at once."""
    for _ in range(3):
        push(world, {"key": "k", "rate": {"limit": 1, "period": "PT4S"}})
    received = world.messages.receive("default", 10, 120)
    claimed = world.backend.fetch.claim_messages("default", received, "lambda")
    assert [each.record is not None for each in claimed].count(True) == 1
    assert all(each.keep_message for each in claimed)
    world.clock.advance(ms=3900)
    assert world.messages.receive("default", 10, 120) == []
    world.clock.advance(ms=200)
    again = world.messages.receive("default", 10, 120)
    assert len(again) == 2
    assert (
        sum(
            each.record is not None
            for each in world.backend.fetch.claim_messages("default", again, "lambda")
        )
        == 1
    )


def test_a_limit_is_seen_before_any_job_began(world: World) -> None:
    """RL-005; and one that nobody named is not there."""
    push(world, ONE)
    assert world.backend.limits.get("api").limit.concurrency == 1
    with pytest.raises(NotFoundError):
        world.backend.limits.get("other")


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("operation", ["fetch", "ack", "fail", "cancel"])
def test_whatever_fails_no_place_leaks_and_none_is_taken_twice(
    fault: Fault, operation: str
) -> None:
    """Each call of each operation spoiled in each way: places are what active jobs hold."""
    for spoiled in range(6):
        world = World()
        first, second = push(world, ONE), push(world, ONE)
        if operation != "fetch":
            assert fetch(world) == [first]
        world.faults.spoiled, world.faults.fault = len(world.faults.calls) + spoiled, fault
        with suppress(OjsError, ProcessDiedError):
            match operation:
                case "fetch":
                    fetch(world)
                case "ack":
                    world.backend.ack(first, "w", None)
                case "fail":
                    world.backend.fail(first, "w", ERROR)
                case "cancel":
                    world.backend.cancel(first)
        world.faults.spoiled = None
        states = [job.state for job in world.store.jobs.values()]
        assert active(world, "api") == states.count(JobState.ACTIVE) <= 1
        ended = 0
        for _ in range(20):
            world.clock.advance(s=1801)
            world.backend.sweep.tick()
            for job_id in fetch(world, 5):
                world.backend.ack(job_id, "w", None)
                ended += 1
        assert active(world, "api") == 0
        assert all(world.store.jobs[each].state.is_terminal for each in (first, second))


def test_the_sweep_sends_no_second_message_for_a_job_that_waits(world: World) -> None:
    """Its own is set aside, and comes back; one that is lost is sent again."""
    for _ in range(3):
        push(world, {"key": "k", "concurrency": 0})
    for _ in range(5):
        world.clock.advance(s=90)
        received = world.messages.receive("default", 10, 120)
        world.backend.fetch.claim_messages("default", received, "lambda")
        world.backend.sweep.tick()
        assert world.messages.backlog("default", with_hidden=True) == 3
    world.messages.queues.clear()
    world.backend.sweep.tick()
    assert world.messages.backlog("default") == 3
