"""Injects every fault into every single AWS call: no job is lost, none runs twice at once.

One scenario is played again and again, each time with another call that fails, takes effect
without an answer, or takes the process with it. The clients repeat what they got no answer to, as
clients do; then the world heals, and everything that was promised must be true.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, ConflictError, NotFoundError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.json_text import parse_object
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.simulation.faults import Fault, ProcessDiedError
from tests.simulation.world import World

pytestmark = pytest.mark.thorough

ERROR = parse_object('{"type": "Broken", "message": "it broke"}')
PLAIN, SCHEDULED = "01990000-0000-7000-8000-aaaaaaaaaaaa", "01990000-0000-7000-8000-bbbbbbbbbbbb"
POLICY = {"max_attempts": 20, "jitter": False}


def attempt(call: Callable[[], Any]) -> Any:
    """Call twice at most: a caller that got no answer repeats its request once."""
    for _ in range(2):
        try:
            return call()
        except (BackendError, ProcessDiedError):
            continue
        except (ConflictError, NotFoundError):
            return None
    return None


def fetch(world: World, worker: str) -> list[str]:
    """What a worker gets."""
    request = FetchRequest(("default",), 5, worker, 30_000)
    return [job.id for job in attempt(lambda: world.backend.jobs.fetch(request)) or []]


def play(world: World) -> None:
    """Push two jobs; fail, beat, lose and complete them; sweep in between."""
    backend = world.backend
    attempt(lambda: backend.jobs.push(Job("a.b", [1], id=PLAIN, retry=POLICY)))
    attempt(
        lambda: backend.jobs.push(
            Job("a.b", [2], id=SCHEDULED, retry=POLICY, scheduled_at="+PT20M")
        )
    )
    for job_id in fetch(world, "w1"):
        attempt(partial(backend.workers.heartbeat, "w1", [job_id, SCHEDULED]))
        attempt(partial(backend.workers.heartbeat, None, [job_id, SCHEDULED]))
        attempt(partial(backend.jobs.fail, job_id, "w1", ERROR))
    world.clock.advance(s=10)
    attempt(backend.upkeep.sweep.tick)
    for job_id in fetch(world, "w2"):
        attempt(partial(backend.jobs.ack, job_id, "w2", None))
    world.clock.advance(s=1200)
    attempt(backend.upkeep.sweep.tick)
    fetch(world, "w3")  # and w3 is never heard of again


def heal(world: World) -> None:
    """Let time pass without faults; workers fetch and complete what there is."""
    world.faults.faulty = None
    for _ in range(8):
        world.clock.advance(s=61)
        world.backend.upkeep.sweep.tick()
        while jobs := fetch(world, "healer"):
            for job_id in jobs:
                world.backend.jobs.ack(job_id, "healer", None)


def calls_of_the_scenario() -> int:
    """Return how many calls can get a fault."""
    world = World()
    play(world)
    return len(world.faults.calls)


@pytest.mark.parametrize("fault", list(Fault))
def test_no_fault_loses_a_job_or_leaves_one_or_its_messages_behind(fault: Fault) -> None:
    """Promises 1 to 3, for each call of the scenario.

    Stray messages are found and deleted; none runs a job again.
    """
    for faulty in range(calls_of_the_scenario()):
        world = World()
        world.faults.faulty, world.faults.fault = faulty, fault
        play(world)
        heal(world)
        where = f"call {faulty} ({world.faults.calls[faulty]}) {fault.value}"
        assert {job.state for job in world.stored.jobs.values()} == {JobState.COMPLETED}, where
        assert set(world.stored.jobs) == {PLAIN, SCHEDULED}, where
        world.clock.advance(s=43_200)
        assert fetch(world, "late") == [], where
        fetch(world, "late")
        assert world.held() == [], where


def test_the_scenario_touches_every_kind_of_call() -> None:
    """So that the tests above say something about each."""
    world = World()
    play(world)
    assert set(world.faults.calls) >= {
        "insert",
        "send",
        "receive",
        "head",
        "claim",
        "extend",
        "save",
        "hide",
        "acknowledge",
        "load",
        "load_many",
        "beat",
        "due",
        "all",
    }
