"""Pausing and resuming where a call beside the write fails: the sweep does what is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ojs_aws.domain.conflicts import QueueMissingError
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError
from tests.simulation.world import World
from tests.unit.services.test_overtaken_requests import before

QUEUE = "default"


@pytest.fixture
def world() -> World:
    """A backend with a queue that has a Lambda trigger."""
    made = World()
    made.add_trigger("trigger-1", QUEUE)
    return made


def refuse(
    port: Any, name: str, problem: Exception | None = None
) -> tuple[list[str], Callable[[], None]]:
    """Let a method fail; return its tries, and what lets it work again."""
    plain, tried = getattr(port, name), list[str]()

    def refused(*_: Any, **__: Any) -> Any:
        tried.append(name)
        raise problem or BackendError("refused")

    setattr(port, name, refused)
    return tried, lambda: setattr(port, name, plain)


@pytest.mark.parametrize("name", ["running", "switch"])
def test_a_queue_is_paused_though_its_triggers_cannot_be_switched_off(
    world: World, name: str
) -> None:
    """The sweep switches them off."""
    tried, restore = refuse(world.triggers, name)
    assert world.backend.queues.service.pause(QUEUE).paused_at is not None
    assert tried
    assert world.triggers_off() == set()
    restore()
    world.backend.upkeep.sweep.tick()
    assert world.triggers_off() == {"trigger-1"}


def test_a_trigger_that_cannot_be_noted_is_not_switched_off(world: World) -> None:
    """Nobody would switch it on again."""
    world.backend.queues.service.pause(QUEUE)
    world.add_trigger("new", QUEUE)
    tried, restore = refuse(world.registry, "note_triggers")
    world.backend.queues.service.finish(world.stored.queues[QUEUE])
    assert tried
    assert world.triggers_off() == {"trigger-1"}
    restore()
    world.backend.queues.service.finish(world.stored.queues[QUEUE])
    assert world.triggers_off() == {"trigger-1", "new"}


def test_a_queue_is_resumed_though_its_triggers_stay_noted(world: World) -> None:
    """They are switched on once more by the sweep."""
    world.backend.queues.service.pause(QUEUE)
    tried, restore = refuse(world.registry, "forget_triggers")
    world.backend.queues.service.resume(QUEUE)
    assert tried
    assert world.triggers_off() == set()
    restore()
    world.backend.upkeep.sweep.tick()
    assert world.stored.queues[QUEUE].triggers == ()


@pytest.mark.parametrize("is_known", [False, True])
def test_a_resume_switches_on_what_a_pause_before_a_restore_left_off(
    world: World, is_known: bool
) -> None:
    """The restored table is of before the pause, and perhaps of before the queue's first job."""
    if is_known:
        world.backend.queues.service.pause(QUEUE)
        world.backend.queues.service.resume(QUEUE)
    world.add_trigger("trigger-2", "other")
    world.triggers.switch(["trigger-1", "trigger-2"], is_on=False)
    tried, restore = refuse(world.triggers, "switch")
    with pytest.raises(BackendError, match="refused"):
        world.backend.queues.service.resume(QUEUE)
    assert tried
    restore()
    world.backend.queues.service.resume(QUEUE)
    assert world.triggers_off() == {"trigger-2"}


def test_a_pause_that_comes_into_a_resume_of_a_running_queue_wins(world: World) -> None:
    """The resume finds the triggers that the pause has just switched off; the sweep ends it."""
    service = world.backend.queues.service
    before(world.triggers, "stopped", lambda: service.pause(QUEUE))
    service.resume(QUEUE)
    world.backend.upkeep.sweep.tick()
    assert world.stored.queues[QUEUE].paused_at is not None
    assert world.triggers_off() == {"trigger-1"}
    service.resume(QUEUE)
    assert world.triggers_off() == set()


def test_a_resume_sends_a_message_for_each_job_where_the_queue_is_missing(world: World) -> None:
    """As it is after a restore; sending makes it."""
    world.aws.triggers.mappings.clear()
    for _ in range(3):
        world.backend.jobs.push(Job("demo.echo", []))
    world.backend.queues.service.pause(QUEUE)
    before = world.messages.backlog(QUEUE).total
    tried, restore = refuse(world.messages, "backlog", QueueMissingError("no such queue"))
    world.backend.queues.service.resume(QUEUE)
    assert tried
    restore()
    assert world.messages.backlog(QUEUE).total == before + 3


@pytest.mark.parametrize("problem", [BackendError("refused"), QueueMissingError("no such queue")])
def test_a_queue_whose_messages_cannot_be_counted_seems_to_have_none(
    world: World, problem: Exception
) -> None:
    """So that messages come back as soon as those of a short queue."""
    tried, _ = refuse(world.messages, "backlog", problem)
    assert world.backend.job_messages.waiting(QUEUE) == 0
    assert tried


@pytest.mark.parametrize("problem", [BackendError("refused"), QueueMissingError("no such queue")])
def test_a_message_that_cannot_be_moved_stays(world: World, problem: Exception) -> None:
    """It comes back, and is tried again."""
    refuse(world.messages, "reject", problem)
    assert not world.backend.job_messages.reject(QUEUE, "unreadable")
