"""How many messages a resumed queue gets, and when its triggers are looked at."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.domain.jobs.lists import Page
from ojs_aws.domain.queues import Backlog
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.queues import service
from ojs_aws.services.queues.service import FRESH_MS, LOOK_EVERY_MIN, MAX_WOKEN, MOST_PER_JOB
from tests.job_steps import pushed
from tests.simulation.world import World
from tests.unit.services.jobs.fetch.scripted import row_of, some_jobs


class Lists:
    """Ready and waiting rows; notes how often waiting ones are read."""

    def __init__(self, ready: int, waiting: int = 0) -> None:
        self.ready, self.waiting, self.reads = ready, waiting, 0

    def listed(self, *_: Any, **__: Any) -> Page:
        return Page(tuple(map(row_of, some_jobs(self.ready))))

    def due(self, *_: Any, **__: Any) -> Page:
        self.reads += 1
        return Page(tuple(map(row_of, some_jobs(self.waiting))))


def woken(world: World, lists: Lists, backlog: Backlog) -> int:
    """How many messages a queue gets that has these jobs and messages."""
    world.registry.ensure("default", world.clock.now())

    def count(queue: str) -> Backlog:
        return backlog if queue == "default" else Backlog()

    world.messages.backlog = count  # type: ignore[method-assign]
    queues = replace(world.backend.queues.service, store=cast("JobStore", lists))
    queues.wake("default")
    return len(world.held())


@pytest.mark.parametrize(
    ("ready", "waiting", "backlog", "sent", "reads"),
    [
        (3, 0, Backlog(0), 3, 0),
        (3, 0, Backlog(2), 1, 0),
        (3, 0, Backlog(3), 0, 0),
        (3, 9, Backlog(5), 0, 0),
        (3, 0, Backlog(0, hidden=9), 3, 0),
        (3, 0, Backlog(0, hidden=10), 2, 1),
        (3, 1, Backlog(0, hidden=10), 3, 1),
        (3, 0, Backlog(0, hidden=12), 0, 1),
        (3, 5, Backlog(3, hidden=30), 0, 0),
        (0, 5, Backlog(0), 0, 0),
    ],
)
def test_ready_jobs_without_a_message_get_one_up_to_a_share(
    world: World, ready: int, waiting: int, backlog: Backlog, sent: int, reads: int
) -> None:
    """Of messages to each; those of waiting jobs do not count, and are read where that matters."""
    assert MOST_PER_JOB == 4
    lists = Lists(ready, waiting)
    assert woken(world, lists, backlog) == sent
    assert any(call.startswith("send") for call in world.faults.calls) is bool(sent)
    assert lists.reads == reads


@pytest.mark.parametrize(("ready", "sent"), [(MAX_WOKEN, 1), (MAX_WOKEN - 1, 0)])
def test_hidden_messages_say_nothing_if_not_all_ready_jobs_were_read(
    world: World, monkeypatch: pytest.MonkeyPatch, ready: int, sent: int
) -> None:
    monkeypatch.setattr(service, "MAX_WOKEN", 10)
    count = 10 if ready == MAX_WOKEN else 9
    backlog = Backlog(count - 1, hidden=10 * MOST_PER_JOB)
    assert woken(world, Lists(count), backlog) == sent


@pytest.mark.parametrize(("after_ms", "looks"), [(FRESH_MS, True), (FRESH_MS + 1, False)])
def test_each_sweep_checks_the_triggers_of_a_queue_paused_just_now(
    world: World, after_ms: int, looks: bool
) -> None:
    """Later now and then; each queue in a minute of its own."""
    pushed(world.backend)
    world.backend.queues.service.pause("default")
    info = world.backend.queues.service.get("default")
    found = 0
    for minute in range(LOOK_EVERY_MIN):
        world.clock.set_back(world.clock.at // 60_000 * 60_000)
        now = world.clock.at + minute * 60_000
        world.clock.at = now
        paused = replace(info, paused_at=Instant(now - after_ms))
        world.add_trigger("trigger")
        world.triggers_off().clear()
        world.backend.queues.service.finish(paused)
        found += bool(world.triggers_off())
    assert (found == LOOK_EVERY_MIN) is looks
