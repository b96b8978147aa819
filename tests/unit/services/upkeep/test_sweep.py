"""The sweep: each due time armed once, at a cost of what is due, whatever happens to the sweep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.batches import RollForwardReport
from ojs_aws.domain.jobs.lists import ListedJob, Page
from ojs_aws.domain.queues import QueueInfo
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.upkeep import sweep_queue as sweeping
from ojs_aws.services.upkeep.sweep import IDLE_LOOK_MS
from ojs_aws.services.upkeep.sweep_queue import INDEX_LAG_MS, REACH_MS
from ojs_aws.topology import MAX_DELAY_S
from tests.simulation.faults import Fault, ProcessDiedError
from tests.simulation.world import World

HOUR_S = 3600


def push(world: World, count: int = 1, **attributes: object) -> list[str]:
    """Push some jobs; their ids."""
    given = {"type": "demo.echo", "args": [1]} | attributes
    pushed = [world.backend.jobs.push(Job(**given)).record for _ in range(count)]  # type: ignore[arg-type]
    return [record.id for record in pushed if record]


def tick_for(world: World, minutes: int) -> Counter[str]:
    """Tick once a minute; what the sweeps did."""
    done: Counter[str] = Counter()
    for _ in range(minutes):
        report = world.backend.upkeep.sweep.tick()
        done.update(armed=report.armed, settled=report.settled, covered=report.covered)
        world.clock.advance(s=60)
    return done


def sent(world: World, queue: str = "default") -> Counter[str]:
    """How many messages name each job."""
    held = world.held(queue)
    return Counter(each.message.job_id for each in held)


def test_each_due_time_is_armed_once_whatever_its_distance(world: World) -> None:
    """By PUSH or by the sweep, never by both: PT1S to PT2H, pushed between ticks."""
    ids = []
    for minutes in (0, 1, 5, 10, 13, 14, 15, 16, 17, 20, 25, 30, 45, 60, 119):
        ids += push(world, scheduled_at=f"+PT{minutes * 60 + 1}S")
        tick_for(world, 1)
    tick_for(world, 150)
    assert sent(world) == Counter(ids)


def test_a_message_turns_visible_at_the_due_second(world: World) -> None:
    """SCHED: also when the sweep sends it; not a second before."""
    (job_id,) = push(world, scheduled_at="+PT2H")
    tick_for(world, 119)
    world.clock.advance(s=59)
    assert world.messages.receive("default", 10, 30) == []
    world.clock.advance(s=1)
    (received,) = world.messages.receive("default", 10, 30)
    assert received.message.job_id == job_id


def test_more_jobs_than_a_page_may_be_due_at_one_instant(world: World) -> None:
    """A report at nine for each of 350 customers."""
    ids = push(world, 350, scheduled_at="+PT1H")
    assert tick_for(world, 60)["armed"] == 350
    assert sent(world) == Counter(ids)


def test_ticks_read_nothing_of_what_waits_for_next_week(world: World) -> None:
    """1,000 jobs wait: the ticks make the same calls, and read not one row of them."""
    push(world)  # a ready job, so that every tick looks at the queue
    tick_for(world, 2)
    before = tick_and_count(world)
    push(world, 1_000, scheduled_at="+P7D")
    read: list[ListedJob] = []
    due = world.store.due

    def noted(*arguments: Any, **named: Any) -> Page:
        page = due(*arguments, **named)
        read.extend(page.jobs)
        return page

    world.store.due = noted  # type: ignore[method-assign]
    assert tick_and_count(world) == before
    assert read == []


def tick_and_count(world: World) -> int:
    """The calls of twenty ticks."""
    begin = len(world.faults.calls)
    tick_for(world, 20)
    return len(world.faults.calls) - begin


@pytest.mark.thorough
def test_idle_queues_are_looked_at_each_five_minutes_and_not_all_at_once(world: World) -> None:
    """A thousand queues cost a tick two calls for about a quarter of them."""
    for number in range(1000):
        world.registry.ensure(f"q{number}", world.clock.now())
    first = world.backend.upkeep.sweep.tick()
    assert first.queues == 1001
    looked = []
    for _ in range(20):
        world.clock.advance(s=60)
        world.faults.calls.clear()
        report = world.backend.upkeep.sweep.tick()
        looked.append(report.queues)
        assert len(world.faults.calls) == 3 + 2 * report.queues
    assert max(looked[5:]) < 450
    assert sum(looked) >= 20 / 5 * 1000


def test_an_idle_queue_is_looked_at_before_a_new_job_in_it_must_be_armed(world: World) -> None:
    """Whenever the job comes: what PUSH leaves to the sweep is still minutes away at each look."""
    assert IDLE_LOOK_MS + 2 * 60_000 < REACH_MS
    for second in range(0, 600, 37):
        world.clock.advance(s=37)
        if second % 60 < 37:
            world.backend.upkeep.sweep.tick()
        push(world, scheduled_at=f"+PT{MAX_DELAY_S + 1}S", meta={"at": second})
    for _ in range(20):
        assert world.backend.upkeep.sweep.tick().lag_ms == 0
        world.clock.advance(s=60)
    assert set(sent(world).values()) == {1}


def test_the_cursor_waits_for_the_index(world: World) -> None:
    """A job that the index does not show yet when its due time comes within SQS's reach."""
    assert REACH_MS + INDEX_LAG_MS == MAX_DELAY_S * 1000
    push(world, scheduled_at="+PT1H")  # so that the cursor moves
    world.clock.advance(s=HOUR_S - MAX_DELAY_S)
    (late,) = push(world, scheduled_at=f"+PT{MAX_DELAY_S + 1}S")
    world.index_shows(late, None)
    world.clock.advance(s=2)
    world.backend.upkeep.sweep.tick()
    world.clock.advance(s=50)
    world.index_catches_up()
    tick_for(world, 5)
    assert sent(world)[late] == 1


@pytest.mark.thorough
def test_after_an_outage_the_oldest_go_first_and_not_all_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounded per tick, at a bounded rate within it; the cursor goes on in the next."""
    monkeypatch.setattr(sweeping, "MAX_ARMED", 500)
    ids = [push(world, scheduled_at=f"+PT{HOUR_S + number}S")[0] for number in range(1200)]
    world.clock.advance(s=3 * HOUR_S)  # nothing ticked
    first = world.backend.upkeep.sweep.tick()
    assert first.armed == 500
    assert first.lag_ms == 2 * HOUR_S * 1000
    held = sorted(world.held(), key=lambda each: each.visible_at)
    assert {each.message.job_id for each in held} == set(ids[:500])
    at_once = [each for each in held if each.visible_at <= world.clock.at]
    assert len(at_once) == sweeping.OVERDUE_PER_S
    assert held[-1].visible_at - world.clock.at == 2000
    assert [world.backend.upkeep.sweep.tick().armed for _ in range(3)] == [500, 200, 0]
    assert sent(world) == Counter(ids)


@pytest.mark.thorough
def test_a_sweep_that_dies_anywhere_leaves_no_job_unarmed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The cursor moves after the messages were sent: at worst a page of them is sent twice."""
    monkeypatch.setattr(sweeping, "PAGE", 20)  # three pages, and as many calls as with PAGE and 250
    for fault in Fault:
        for faulty in range(_calls_of_an_arming_tick()):
            world = World()
            ids = push(world, 50, scheduled_at="+PT20M")
            world.clock.advance(s=600)
            world.faults.calls.clear()
            world.faults.faulty, world.faults.fault = faulty, fault
            with suppress(BackendError, ProcessDiedError):
                world.backend.upkeep.sweep.tick()
            world.faults.faulty = None
            tick_for(world, 5)
            where = f"call {faulty} {fault.value}"
            assert set(sent(world)) == set(ids), where
            assert sum(sent(world).values()) <= 50 + sweeping.PAGE, where


def _calls_of_an_arming_tick() -> int:
    world = World()
    push(world, 50, scheduled_at="+PT20M")
    world.clock.advance(s=600)
    world.faults.calls.clear()
    world.backend.upkeep.sweep.tick()
    return len(world.faults.calls)


def test_concurrent_ticks_do_no_harm(world: World) -> None:
    """Both send, each job still runs once; the slower one does not move the cursor back."""
    (job_id,) = push(world, scheduled_at="+PT20M")
    world.clock.advance(s=600)
    (seen_by_both,) = world.registry.all()
    sweep = world.backend.upkeep.sweep
    assert sweep.tick().armed == 1
    after = world.registry.all()
    assert sweep.queue(seen_by_both, lambda: False).armed == 1
    assert world.registry.all() == after
    assert sent(world)[job_id] == 2
    assert sweep.tick().armed == 0


def test_an_error_in_one_queue_leaves_the_others_theirs(world: World) -> None:
    """And the queue is looked at again in the next tick."""
    world.registry.ensure("email", world.clock.now())
    world.faults.faulty = 2
    report = world.backend.upkeep.sweep.tick()
    assert (report.queues, report.failed) == (2, 1)
    world.faults.faulty = None
    assert world.backend.upkeep.sweep.tick().queues == 1


def test_a_tick_without_time_left_begins_with_the_rest_the_next_time(world: World) -> None:
    """No queue starves."""
    for name in "abcdefgh":
        world.registry.ensure(name, world.clock.now())
    sweep, seen = world.backend.upkeep.sweep, []
    look: Callable[[QueueInfo, Callable[[], bool]], sweeping.QueueReport] = sweep.queue

    def slowly(
        info: QueueInfo, is_over: Callable[[], bool], sent: Collection[str]
    ) -> sweeping.QueueReport:
        assert not sent
        seen.append(info.name)
        world.clock.advance(s=20)
        return look(info, is_over)

    object.__setattr__(sweep, "queue", slowly)
    for _ in range(3):
        ends_at = world.clock.now() + 50_000
        report = sweep.tick(ends_at)  # type: ignore[arg-type]
        assert report.queues == 3
    assert sorted(seen) == ["a", "b", "c", "d", "default", "e", "f", "g", "h"]


def test_unfetched_overdue_jobs_are_settled_longest_overdue_first(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """STATE-007: five hundred in each tick; reading them costs a call for a hundred."""
    monkeypatch.setattr(sweeping, "MAX_SETTLED", 200)
    ids = [push(world, scheduled_at=f"+PT{number + 1}S")[0] for number in range(300)]
    world.clock.advance(s=400)
    assert world.backend.upkeep.sweep.tick().settled == 200
    states = [world.stored.jobs[job_id].state for job_id in ids]
    assert states == [JobState.AVAILABLE] * 200 + [JobState.SCHEDULED] * 100
    assert "load" not in world.faults.calls
    assert world.backend.upkeep.sweep.tick().settled == 100


def test_another_job_s_delayed_message_does_not_hide_a_lost_one(
    world: World,
) -> None:
    """Only visible messages can wake somebody for the ready one."""
    (ready,) = push(world)
    world.lose_messages()
    push(world, scheduled_at="+PT14M")
    world.clock.advance(s=61)
    assert world.backend.upkeep.sweep.tick().covered == 1
    assert sent(world)[ready] == 1
    world.clock.advance(s=60)
    assert world.backend.upkeep.sweep.tick().covered == 0


def test_a_paused_queue_gets_no_messages_again(world: World) -> None:
    """Nobody may claim its jobs."""
    push(world)
    world.lose_messages()
    world.registry.pause("default", (), world.clock.now())
    assert tick_for(world, 5)["covered"] == 0


def test_the_end_of_a_tick_is_written_down(world: World) -> None:
    """So that health can tell a sweep that stopped from one that has nothing to do."""
    push(world, scheduled_at="+PT1H")
    assert world.registry.last_tick() is None
    world.clock.advance(s=HOUR_S + 5)
    world.backend.upkeep.sweep.tick()
    last = world.registry.last_tick()
    assert last is not None
    assert (last.at, last.lag_ms) == (world.clock.now(), 5000)


def test_the_sweep_reports_for_how_long_jobs_have_been_waiting(world: World) -> None:
    """Of each queue that has some; a queue that is paused waits on purpose."""
    for queue in ("default", "email"):
        world.registry.ensure(queue, world.clock.now())
        world.backend.jobs.push(Job("a.b", [1], queue=queue))
        world.clock.advance(s=10)
    assert dict(world.backend.upkeep.sweep.tick().oldest_ms) == {"default": 20_000, "email": 10_000}
    last, now = world.registry.last_tick(), world.clock.now()
    assert last is not None
    assert last.oldest == {"default": now - 20_000, "email": now - 10_000}
    world.backend.queues.service.pause("default")
    assert dict(world.backend.upkeep.sweep.tick().oldest_ms) == {"email": 10_000}


def test_the_queues_that_wait_longest_are_remembered(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bounded number of them."""
    monkeypatch.setattr("ojs_aws.services.upkeep.sweep.MAX_OLDEST", 2)
    for queue in ("c", "a", "b"):
        world.registry.ensure(queue, world.clock.now())
        world.backend.jobs.push(Job("a.b", [1], queue=queue))
        world.clock.advance(s=10)
    world.backend.upkeep.sweep.tick()
    last = world.registry.last_tick()
    assert last is not None
    assert [*last.oldest] == ["c", "a"]


def test_a_job_that_starves_behind_a_hundred_urgent_ones_shows(world: World) -> None:
    """Its age is asked for where the head of the list does not show it."""
    world.backend.jobs.push(Job("demo.echo", [], priority=-9))
    world.clock.advance(s=90)
    for _ in range(100):
        world.backend.jobs.push(Job("demo.echo", [], priority=9))
    assert world.backend.upkeep.sweep.tick().oldest_ms == {"default": 90_000}


def test_a_worker_that_fails_at_its_start_does_not_multiply_messages(world: World) -> None:
    """It hides what it receives for long; a job gets a message again at ever longer intervals."""
    ids = push(world, 20)
    for _ in range(120):
        world.messages.receive("default", 10, 5_400)
        world.messages.receive("default", 10, 5_400)
        world.backend.upkeep.sweep.tick()
        world.clock.advance(s=60)
    named = sent(world)
    assert max(named[job_id] for job_id in ids) <= 7


def test_a_lost_message_is_sent_again_although_others_wait_for_the_limit(world: World) -> None:
    """Delayed messages of jobs that are due later stand for these, and for no ready one."""
    limit = {"key": "k", "rate": {"limit": 100, "period": "PT1S"}}
    push(world, rate_limit=limit)
    world.lose_messages()
    push(world, 3, rate_limit=limit, scheduled_at="+PT14M")
    world.clock.advance(s=61)
    assert world.backend.upkeep.sweep.tick().covered == 1
    world.clock.advance(s=60)
    assert world.backend.upkeep.sweep.tick().covered == 0


def test_a_queue_whose_sweep_fails_slowly_lets_the_others_have_their_turn(world: World) -> None:
    """It takes all the time of a tick, and is the last in the next one."""
    world.registry.ensure("other", world.clock.now())
    due, swept = world.store.due, list[str]()

    def slow(queue: str, *given: Any, **more: Any) -> Page:
        swept.append(queue)
        if swept[0] == queue:
            world.clock.advance(s=60)
            raise BackendError("It takes long, and fails.")
        return due(queue, *given, **more)

    world.store.due = slow  # type: ignore[method-assign]
    for _ in range(2):
        world.backend.upkeep.sweep.tick(Instant(world.clock.now() + 30_000))
    assert swept[:2] in (["default", "other"], ["other", "default"])


@pytest.mark.parametrize("ends_in_s", [None, 40])
def test_batches_that_are_left_behind_take_half_of_a_ticks_time(
    world: World, ends_in_s: int | None
) -> None:
    """The other half is for the queues, however many batches there are."""
    push(world)

    def roll(is_over: Callable[[], bool]) -> RollForwardReport:
        for _ in range(100):
            if is_over():
                break
            world.clock.advance(s=1)
        return RollForwardReport()

    sweep = replace(world.backend.upkeep.sweep, roll_forward=roll)
    begun = world.clock.now()
    ends_at = None if ends_in_s is None else Instant(begun + ends_in_s * 1000)
    assert sweep.tick(ends_at).queues == 1
    assert (world.clock.now() - begun) // 1000 == (100 if ends_in_s is None else 20)
