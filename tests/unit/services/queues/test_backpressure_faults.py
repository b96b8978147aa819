"""A bounded queue whose counter cannot be written, or of which nothing can be said."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, DuplicateError, QueueFullError
from tests.simulation.world import World
from tests.unit.services.queues.test_backpressure import depth, push

REFUSED = BackendError("refused")


@pytest.fixture
def world() -> World:
    """A backend with a queue of two."""
    made = World()
    made.backend.queues.config.change("small", {"max_size": 2})
    return made


def refuse(port: Any, name: str, problem: Exception = REFUSED, *, queue: str = "") -> list[str]:
    """Let a method fail from now on, of one queue perhaps; return the queues it was tried for."""
    plain, tried = getattr(port, name), list[str]()

    def refused(first: Any, *given: Any) -> Any:
        of = first if isinstance(first, str) else first.queue
        if queue not in {"", of}:
            return plain(first, *given)
        tried.append(of)
        raise problem

    setattr(port, name, refused)
    return tried


def test_a_job_that_is_refused_for_its_id_takes_no_place(world: World) -> None:
    """Nothing of it is stored."""
    job_id = "01961234-5678-7abc-8def-0123456789ab"
    push(world, id=job_id)
    with pytest.raises(DuplicateError):
        push(world, id=job_id, priority=3)
    assert depth(world) == 1


def test_a_batch_that_gets_no_place_in_one_queue_takes_none(world: World) -> None:
    """The counter of the second queue cannot be written."""
    world.backend.queues.config.change("also", {"max_size": 5})
    tried = refuse(world.depths, "take", queue="small")
    with pytest.raises(BackendError):
        world.backend.jobs.push.all([Job("a", [], queue=queue) for queue in ("also", "small")])
    assert tried
    assert world.stored.depths["also"].jobs == 0


def test_a_push_is_answered_though_its_place_cannot_be_given_back(world: World) -> None:
    """The recount gives it back."""
    job_id = "01961234-5678-7abc-8def-0123456789ab"
    push(world, id=job_id)
    tried = refuse(world.depths, "add")
    assert not push(world, id=job_id).is_new
    assert tried == ["small"]


def test_a_job_is_stored_though_nobody_can_be_warned(world: World) -> None:
    """That its queue is nearly full."""
    tried = refuse(world.pressures, "warn")
    for _ in range(2):
        assert push(world).is_new
    assert tried


def test_a_producer_is_rejected_though_that_cannot_be_written_down(world: World) -> None:
    """It has its answer; the event and the metric are missing."""
    for _ in range(2):
        push(world)
    tried = refuse(world.pressures, "reject")
    with pytest.raises(QueueFullError):
        push(world)
    assert tried == ["small"]


def test_a_queue_that_cannot_be_recounted_does_not_stop_the_next(world: World) -> None:
    """Whatever the error is."""
    world.backend.queues.config.change("also", {"max_size": 5})
    world.depths.add("small", 2)
    settings = world.queue_settings.all()
    world.backend.queues.depth_recount.tick(settings)
    world.clock.advance(s=60)
    tried = refuse(world.depths, "load", ValueError("unreadable"), queue="also")
    assert world.backend.queues.depth_recount.tick(settings) == {"small": 2}
    assert tried == ["also"]
