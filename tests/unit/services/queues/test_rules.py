"""How many queues may come to be at their first use."""

from __future__ import annotations

import itertools
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import NotFoundError
from ojs_aws.services.queues import rules
from ojs_aws.services.queues.rules import UndeclaredQueues
from tests.simulation.world import World


@pytest.fixture
def world() -> World:
    """A backend with a declared queue and room for three others."""
    return World(settings=Settings(max_undeclared_queues=3))


def push(world: World, queue: str) -> None:
    """Enqueue a job."""
    world.backend.jobs.push(Job("a.b", [], queue=queue))


def looks(world: World) -> int:
    """How often the registry was read so far."""
    return world.faults.calls.count("all")


def test_undeclared_queues_are_made_up_to_a_number(world: World) -> None:
    """One more is refused before anything is stored; declared and known ones go on."""
    for queue in ("a", "b", "c"):
        push(world, queue)
    jobs = len(world.stored.jobs)
    with pytest.raises(NotFoundError) as refused:
        push(world, "d")
    assert refused.value.details == {"queue": "d", "max_undeclared_queues": 3}
    with pytest.raises(NotFoundError):
        world.backend.jobs.push.all([Job("a.b", [], queue="a"), Job("a.b", [], queue="d")])
    assert len(world.stored.jobs) == jobs
    for queue in ("a", "default"):
        push(world, queue)


def test_another_process_counts_the_queues_that_there_are(world: World) -> None:
    """It knows nothing of them at first."""
    for queue in ("a", "b", "c"):
        world.registry.note(queue, world.clock.now())
    other = World(settings=world.settings, shared=world.aws)
    push(other, "b")
    with pytest.raises(NotFoundError):
        push(other, "d")


def test_what_is_known_costs_no_look_and_neither_does_what_is_refused(world: World) -> None:
    """A declared queue is never looked for; refused ones once a minute."""
    push(world, "default")
    assert looks(world) == 0
    for _ in range(3):
        for queue in ("a", "b", "c"):
            push(world, queue)
            world.clock.advance(s=2)
    before = looks(world)
    assert before <= 3
    for number in range(50):
        with pytest.raises(NotFoundError):
            push(world, f"made-up-{number}")
        world.clock.advance(s=1)
    assert looks(world) == before + 1


def test_a_deleted_queue_makes_room(world: World) -> None:
    """Within a minute."""
    for queue in ("a", "b", "c"):
        push(world, queue)
        world.registry.note(queue, world.clock.now())
    with pytest.raises(NotFoundError):
        push(world, "d")
    [job_id] = [job.id for job in world.stored.jobs.values() if job.queue == "a"]
    world.backend.jobs.cancel(job_id)
    world.backend.queues.config.delete("a", {"strategy": "reject"})
    world.clock.advance(s=61)
    push(world, "d")


def test_a_queue_that_was_admitted_counts_before_it_is_registered(world: World) -> None:
    """A push may still be on its way; it counts no more when a minute later nobody has seen it."""
    known: set[str] = set()
    queues = UndeclaredQueues(2, world.clock, lambda: known, tuple)
    assert [queues.admit(name) for name in ("a", "b", "c", "a")] == [True, True, False, True]
    world.clock.advance(s=61)
    assert queues.admit("c")


def test_where_the_queues_cannot_be_read_a_job_is_stored(world: World) -> None:
    """The bound is on cost; no job is lost for it."""
    world.faults.faulty = 0
    push(world, "a")
    assert len(world.stored.jobs) == 1


def test_threads_admit_queues_at_the_same_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them adds queues while others look over those that were admitted."""
    monkeypatch.setattr(rules, "LOOK_AGAIN_MS", 0)
    queues = UndeclaredQueues(100_000, world.clock, tuple, tuple)
    for number in range(2_000):
        queues.admit(f"before-{number}")

    def admit(thread: int) -> list[bool]:
        return [queues.admit(f"{thread}-{number}") for number in range(100)]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            assert all(itertools.chain(*threads.map(admit, range(4))))
    finally:
        sys.setswitchinterval(interval)
