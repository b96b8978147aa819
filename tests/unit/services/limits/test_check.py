"""Limits at FETCH, over the model (ojs-rate-limiting, section 8)."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import NotFoundError, OjsError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.json_text import decode, parse_object
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.services.events import Commit, events_of
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.render import render_job
from tests.job_steps import fetched_ids
from tests.simulation.faults import Fault, ProcessDiedError
from tests.simulation.world import World

ERROR = parse_object('{"type": "Broken", "message": "it broke"}')


def push(world: World, limit: dict[str, Any] | None = None, **attributes: Any) -> str:
    """Push a job, with a limit of its own."""
    job = Job("demo.echo", [], **attributes)
    if limit is not None:
        job["rate_limit"] = limit
    record = world.backend.jobs.push(job).record
    assert record is not None
    return record.id


def active(world: World, key: str) -> int:
    """Places that are taken."""
    return world.backend.limits.get(key).bucket.active


ONE = {"key": "api", "concurrency": 1}


def test_rl_001_a_job_waits_until_another_has_ended(world: World) -> None:
    """It stays available (RL-003), whichever way the other one ends."""
    for end in ("ack", "fail", "cancel", "expire"):
        first, second = push(world, ONE), push(world, ONE)
        assert fetched_ids(world.backend, count=2) == [first], end
        assert fetched_ids(world.backend) == []
        assert world.stored.jobs[second].state is JobState.AVAILABLE
        match end:
            case "ack":
                world.backend.jobs.ack(first, "w", None)
            case "fail":
                world.backend.jobs.fail(first, "w", ERROR)
            case "cancel":
                world.backend.jobs.cancel(first)
            case "expire":
                world.clock.advance(s=1801)
                world.backend.jobs.info(first)
        assert active(world, "api") == 0, end
        taken = fetched_ids(world.backend)
        assert len(taken) == 1, end
        assert active(world, "api") == 1, end
        world.backend.jobs.ack(taken[0], "w", None)
        for job_id in (first, second):
            with suppress(OjsError):
                world.backend.jobs.cancel(job_id)


def test_rl_002_each_key_has_a_bucket_of_its_own(world: World) -> None:
    """And jobs without a limit none."""
    jobs = [push(world, {"key": key, "concurrency": 1}) for key in ("a", "b")] + [push(world)]
    assert fetched_ids(world.backend, count=5) == jobs


def test_rl_004_jobs_behind_those_that_wait_are_fetched(world: World) -> None:
    """Also far behind them, and higher priorities first among the eligible."""
    first = push(world, ONE)
    for _ in range(150):
        push(world, ONE)
    low, high = push(world, priority=-5), push(world, priority=-4)
    assert fetched_ids(world.backend) == [first]
    assert fetched_ids(world.backend) == [high]
    assert fetched_ids(world.backend) == [low]
    assert fetched_ids(world.backend) == []


def test_rl_r001_a_window_lets_so_many_begin(world: World) -> None:
    """L4-RL-001: a job may name a limit of its queue, without a key."""
    jobs = [push(world, {"max_per_second": 1}) for _ in range(3)]
    assert fetched_ids(world.backend, count=3) == jobs[:1]
    assert fetched_ids(world.backend, count=3) == []
    world.clock.advance(ms=1000)
    assert fetched_ids(world.backend, count=3) == jobs[1:2]
    counted = world.backend.limits.get("queue:default")
    assert (counted.bucket.started, counted.bucket.active) == (1, 2)


def test_a_retried_attempt_counts_as_a_start(world: World) -> None:
    """The backoff is independent of the limit (section 8.3)."""
    job = push(world, {"key": "k", "rate": {"limit": 1, "period": "PT1H"}})
    assert fetched_ids(world.backend) == [job]
    world.backend.jobs.fail(job, "w", ERROR)
    world.clock.advance(s=60)
    assert fetched_ids(world.backend) == []
    world.clock.advance(s=3600)
    assert fetched_ids(world.backend) == [job]


def test_a_job_may_rather_be_given_up_than_wait(world: World) -> None:
    """on_limit drop: discarded, and the others of its bucket, too."""
    limit = {**ONE, "on_limit": "drop"}
    first, second, third = (push(world, limit) for _ in range(3))
    assert fetched_ids(world.backend, count=3) == [first]
    assert {world.stored.jobs[each].state for each in (second, third)} == {JobState.DISCARDED}


def test_a_whole_queue_is_limited_whatever_its_jobs_say(world: World) -> None:
    """RL-R005: all limits must be satisfied; and it can be undone."""
    world.backend.limits.limit_queue("default", {"concurrency": 2})
    jobs = [push(world, {"key": "k", "concurrency": 9}) for _ in range(3)]
    assert fetched_ids(world.backend, count=3) == jobs[:2]
    assert (active(world, "queue:default"), active(world, "k")) == (2, 2)
    world.backend.jobs.ack(jobs[0], "w", None)
    assert (active(world, "queue:default"), active(world, "k")) == (1, 1)
    assert fetched_ids(world.backend, count=3) == jobs[2:]
    world.backend.limits.unlimit_queue("default")
    more = push(world)
    assert fetched_ids(world.backend) == [more]


def test_lambda_workers_are_limited_and_their_messages_wait(world: World) -> None:
    """They come back when it is worth it, not at once."""
    for _ in range(3):
        push(world, {"key": "k", "rate": {"limit": 1, "period": "PT4S"}})
    received = world.messages.receive("default", 10, 120)
    claimed = world.backend.jobs.fetch.claim_messages("default", received, "lambda")
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
            for each in world.backend.jobs.fetch.claim_messages("default", again, "lambda")
        )
        == 1
    )


@pytest.mark.parametrize("how", ["unlimit", "settings"])
def test_who_waits_for_the_limit_of_a_queue_is_woken_when_it_ends(world: World, how: str) -> None:
    """Lambda workers: their messages may be set aside for a quarter of an hour."""
    backend = world.backend
    backend.queues.config.change("default", {"rate_limit": {"limit": 1, "period": "PT1H"}})
    for _ in range(3):
        push(world)
    received = world.messages.receive("default", 10, 120)
    backend.jobs.fetch.claim_messages("default", received, "lambda")
    world.clock.advance(s=5)
    assert world.messages.receive("default", 10, 120) == []
    if how == "unlimit":
        backend.limits.unlimit_queue("default")
    else:
        backend.queues.config.change("default", {"rate_limit": None})
    assert len(world.messages.receive("default", 10, 120)) == 2


def test_a_limit_is_seen_before_any_job_began(world: World) -> None:
    """RL-005; and one that nobody named is not there."""
    push(world, ONE)
    assert world.backend.limits.get("api").limit.concurrency == 1
    with pytest.raises(NotFoundError):
        world.backend.limits.get("other")


def test_a_job_may_rather_be_scheduled_than_wait(world: World) -> None:
    """on_limit reschedule: for when its limit lets it begin; it says so, and comes back."""
    limit = {"key": "k", "rate": {"limit": 1, "period": "PT1H"}, "on_limit": "reschedule"}
    first, second = push(world, limit), push(world, limit)
    assert fetched_ids(world.backend, count=2) == [first]
    record = world.stored.jobs[second]
    assert record.state is JobState.SCHEDULED
    opened = world.stored.buckets["k"].opened_at
    assert record.scheduled_at is not None
    assert opened is not None
    assert record.scheduled_at == opened + 3_600_000
    assert "enqueued_at" not in render_job(record)
    assert decode(render_job(record)["scheduled_at"]) == format_instant(record.scheduled_at)
    world.backend.jobs.ack(first, "w", None)
    world.clock.advance(s=3599)
    assert fetched_ids(world.backend) == []
    world.clock.advance(s=1)
    assert fetched_ids(world.backend) == [second]


def test_a_job_type_is_limited_wherever_its_jobs_are(world: World) -> None:
    """And in one queue; whether they name a limit or not, and by all workers together."""
    world.backend.limits.override("type:demo.echo", {"concurrency": 2})
    jobs = [push(world) for _ in range(3)] + [push(world, {"key": "k", "concurrency": 9})]
    elsewhere = push(world, queue="other")
    assert fetched_ids(world.backend, count=5) == jobs[:2]
    assert world.backend.jobs.fetch(FetchRequest(("other",), 1, "w")) == []
    world.backend.jobs.ack(jobs[0], "w", None)
    other = world.backend.jobs.fetch(FetchRequest(("other",), 1, "w"))
    assert [job.id for job in other] == [elsewhere]
    assert active(world, "type:demo.echo") == 2
    world.backend.limits.lift("type:demo.echo")
    world.backend.limits.override("queue:default:type:demo.echo", {"concurrency": 0})
    world.clock.advance(s=5)
    assert fetched_ids(world.backend, count=5) == []
    world.backend.limits.lift("queue:default:type:demo.echo")
    world.clock.advance(s=5)
    assert fetched_ids(world.backend, count=5) == jobs[2:]


def test_other_types_pass_by_one_that_waits(world: World) -> None:
    """RL-004, for messages too, which do not say what type they are for."""
    world.backend.limits.override("type:demo.echo", {"concurrency": 0})
    for _ in range(30):
        push(world)
    record = world.backend.jobs.push(Job("demo.other", [])).record
    assert record is not None
    received = [each for _ in range(4) for each in world.messages.receive("default", 10, 120)]
    mine = [each for each in received if each.message.job_id == record.id]
    others = [each for each in received if each.message.job_id != record.id][:5]
    outcomes = world.backend.jobs.fetch.claim_messages("default", [*others, *mine], "lambda")
    claimed = [each.record.id for each in outcomes if each.record is not None]
    assert claimed == [record.id]


def test_each_tenant_has_a_partition_of_its_own(world: World) -> None:
    """RL-002: a key that ends with a value of the job."""
    limit = {"key": "reports", "by": "meta.tenant", "concurrency": 1}
    jobs = [push(world, limit, meta={"tenant": tenant}) for tenant in ("a", "a", "b")]
    assert fetched_ids(world.backend, count=3) == [jobs[0], jobs[2]]
    assert active(world, "reports:a") == 1


def test_rl_r004_an_override_stops_a_key_and_ends_by_itself(world: World) -> None:
    """Section 10.2; and DELETE ends it before."""
    ends = format_instant(Instant(world.clock.at + 60_000))
    job = push(world, {"key": "api", "concurrency": 5})
    counted = world.backend.limits.override("api", {"concurrency": 0, "expires_at": ends})
    assert (counted.limit.concurrency, counted.waiting) == (0, 1)
    assert fetched_ids(world.backend) == []
    world.clock.advance(s=60)
    assert fetched_ids(world.backend) == [job]
    world.backend.limits.override("api", {"concurrency": 0})
    again = push(world, {"key": "api", "concurrency": 5})
    assert fetched_ids(world.backend) == []
    world.backend.limits.lift("api")
    assert fetched_ids(world.backend) == [again]
    with pytest.raises(NotFoundError):
        world.backend.limits.lift("api")


def test_rl_r003_a_handler_that_was_refused_holds_its_key_back(world: World) -> None:
    """Section 9.1: until the instant that the error names."""
    job, other = push(world, {"key": "api", "concurrency": 5}), push(world)
    waiting = push(world, {"key": "api", "concurrency": 5})
    assert fetched_ids(world.backend) == [job]
    until = format_instant(Instant(world.clock.at + 30_000))
    error = parse_object(f'{{"type": "Limited", "message": "429", "rate_limit_until": "{until}"}}')
    world.backend.jobs.fail(job, "w", error)
    assert fetched_ids(world.backend, count=2) == [other]
    world.clock.advance(s=30)
    assert waiting in fetched_ids(world.backend, count=2)


@pytest.mark.parametrize("until", ["soon", 5, None, "2020-01-01T00:00:00Z"])
def test_an_error_that_names_no_instant_is_only_an_error(world: World, until: object) -> None:
    """It is the application's own data; the failure counts nevertheless."""
    job = push(world, {"key": "api", "concurrency": 1})
    fetched_ids(world.backend)
    text = json.dumps({"message": "429", "details": {"rate_limit_until": until}})
    world.backend.jobs.fail(job, "w", parse_object(text))
    assert world.stored.jobs[job].state is JobState.RETRYABLE
    assert world.stored.buckets["api"].blocked_until is None


def test_rl_006_a_bucket_reports_once_that_it_is_exhausted_and_released(
    world: World,
) -> None:
    """However often it is asked; the events are made of that."""
    jobs = [push(world, ONE) for _ in range(3)]
    fetched_ids(world.backend)
    commit = Commit(Instant(world.clock.at))
    published = []
    for look in range(4):
        before = world.stored.buckets["api"]
        if look == 3:
            world.backend.jobs.ack(jobs[0], "w", None)
        fetched_ids(world.backend)
        published += events_of(before, world.stored.buckets["api"], commit)
    assert [event.type for event in published] == ["rate_limit.exceeded", "rate_limit.released"]
    exceeded, released = (decode(event.data) for event in published)
    assert exceeded == {"key": "api", "strategy": "concurrency", "limit": 1, "current": 1}
    assert released == {"key": "api", "strategy": "concurrency", "job_id": jobs[1]}


def test_how_many_wait_is_reported(world: World) -> None:
    """Section 10.1; for a queue and a type as for a key."""
    world.backend.limits.override("queue:default", {"concurrency": 9})
    world.backend.limits.override("type:demo.echo", {"concurrency": 9})
    world.registry.note("default", Instant(world.clock.at))
    for _ in range(3):
        push(world, ONE)
    push(world)
    fetched_ids(world.backend)
    page, _ = world.backend.limits.page("", 10)
    assert {each.bucket.key: each.waiting for each in page} == {
        "api": 2,
        "queue:default": 3,
        "type:demo.echo": 3,
    }


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("operation", ["fetch", "ack", "fail", "cancel"])
def test_whatever_fails_no_place_leaks_and_none_is_taken_twice(
    fault: Fault, operation: str
) -> None:
    """Inject each fault into each call of each operation: places are what active jobs hold."""
    for faulty in range(6):
        world = World()
        first, second = push(world, ONE), push(world, ONE)
        if operation != "fetch":
            assert fetched_ids(world.backend) == [first]
        world.faults.faulty, world.faults.fault = len(world.faults.calls) + faulty, fault
        with suppress(OjsError, ProcessDiedError):
            match operation:
                case "fetch":
                    fetched_ids(world.backend)
                case "ack":
                    world.backend.jobs.ack(first, "w", None)
                case "fail":
                    world.backend.jobs.fail(first, "w", ERROR)
                case "cancel":
                    world.backend.jobs.cancel(first)
        world.faults.faulty = None
        states = [job.state for job in world.stored.jobs.values()]
        assert active(world, "api") == states.count(JobState.ACTIVE) <= 1
        ended = 0
        for _ in range(20):
            world.clock.advance(s=1801)
            world.backend.upkeep.sweep.tick()
            for job_id in fetched_ids(world.backend, count=5):
                world.backend.jobs.ack(job_id, "w", None)
                ended += 1
        assert active(world, "api") == 0
        assert all(world.stored.jobs[each].state.is_terminal for each in (first, second))


def test_the_sweep_sends_no_second_message_for_a_job_that_waits(world: World) -> None:
    """Its own is set aside, and comes back; one that is lost is sent again."""
    for _ in range(3):
        push(world, {"key": "k", "concurrency": 0})
    for _ in range(5):
        world.clock.advance(s=90)
        received = world.messages.receive("default", 10, 120)
        world.backend.jobs.fetch.claim_messages("default", received, "lambda")
        world.backend.upkeep.sweep.tick()
        assert world.messages.backlog("default").total == 3
    world.lose_messages()
    world.backend.upkeep.sweep.tick()
    assert world.messages.backlog("default").visible == 3


HOURLY: dict[str, Any] = {"limit": 1, "period": "PT1H"}


@pytest.mark.parametrize("whose", ["the job's", "the queue's", "the type's"])
def test_messages_do_not_multiply_while_jobs_wait_for_a_slow_limit(
    world: World, whose: str
) -> None:
    """One start an hour, whoever limits it: a message for each job, however often is swept."""
    if whose == "the queue's":
        world.backend.limits.override("queue:default", {"rate": HOURLY})
    elif whose == "the type's":
        world.backend.limits.override("type:demo.echo", {"rate": HOURLY})
    for _ in range(99):
        push(world, {"key": "k", "rate": HOURLY} if whose == "the job's" else None)
    begun = 0
    for _ in range(90):
        while received := world.messages.receive("default", 10, 120):
            outcomes = world.backend.jobs.fetch.claim_messages("default", received, "lambda")
            for message, outcome in zip(received, outcomes, strict=True):
                if outcome.record is not None:
                    begun += 1
                    world.backend.jobs.ack(outcome.record.id, "lambda", None, has_message=False)
                    world.messages.delete("default", [message.handle])
        world.backend.upkeep.sweep.tick()
        assert len(world.held()) <= 99
        world.clock.advance(s=60)
    assert begun == 2


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("operation", ["report", "stop", "reschedule"])
def test_whatever_fails_what_is_laid_down_leaks_no_place(fault: Fault, operation: str) -> None:
    """Inject a fault into each call of a report, an override and its end, and a postponed job."""
    for faulty in range(8):
        world = World()
        limit = {**ONE, "on_limit": "reschedule"} if operation == "reschedule" else ONE
        jobs = [push(world, limit), push(world, limit)]
        if operation == "report":
            assert fetched_ids(world.backend) == jobs[:1]
        until = format_instant(Instant(world.clock.at + 30_000))
        error = parse_object(f'{{"message": "429", "rate_limit_until": "{until}"}}')
        world.faults.faulty, world.faults.fault = len(world.faults.calls) + faulty, fault
        with suppress(OjsError, ProcessDiedError):
            match operation:
                case "report":
                    world.backend.jobs.fail(jobs[0], "w", error)
                case "stop":
                    world.backend.limits.override("api", {"concurrency": 0, "expires_at": until})
                    fetched_ids(world.backend, count=2)
                    world.backend.limits.lift("api")
                case "reschedule":
                    fetched_ids(world.backend, count=2)
        world.faults.faulty = None
        states = [job.state for job in world.stored.jobs.values()]
        assert active(world, "api") == states.count(JobState.ACTIVE) <= 1
        for _ in range(20):
            world.clock.advance(s=1801)
            world.backend.upkeep.sweep.tick()
            for job_id in fetched_ids(world.backend, count=5):
                world.backend.jobs.ack(job_id, "w", None)
        assert active(world, "api") == 0
        assert all(world.stored.jobs[each].state.is_terminal for each in jobs)
