"""Unique jobs under every single fault, and under anything that may happen in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, ConflictError, DuplicateError, OjsError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.unique.keys import DEFAULT_STATES
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.simulation.faults import Fault, ProcessDiedError
from tests.simulation.world import World

pytestmark = pytest.mark.thorough

ERROR = parse_object('{"type": "Broken", "message": "it broke"}')
STRATEGIES = ["reject", "ignore", "replace", "replace_except_schedule"]
FIRST, SECOND = "01990000-0000-7000-8000-aaaaaaaaaaaa", "01990000-0000-7000-8000-bbbbbbbbbbbb"
OTHER = "01990000-0000-7000-8000-cccccccccccc"
KEPT_OUT = "kept out"


def attempt(call: Callable[[], Any]) -> Any:
    """A caller that got no answer repeats its request."""
    for _ in range(2):
        try:
            return call()
        except (BackendError, ProcessDiedError):
            continue
        except DuplicateError:
            return KEPT_OUT
    return None


def push(world: World, job_id: str, strategy: str, args: list[Any], **more: Any) -> Any:
    """Push a job of the one key."""
    unique: dict[str, Any] = {"keys": ["type"], "on_conflict": strategy}
    job = Job("a.b", [*args], id=job_id, unique=unique, **more)
    return attempt(lambda: world.backend.jobs.push(job))


def live(world: World) -> list[str]:
    """Jobs of the key that have not ended, as of now."""
    now = world.clock.now()
    found = [deadlines.settle(job, now) for job in world.stored.jobs.values()]
    return [job.id for job in found if job.unique_key and job.state in DEFAULT_STATES]


def play(world: World, strategy: str, *, is_scheduled: bool) -> tuple[Any, Any]:
    """One job, and another one with the same key, alone or in a batch."""
    more = {"scheduled_at": "+PT10S"} if is_scheduled else {}
    first = push(world, FIRST, strategy, [1], **more)
    if is_scheduled:
        unique: dict[str, Any] = {"keys": ["type"], "on_conflict": strategy}
        batch = [Job("a.b", [2], id=SECOND, unique=unique), Job("c.d", [3], id=OTHER)]
        return first, attempt(lambda: world.backend.jobs.push.all(batch))
    return first, push(world, SECOND, strategy, [2])


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("is_scheduled", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_fault_makes_two_jobs_or_none_of_a_key(
    strategy: str, is_scheduled: bool, fault: Fault
) -> None:
    """For each call: one live job, all of a batch or nothing, and in the end a key that is free."""
    clean = World()
    play(clean, strategy, is_scheduled=is_scheduled)
    for faulty in range(len(clean.faults.calls)):
        world = World()
        world.faults.faulty, world.faults.fault = faulty, fault
        first, second = play(world, strategy, is_scheduled=is_scheduled)
        assert first not in (None, KEPT_OUT)
        assert second is not None
        expected = {job.id: job.state for job in clean.stored.jobs.values()}
        assert {job.id: job.state for job in world.stored.jobs.values()} == expected
        documents = {job.id: job.document for job in clean.stored.jobs.values()}
        assert {job.id: job.document for job in world.stored.jobs.values()} == documents
        assert len(live(world)) == 1
        heal(world)
        assert live(world) == []
        world.faults.faulty = None
        assert push(world, "01990000-0000-7000-8000-dddddddddddd", "reject", [4]) != KEPT_OUT


def heal(world: World) -> None:
    """Workers do what there is to do, without faults."""
    world.faults.faulty = None
    for _ in range(3):
        world.clock.advance(s=61)
        world.backend.upkeep.sweep.tick()
        while jobs := world.backend.jobs.fetch(FetchRequest(("default",), 5, "healer")):
            for job in jobs:
                world.backend.jobs.ack(job.id, "healer", None)


steps = st.one_of(
    st.tuples(
        st.just("push"),
        st.sampled_from(STRATEGIES),
        st.sampled_from([None, "+PT5S"]),
        st.sampled_from([None, "+PT20S"]),
    ),
    st.tuples(st.just("advance"), st.integers(1, 40)),
    st.tuples(st.sampled_from(["fetch", "ack", "fail", "cancel", "sweep"])),
    st.tuples(st.just("fault"), st.integers(0, 4), st.sampled_from(list(Fault))),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(steps, max_size=25))
def test_at_most_one_job_of_a_key_is_live_at_any_time(script: list[tuple[Any, ...]]) -> None:
    """Whatever is pushed, executed, cancelled, lost and repeated, in any order."""
    world = World()
    for number, (what, *how) in enumerate(script):
        try:
            step(world, number, what, how)
        except ProcessDiedError:
            pass
        except OjsError:
            pass
        assert len(live(world)) <= 1


def step(world: World, number: int, what: str, how: list[Any]) -> None:
    """One thing that happens."""
    held = [job for job in world.stored.jobs.values() if job.state is JobState.ACTIVE]
    match what:
        case "push":
            strategy, scheduled, expires = how
            more = {"scheduled_at": scheduled} if scheduled else {}
            more |= {"expires_at": expires} if expires else {}
            job_id = f"01990000-0000-7000-8000-eeeeeeee{number:04x}"
            retry = {"max_attempts": 2}
            push(world, job_id, strategy, [number], retry=retry, **more)
        case "advance":
            world.clock.advance(s=how[0])
        case "fetch":
            world.backend.jobs.fetch(FetchRequest(("default",), 1, "w", 15_000))
        case "ack" | "fail" | "cancel" if held:
            job = held[0]
            match what:
                case "ack":
                    world.backend.jobs.ack(job.id, "w", None)
                case "fail":
                    world.backend.jobs.fail(job.id, "w", ERROR)
                case _:
                    world.backend.jobs.cancel(job.id)
        case "sweep":
            world.backend.upkeep.sweep.tick()
        case "fault":
            world.faults.faulty = len(world.faults.calls) + how[0]
            world.faults.fault = how[1]


def test_an_operators_retry_is_no_enqueue() -> None:
    """Uniqueness is checked when a job is enqueued (section 9.2), and only then."""
    world = World()
    push(world, FIRST, "reject", [1], retry={"max_attempts": 1, "on_exhaustion": "dead_letter"})
    world.backend.jobs.fetch(FetchRequest(("default",), 1, "w"))
    world.backend.jobs.fail(FIRST, "w", ERROR)
    push(world, SECOND, "reject", [2])
    world.backend.dead_letters.service.retry(FIRST)
    assert sorted(live(world)) == [FIRST, SECOND]
    with pytest.raises(ConflictError):
        world.backend.jobs.push(Job("a.b", [3], id=OTHER, unique={"keys": ["type"]}))
