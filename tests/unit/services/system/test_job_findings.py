"""A backlog that grows is found by what comes in and goes out, within a minute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ojs_aws.domain.queues import LastTick
from ojs_aws.domain.workers import WorkerReport
from ojs_aws.services.system.queue_findings import LONG_MS, Finding
from tests.job_steps import fetched, pushed
from tests.simulation.world import World, count_changes


@pytest.fixture
def world() -> World:
    """A queue with a worker, at the beginning of a minute."""
    world = World()
    count_changes(world)
    world.clock.advance(ms=60_000 - world.clock.now() % 60_000)
    return world


def found(
    world: World, *running: str, about: str = '{"queues":["default"],"concurrency":2}'
) -> list[Finding]:
    """Which backlogs grow, after what was due in the meantime."""
    world.backend.workers.heartbeat(
        "w", running, None, WorkerReport(about=about, active_jobs=len(running))
    )
    world.registry.remember_tick(LastTick(world.clock.now(), 0))
    findings = world.backend.findings().findings
    return [each for each in findings if each.code == "backlog_grows"]


def cause(world: World, sees: Callable[[str, str | None], bool]) -> object:
    """The cause of the backlog that grows, as somebody sees it."""
    report = world.backend.findings(sees)
    (finding,) = [each for each in report.findings if each.code == "backlog_grows"]
    return finding.data.get("reason")


def flow(world: World, came: int, began: int, **attributes: Any) -> None:
    """Let so many jobs come in a minute, and so many begin."""
    for number in range(came):
        pushed(world.backend, args=[number], **attributes)
    for _ in range(began):
        (job,) = fetched(world.backend)
        world.backend.jobs.ack(job.id, "w", None)
    world.clock.advance(s=30)


def test_a_backlog_that_grows_is_found_within_a_minute(world: World) -> None:
    """With what comes, what begins, and how long it takes at this pace."""
    flow(world, came=100, began=6)
    (finding,) = found(world)
    assert finding.message == (
        "The backlog of queue 'default' grows: in the last 1 min 30 s, 67 jobs a minute came and "
        "4 began. 94 are available; a job that comes now waits for about 23 min 30 s."
    )
    assert finding.data == {
        "queue": "default",
        "available": 94,
        "enqueued_per_minute": 67,
        "started_per_minute": 4,
        "wait_ms": 1_410_000,
    }
    assert finding.hint.endswith("ojs-aws queues show default")


def test_a_growing_backlog_says_that_all_slots_are_busy(world: World) -> None:
    flow(world, came=100, began=6)
    running = [job.id for job in fetched(world.backend, count=2)]
    (finding,) = found(world, *running)
    assert finding.message.endswith(" All 2 slots of its workers are busy.")
    assert finding.data["reason"] == "ready"


def test_a_growing_backlog_says_that_the_only_slot_is_busy(world: World) -> None:
    flow(world, came=100, began=6)
    running = [job.id for job in fetched(world.backend, count=1)]
    about = '{"queues":["default"],"concurrency":1}'
    (finding,) = found(world, *running, about=about)
    assert finding.message.endswith(" The only slot of its worker is busy.")


def test_who_does_not_see_the_next_job_sees_no_cause(world: World) -> None:
    """The backlog alone: the job is another type's."""
    flow(world, came=100, began=0, rate_limit={"key": "crm", "concurrency": 1})
    fetched(world.backend, count=2)
    assert "limit" in found(world)[0].message
    assert cause(world, lambda _, job_type: not job_type) is None
    assert cause(world, lambda _, __: True) == "limit"


def test_a_growing_backlog_says_which_limit_holds_it_up(world: World) -> None:
    """And advises no more workers."""
    flow(world, came=100, began=0, rate_limit={"key": "crm", "concurrency": 1})
    assert len(fetched(world.backend, count=2)) == 1
    (finding,) = found(world)
    assert "limit 'crm'" in finding.message
    assert finding.hint == ("Raise the limit, or slow the senders: ojs-aws rate-limits show crm")
    assert finding.data["reason"] == "limit"


def test_a_growing_backlog_says_that_no_worker_serves_it(world: World) -> None:
    world.registry.ensure("alone", world.clock.now())
    for number in range(70):
        pushed(world.backend, args=[number], queue="alone")
    world.clock.advance(s=30)
    (finding,) = found(world)
    assert "70 are available. No worker" in finding.message


def test_a_backlog_of_which_nothing_begins_is_found(world: World) -> None:
    """Nobody knows how long that takes."""
    flow(world, came=60, began=0)
    (finding,) = found(world)
    assert finding.message.endswith("40 jobs a minute came and none began. 60 are available.")
    assert "wait_ms" not in finding.data


@pytest.mark.parametrize(("came", "began"), [(59, 0), (100, 41), (80, 20)])
def test_a_backlog_that_soon_has_begun_is_no_finding(world: World, came: int, began: int) -> None:
    """Or that hardly grows."""
    flow(world, came=came, began=began)
    assert found(world) == []


def test_jobs_for_later_and_in_paused_queues_are_no_growing_backlog(world: World) -> None:
    """The pause is a finding of its own."""
    flow(world, came=90, began=0, scheduled_at="+P7D")
    assert found(world) == []
    world.clock.advance(s=120)
    flow(world, came=90, began=0)
    assert found(world)
    world.backend.queues.service.pause("default")
    assert found(world) == []


def test_a_backlog_that_grew_some_minutes_ago_is_no_finding(world: World) -> None:
    """Whether it shrinks is seen by what comes now."""
    flow(world, came=100, began=1)
    assert found(world)
    world.clock.advance(s=120)
    assert found(world) == []


@pytest.mark.parametrize(("more", "is_found"), [(0, False), (1, True)])
def test_a_backlog_is_long_beyond_five_minutes(world: World, more: int, *, is_found: bool) -> None:
    """It began 20 jobs in half a minute, which is a minute and a half with the one before."""
    pace_ms, began = 90_000, 90
    available = began * LONG_MS // pace_ms + more
    for number in range(available + began):
        pushed(world.backend, args=[number])
    for _ in range(began):
        (job,) = fetched(world.backend)
        world.backend.jobs.ack(job.id, "w", None)
    world.clock.advance(s=30)
    assert bool(found(world)) is is_found


def test_the_backlog_that_takes_longest_comes_first(world: World) -> None:
    """Behind those of which nothing begins."""
    for queue, began in (("quick", 9), ("slow", 3), ("still", 0)):
        world.registry.ensure(queue, world.clock.now())
        for number in range(100):
            pushed(world.backend, args=[number], queue=queue)
        for job in fetched(world.backend, queue, count=began) if began else ():
            world.backend.jobs.ack(job.id, "w", None)
    world.clock.advance(s=30)
    assert [each.data["queue"] for each in found(world)] == ["still", "slow", "quick"]
