"""One job or queue that fails keeps no other from its turn: at FETCH, in the sweep, in the tick."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.jobs.fetch.claim_round import FAILED_AGAIN_S
from ojs_aws.services.jobs.fetch.service import Claimed
from ojs_aws.transport.events.tick import build_tick
from tests.job_steps import fetched_ids
from tests.simulation.world import World

ERROR = parse_object('{"type": "Broken", "message": "it broke"}')
PROBLEMS = [BackendError("UpdateItem failed: ValidationException."), ValueError("unreadable")]


@dataclass
class Poison:
    """Lets a store fail: some jobs cannot be written, and some queues cannot be read."""

    problem: Exception
    poisoned: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)

    def into(self, store: Any) -> None:
        """Let the methods of a store fail."""
        named: dict[str, Callable[..., list[str]]] = {
            "claim": lambda _, job_id, *__: [job_id],
            "save": lambda before, _: [before.id],
            "delete": lambda job: [job.id],
        }
        if not isinstance(self.problem, BackendError):
            named |= {"load_many": lambda ids: [*ids], "load": lambda job_id: [job_id]}
        for name, ids_of in named.items():
            setattr(store, name, self._checked(getattr(store, name), ids_of, self.poisoned))
        store.head = self._checked(store.head, lambda queue, _: [queue], self.broken)

    def _checked(self, call: Any, names_of: Callable[..., list[str]], bad: set[str]) -> Any:
        def checked(*arguments: Any) -> Any:
            if not bad.isdisjoint(names_of(*arguments)):
                raise self.problem
            return call(*arguments)

        return checked


@pytest.fixture(params=PROBLEMS, ids=["an error of ours", "any other"])
def store(request: pytest.FixtureRequest) -> Poison:
    """What fails, in either way."""
    return Poison(problem=request.param)


@pytest.fixture
def world(store: Poison) -> World:
    """A backend over a store that fails."""
    world = World()
    store.into(world.store)
    return world


def push(world: World, queue: str = "default", **attributes: Any) -> str:
    """Push a job to a queue that the sweep knows; its id."""
    world.registry.note(queue, Instant(world.clock.at))
    record = world.backend.jobs.push(Job("a.b", [], queue=queue, **attributes)).record
    assert record is not None
    return record.id


# ------------------------------------------------------------------------------------------- FETCH
def test_a_job_whose_claim_fails_does_not_stop_its_queue(
    world: World, store: Poison, caplog: pytest.LogCaptureFixture
) -> None:
    """The next in line is given instead, and the log names the job."""
    poison, *others = (push(world) for _ in range(3))
    store.poisoned.add(poison)
    assert [fetched_ids(world.backend), fetched_ids(world.backend)] == [
        [job_id] for job_id in others
    ]
    assert any(poison in record.getMessage() for record in caplog.records)


def test_many_jobs_whose_claims_fail_do_not_use_up_the_tries(world: World, store: Poison) -> None:
    """As many as a request sees of the queue."""
    store.poisoned.update(push(world) for _ in range(20))
    job_id = push(world)
    assert fetched_ids(world.backend) == [job_id]


def test_a_due_job_whose_write_fails_does_not_stop_its_queue(world: World, store: Poison) -> None:
    """Its backoff is over, and nobody can write that down."""
    poison, other = (push(world, scheduled_at="+PT5S") for _ in range(2))
    store.poisoned.add(poison)
    world.clock.advance(s=6)
    assert fetched_ids(world.backend) == [other]


def test_a_queue_that_cannot_be_read_does_not_stop_the_next_one(
    world: World, store: Poison
) -> None:
    """Nor are jobs lost that the queue before it gave."""
    store.broken.add("default")
    first, second = push(world, "a"), push(world, "b")
    assert fetched_ids(world.backend, "a", "default", "b", count=3) == [first, second]


def test_an_error_is_raised_where_nothing_can_be_fetched(world: World, store: Poison) -> None:
    """An empty answer would hide an outage."""
    store.poisoned.add(push(world))
    with pytest.raises(type(store.problem)):
        fetched_ids(world.backend)
    store.broken.add("a")
    with pytest.raises(type(store.problem)):
        fetched_ids(world.backend, "a", "b")


def test_a_fetch_ends_where_each_failing_call_takes_long(
    world: World, store: Poison, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls that time out would not end before the gateway's limit."""
    for _ in range(5):
        store.poisoned.add(push(world))
    claims: list[str] = []

    def slow(_: str, job_id: str, *__: object) -> None:
        claims.append(job_id)
        world.clock.advance(s=15)
        raise store.problem

    monkeypatch.setattr(world.store, "claim", slow)
    with pytest.raises(type(store.problem)):
        fetched_ids(world.backend, "default", "other")
    assert len(claims) == 1


def test_the_message_of_a_job_whose_claim_fails_comes_back_later(
    world: World, store: Poison
) -> None:
    """Not at once: each time it invokes a Lambda worker."""
    poison, other = push(world), push(world)
    store.poisoned.add(poison)
    received = world.messages.receive("default", 10, 900)
    outcomes = world.backend.jobs.fetch.claim_messages("default", received, "lambda", 900_000)
    assert outcomes[0] == Claimed(None, keep_message=True)
    assert outcomes[1].record is not None
    assert outcomes[1].record.id == other
    world.clock.advance(s=FAILED_AGAIN_S - 1)
    assert world.messages.receive("default", 10, 900) == []
    world.clock.advance(s=1)
    assert len(world.messages.receive("default", 10, 900)) == 1


# -------------------------------------------------------------------------------------------- sweep
def test_a_job_whose_write_fails_does_not_stop_the_sweep(world: World, store: Poison) -> None:
    """Those behind it are settled, and covered; it is counted."""
    poison, other = (push(world, scheduled_at="+PT5S") for _ in range(2))
    ready = push(world)
    store.poisoned.add(poison)
    world.lose_messages()
    world.clock.advance(s=90)
    report = world.backend.upkeep.sweep.tick()
    assert (report.settled, report.failed, report.jobs_failed) == (1, 0, 1)
    assert world.stored.jobs[other].state is JobState.AVAILABLE
    named = {each.message.job_id for each in world.held()}
    assert named >= {other, ready}


def test_a_queue_that_cannot_be_swept_does_not_stop_the_others(world: World, store: Poison) -> None:
    """Whatever the error is."""
    store.broken.add("default")
    push(world)
    other = push(world, "other", scheduled_at="+PT5S")
    world.clock.advance(s=90)
    report = world.backend.upkeep.sweep.tick()
    assert (report.queues, report.failed, report.settled) == (2, 1, 1)
    assert world.stored.jobs[other].state is JobState.AVAILABLE


def test_triggers_that_cannot_be_switched_do_not_stop_the_sweep(world: World) -> None:
    """Of one queue that is paused."""
    push(world)
    due = push(world, "other", scheduled_at="+PT5S")
    world.backend.queues.service.pause("default")

    def fail(_: object) -> None:
        raise ValueError("unexpected")

    sweep = world.backend.upkeep.sweep
    object.__setattr__(sweep, "finish", fail)
    world.clock.advance(s=90)
    assert sweep.tick().settled == 1
    assert world.stored.jobs[due].state is JobState.AVAILABLE


# --------------------------------------------------------------------------------------------- tick
def broken(*_: object, **__: object) -> Any:
    """A part of the tick that fails unexpectedly."""
    raise ValueError("unexpected")


PARTS: dict[str, Callable[[World, pytest.MonkeyPatch], None]] = {
    "cron": lambda world, patch: patch.setattr(type(world.backend.cron.scheduler), "tick", broken),
    "batches": lambda world, patch: patch.setattr(world.batches, "open", broken),
    "dead letters": lambda world, patch: patch.setattr(
        type(world.backend.dead_letters.upkeep), "tick", broken
    ),
    "depths": lambda world, patch: patch.setattr(
        type(world.backend.queues.depth_recount), "tick", broken
    ),
}


@pytest.mark.parametrize("part", PARTS)
def test_no_part_of_the_tick_stops_the_others(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cron jobs, batches, dead letters and counters beside the sweep."""
    world = World()
    due = push(world, scheduled_at="+PT5S")
    world.clock.advance(s=90)
    PARTS[part](world, monkeypatch)
    tick = build_tick(world.backend)
    assert tick({}, None)["settled"] == 1
    assert world.stored.jobs[due].state is JobState.AVAILABLE


def test_a_cron_job_that_fails_unexpectedly_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither in the tick, nor among alarms that came together."""
    world = World()
    firing = world.backend.cron.scheduler
    fire = type(firing).fire

    def fired(self: Any, name: str) -> list[int]:
        return broken() if name == "a" else fire(self, name)

    monkeypatch.setattr(type(firing), "fire", fired)
    tick = build_tick(world.backend)
    report = tick({"Records": [{"body": "a"}, {"body": "b"}]}, None)
    assert report == {"cron_due": 2, "cron_fired": 0, "cron_failed": 1}


def test_a_dead_letter_that_cannot_be_removed_does_not_stop_pruning() -> None:
    """Nor the dead letters of other queues."""
    store = Poison(problem=ValueError("unreadable"))
    world = World()
    store.into(world.store)
    upkeep = world.backend.dead_letters.upkeep
    upkeep.max_count = 0
    dead = []
    for _ in range(3):
        job_id = push(world, retry={"max_attempts": 1, "on_exhaustion": "dead_letter"})
        fetched_ids(world.backend)
        world.backend.jobs.fail(job_id, "w", ERROR)
        dead.append(job_id)
    store.poisoned.add(dead[0])
    world.clock.advance(s=600)
    assert upkeep.tick().pruned == 2
    assert set(world.stored.jobs) == {dead[0]}
