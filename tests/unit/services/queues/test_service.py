"""Pausing and resuming, and what queues hold, over the model."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.errors import InvalidRequestError, NotFoundError, OjsError
from ojs_aws.domain.jobs.lists import Count, JobList
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.queues.tallies import TallyKind
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.queues.service import MAX_WOKEN, MOST_PER_JOB, Queues
from tests.job_steps import pushed
from tests.simulation.faults import Fault, ProcessDiedError
from tests.simulation.world import World, count_changes

REQUEST = FetchRequest(("default",), worker_id="w")
ERROR = parse_object('{"type": "Broken", "message": "it broke", "retryable": false}')


@pytest.fixture
def world() -> World:
    """A fresh backend with one Lambda trigger."""
    made = World()
    made.add_trigger("trigger-1")
    return made


def test_a_paused_queue_takes_jobs_and_gives_none(world: World) -> None:
    """Until it is resumed; active jobs go on (ojs-admin-api, section 6.3)."""
    first = pushed(world.backend).id
    assert [job.id for job in world.backend.jobs.fetch(REQUEST)] == [first]
    info = world.backend.queues.service.pause("default")
    assert info.paused_at == world.clock.at
    second = pushed(world.backend).id
    assert world.backend.jobs.fetch(REQUEST) == []
    world.backend.jobs.ack(first, "w", None)
    world.clock.advance(s=10)
    assert world.backend.queues.service.pause("default").paused_at == world.clock.at - 10_000
    world.backend.queues.service.resume("default")
    assert [job.id for job in world.backend.jobs.fetch(REQUEST)] == [second]


def test_a_queue_may_be_paused_before_it_is_used(world: World) -> None:
    """And is known from then on; a resume of one that nobody knows is an error."""
    world.backend.queues.service.pause("later")
    assert [info.name for info in world.backend.queues.service.list()] == ["default", "later"]
    world.backend.queues.service.resume("later")
    with pytest.raises(NotFoundError):
        world.backend.queues.service.resume("never")
    with pytest.raises(NotFoundError):
        world.backend.queues.service.get("never")
    with pytest.raises(InvalidRequestError):
        world.backend.queues.service.pause("Not a queue")


def test_an_undeclared_queue_is_not_made_by_a_pause() -> None:
    """Where only declared ones are allowed."""
    world = World(settings=Settings(allow_undeclared_queues=False))
    with pytest.raises(NotFoundError):
        world.backend.queues.service.pause("other")
    world.backend.queues.service.pause("default")
    world.backend.queues.service.resume("default")


def test_triggers_are_switched_off_and_on(world: World) -> None:
    """So that a paused queue invokes nobody."""
    world.backend.queues.service.pause("default")
    assert world.triggers_off() == {"trigger-1"}
    world.backend.queues.service.pause("default")
    world.backend.queues.service.resume("default")
    assert world.triggers_off() == set()
    assert world.backend.queues.service.get("default").triggers == ()


def test_a_trigger_that_was_off_before_stays_off(world: World) -> None:
    """A pause gives back what it took."""
    world.add_trigger("by-hand")
    world.triggers.switch(["by-hand"], is_on=False)
    world.backend.queues.service.pause("default")
    world.backend.queues.service.resume("default")
    assert world.triggers_off() == {"by-hand"}


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("faulty", range(4))
def test_whatever_fails_in_a_resume_the_workers_are_woken(
    world: World, fault: Fault, faulty: int
) -> None:
    """The sweep switches the triggers on that a resume left off."""
    pushed(world.backend)
    world.backend.queues.service.pause("default")
    world.faults.faulty, world.faults.fault = len(world.faults.calls) + faulty, fault
    with suppress(OjsError, ProcessDiedError):
        world.backend.queues.service.resume("default")
    world.faults.faulty = None
    if world.stored.queues["default"].paused_at is not None:
        world.backend.queues.service.resume("default")
    world.backend.upkeep.sweep.tick()
    assert world.triggers_off() == set()
    assert len(world.backend.jobs.fetch(REQUEST)) == 1


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("faulty", range(4))
def test_whatever_fails_in_a_pause_the_triggers_are_off(
    world: World, fault: Fault, faulty: int
) -> None:
    """The sweep ends what a pause began; one that never took effect left them on."""
    pushed(world.backend)
    world.faults.faulty, world.faults.fault = len(world.faults.calls) + faulty, fault
    with suppress(OjsError, ProcessDiedError):
        world.backend.queues.service.pause("default")
    world.faults.faulty = None
    world.backend.upkeep.sweep.tick()
    is_paused = world.stored.queues["default"].paused_at is not None
    assert world.triggers_off() == ({"trigger-1"} if is_paused else set())
    world.backend.queues.service.resume("default")
    world.backend.upkeep.sweep.tick()
    assert world.triggers_off() == set()


def test_a_trigger_that_is_deployed_during_a_pause_is_switched_off(world: World) -> None:
    """With the next sweep, and on again with the resume."""
    world.backend.queues.service.pause("default")
    world.add_trigger("new")
    world.backend.upkeep.sweep.tick()
    assert world.triggers_off() == {"trigger-1", "new"}
    world.backend.queues.service.resume("default")
    assert world.triggers_off() == set()


def test_a_resume_that_comes_into_a_pause_wins(world: World) -> None:
    """However their calls interleave, no trigger stays off that should be on."""
    original = world.triggers.switch

    def switch(ids: Sequence[str], *, is_on: bool) -> None:
        if not is_on:
            world.triggers.switch = original  # type: ignore[method-assign]
            world.backend.queues.service.resume("default")
        original(ids, is_on=is_on)

    world.triggers.switch = switch  # type: ignore[method-assign]
    world.backend.queues.service.pause("default")
    assert world.stored.queues["default"].paused_at is None
    assert world.triggers_off() == set()


def test_a_long_pause_asks_for_its_triggers_every_ten_minutes(world: World) -> None:
    """Not with every sweep: Lambda takes few such calls."""
    world.backend.queues.service.pause("default")
    world.clock.advance(s=601)
    asked = 0
    running = world.triggers.running

    def count(queue: str) -> list[str]:
        nonlocal asked
        asked += 1
        return running(queue)

    world.triggers.running = count  # type: ignore[method-assign]
    for _ in range(20):
        world.backend.upkeep.sweep.tick()
        world.clock.advance(s=60)
    assert asked == 2


def test_a_worker_that_is_invoked_all_the_same_sets_its_messages_aside(world: World) -> None:
    """For minutes, and a resume sends others in their place."""
    for _ in range(3):
        pushed(world.backend)
    world.aws.triggers.mappings.clear()
    world.backend.queues.service.pause("default")
    received = world.messages.receive("default", 10, 120)
    claimed = world.backend.jobs.fetch.claim_messages("default", received, "lambda")
    assert [(each.record, each.keep_message) for each in claimed] == [(None, True)] * 3
    world.clock.advance(s=600)
    assert world.messages.receive("default", 10, 120) == []
    world.backend.queues.service.resume("default")
    again = world.messages.receive("default", 10, 120)
    taken = world.backend.jobs.fetch.claim_messages("default", again, "lambda")
    assert len({each.record.id for each in taken if each.record}) == 3


def test_a_resume_sends_no_messages_where_they_are_there(world: World) -> None:
    """And a bounded number where they are not."""
    world.aws.triggers.mappings.clear()
    for _ in range(5):
        pushed(world.backend)
    world.backend.queues.service.pause("default")
    world.backend.queues.service.resume("default")
    assert world.messages.backlog("default").visible == 5
    world.backend.queues.service.resume("default")
    assert world.messages.backlog("default").visible == 5
    assert MAX_WOKEN == 1000


def test_messages_do_not_multiply_with_each_resume(world: World) -> None:
    """Workers set aside what they receive during a pause: a few messages for each job at most."""
    for _ in range(3):
        pushed(world.backend)
    world.aws.triggers.mappings.clear()
    for _ in range(20):
        world.backend.queues.service.pause("default")
        received = world.messages.receive("default", 10, 120)
        world.backend.jobs.fetch.claim_messages("default", received, "lambda")
        world.backend.queues.service.resume("default")
        assert len(world.held()) <= MOST_PER_JOB * 3


def test_a_resume_wakes_workers_however_many_jobs_are_scheduled(world: World) -> None:
    """Messages of jobs that are due later say nothing of those that are ready."""
    world.aws.triggers.mappings.clear()
    for _ in range(2 * MOST_PER_JOB):
        pushed(world.backend, scheduled_at="+PT10M")
    pushed(world.backend)
    world.backend.queues.service.pause("default")
    received = world.messages.receive("default", 10, 120)
    world.backend.jobs.fetch.claim_messages("default", received, "lambda")
    assert world.messages.backlog("default").visible == 0
    world.backend.queues.service.resume("default")
    assert world.messages.backlog("default").visible == 1


def test_statistics_count_each_state_once(world: World) -> None:
    """STATE-024: the numbers add up to the number of jobs."""
    count_changes(world)
    done, failed, cancelled = (
        pushed(world.backend).id,
        pushed(world.backend).id,
        pushed(world.backend).id,
    )
    pushed(world.backend, scheduled_at="+PT1H")
    pushed(world.backend, pending=True)
    world.clock.advance(ms=40)
    for job in world.backend.jobs.fetch(FetchRequest(("default",), 3, "w")):
        world.clock.advance(ms=100)
        if job.id == done:
            world.backend.jobs.ack(done, "w", None)
        if job.id == failed:
            world.backend.jobs.fail(failed, "w", ERROR)
        if job.id == cancelled:
            world.backend.jobs.cancel(cancelled)
    pushed(world.backend)
    stats = world.backend.queues.statistics("default")
    expected = {
        "available": 1,
        "scheduled": 1,
        "pending": 1,
        "completed": 1,
        "cancelled": 1,
        "discarded": 1,
        "dead_letter": 0,
        "active": 0,
        "retryable": 0,
    }
    assert stats.counts.counts == expected
    assert stats.counts.depth == 3
    assert stats.counts.estimated == ()
    assert stats.hour.counts == {
        TallyKind.ENQUEUED: 6,
        TallyKind.STARTED: 3,
        TallyKind.COMPLETED: 1,
        TallyKind.FAILED: 1,
        TallyKind.CANCELLED: 1,
    }
    assert (stats.hour.runs.average_ms, stats.hour.waits.average_ms) == (100, 40)
    assert not stats.minute
    world.clock.advance(s=60)
    later = world.backend.queues.statistics("default")
    assert later.hour == later.minute == stats.hour
    world.clock.advance(s=3600)
    assert not world.backend.queues.statistics("default").hour


def test_a_queue_says_what_it_did_since_midnight(world: World) -> None:
    """Beside the last hour (ojs-queue-config, section 9.3)."""
    count_changes(world)
    day = 86_400_000
    world.clock.advance(ms=day - world.clock.now() % day - 1)
    for _ in range(2):
        pushed(world.backend)
        world.clock.advance(s=2 * 3600)
    assert world.backend.queues.statistics.today("default").counts == {TallyKind.ENQUEUED: 1}


def test_a_count_that_reached_its_bound_is_named(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is at least what it says, and says so."""
    pushed(world.backend)

    def bounded(queue: str, name: JobList, between: object = None) -> Count:
        return Count(1 if name is JobList.READY else 0, is_exact=name is not JobList.READY)

    monkeypatch.setattr(world.store, "count", bounded)
    counts = world.backend.queues.statistics.counts("default")
    assert (counts.counts["available"], counts.estimated) == (1, ("available",))
    stats = world.backend.queues.statistics("default")
    assert stats.counts.estimated == ("available",)


def test_a_resume_wakes_those_whose_messages_functions_set_aside(world: World) -> None:
    """A function that was invoked as the queue was paused has hidden them for a quarter hour."""
    job = pushed(world.backend)
    received = world.messages.receive("default", 10, 30)
    world.backend.queues.service.pause("default")
    assert world.backend.jobs.fetch.claim_messages("default", received, "w")[0].record is None
    world.backend.queues.service.resume("default")
    assert [each.message.job_id for each in world.messages.receive("default", 10, 30)] == [job.id]


def test_a_resume_that_ended_in_its_middle_may_be_repeated(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pause still says which triggers it switched off, and no others are switched on."""
    world.add_trigger("by-hand")
    world.triggers.switch(["by-hand"], is_on=False)
    service = world.backend.queues.service
    service.pause("default")
    with monkeypatch.context() as patch:
        patch.setattr(Queues, "finish_resume", lambda *_: None)
        service.resume("default")
    assert world.triggers_off() == {"trigger-1", "by-hand"}
    service.resume("default")
    assert world.triggers_off() == {"by-hand"}
