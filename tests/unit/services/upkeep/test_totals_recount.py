"""What keeps the totals of queues right, and what that costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.columns import number
from ojs_aws.adapters.dynamodb.queues.totals import HELD
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.events import HANDLED_MARK
from ojs_aws.domain.job import Reservation
from ojs_aws.domain.jobs import lifecycle
from ojs_aws.domain.jobs.lists import Count
from ojs_aws.domain.jobs.outcomes import LeftToStream
from ojs_aws.domain.queues.tallies import QueueTotals
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.backend import Backend
from ojs_aws.services.upkeep.totals_recount import BUSY_MS, MAX_COUNTED, Difference, TotalsRecount
from tests.simulation.world import World, count_changes

DAY_S = 86_400


@pytest.fixture
def world() -> World:
    """A deployment with jobs from before there were totals."""
    world = World()
    for _ in range(3):
        world.backend.jobs.push(Job("demo.echo", []))
    return world


def recount(world: World) -> TotalsRecount:
    """What another process begins with."""
    return Backend(world.settings, world.backend.stores).upkeep.totals_recount


def tick(recount: TotalsRecount, queues: Iterable[str] = ("default",)) -> None:
    """One tick that has time."""
    recount.tick(queues, lambda: False)


def handled(world: World) -> None:
    """The stream's consumer has counted what there was, and a second passes."""
    world.watermarks.move(HANDLED_MARK, world.clock.now())
    world.clock.advance(s=1)


def counted(world: World) -> TotalsRecount:
    """A process whose ticks have counted the queue for the first time."""
    process = recount(world)
    tick(process)
    handled(world)
    tick(process)
    return process


def available(world: World) -> int:
    """What the statistics say."""
    return world.backend.statistics.totals().jobs["available"]


def test_jobs_from_before_the_upgrade_are_counted_by_two_ticks(world: World) -> None:
    """The second is sure that they are not on their way."""
    assert (available(world), world.backend.statistics.totals().counted) == (0, 0)
    process = recount(world)
    tick(process)
    assert available(world) == 0
    handled(world)
    tick(process)
    assert (available(world), world.backend.statistics.totals().counted) == (3, 1)


@pytest.mark.parametrize(("old", "shown"), [(3, 1), (50, 51)])
def test_a_busy_queue_gets_what_its_changes_cannot_explain(
    world: World, old: int, shown: int
) -> None:
    """A difference that is no larger than what was counted since may have been on its way."""
    for _ in range(old - 3):
        world.backend.jobs.push(Job("demo.echo", []))
    count_changes(world)
    world.stored.totals.clear()
    world.clock.advance(s=120)
    process = recount(world)
    tick(process)
    handled(world)
    for _ in range(2):
        world.backend.jobs.push(Job("demo.echo", []))
    world.backend.jobs.cancel([*world.stored.jobs][-1])
    tick(process)
    assert (available(world), world.tallies.load("default").counted_at) == (shown, 0)


def test_the_sweep_counts_queues(world: World) -> None:
    """The tick does it."""
    world.backend.upkeep.sweep.tick()
    handled(world)
    world.backend.upkeep.sweep.tick()
    assert available(world) == 3


def test_a_failed_recount_does_not_fail_the_sweep(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged, and the next tick repeats it."""
    real, failed = TotalsRecount.tick, list[bool]()

    def fail_first(recount: TotalsRecount, *given: Any) -> None:
        if not failed:
            failed.append(True)
            raise ZeroDivisionError
        real(recount, *given)

    monkeypatch.setattr(TotalsRecount, "tick", fail_first)
    assert world.backend.upkeep.sweep.tick().known == 1
    assert "Could not count queues" in caplog.text
    assert world.registry.last_tick() is not None
    world.backend.upkeep.sweep.tick()
    handled(world)
    world.backend.upkeep.sweep.tick()
    assert available(world) == 3


def test_a_change_that_is_on_its_way_is_never_counted_twice(world: World) -> None:
    """However long the stream's consumer takes, ticks wait for it."""
    process = recount(world)
    for _ in range(10):
        tick(process)
        world.clock.advance(s=60)
    assert available(world) == 0
    count_changes(world)  # reports the three jobs that the lists had already
    handled(world)
    tick(process)
    assert (available(world), world.tallies.load("default").counted_at) == (3, 0)


def test_ticks_that_wait_for_the_stream_count_no_lists(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """They read how far it is, and if that fails the next one does."""
    process = recount(world)
    tick(process)
    monkeypatch.setattr(world.store, "count", None)
    tick(process)
    monkeypatch.setattr(world.watermarks, "read", None)
    tick(recount(world), ())

    def fail(_: str) -> None:
        raise BackendError("down")

    monkeypatch.setattr(world.watermarks, "read", fail)
    tick(process)
    assert "how far changes are counted" in caplog.text


def test_a_difference_that_is_gone_by_the_next_tick_changes_nothing(world: World) -> None:
    """A change that the lists had, and the stream had not."""
    process = counted(world)
    world.clock.advance(s=200)
    world.backend.jobs.push(Job("demo.echo", []))
    tick(process)
    assert available(world) == 3
    suppose(world, 4, "available")  # now it comes
    handled(world)
    tick(process)
    assert available(world) == 4
    assert world.tallies.load("default").counted_at == world.clock.now()


def test_a_difference_that_is_not_the_same_again_changes_no_known_totals(world: World) -> None:
    """Only a queue that was never counted gets what is certain of it."""
    process = counted(world)
    suppose(world, 9, "available")
    world.clock.advance(s=DAY_S)
    tick(process)
    handled(world)
    suppose(world, 10, "available")
    tick(process)
    assert available(world) == 10
    handled(world)
    tick(process)
    assert available(world) == 3


def test_a_queue_that_is_due_and_busy_is_counted_when_it_is_quiet(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is looked at again after ten minutes."""
    counted(world)
    world.clock.advance(s=DAY_S)
    count_changes(world)
    process = recount(world)
    monkeypatch.setattr(world.store, "count", None)
    tick(process)
    world.clock.advance(ms=BUSY_MS - 1)
    monkeypatch.undo()
    tick(process)
    assert available(world) == 6
    world.clock.advance(ms=1)
    for _ in range(2):
        tick(process)
        handled(world)
    assert available(world) == 3


@pytest.mark.parametrize(
    ("before", "after", "moved", "certain"),
    [
        (10, 7, 2, {"available": 7}),
        (7, 10, 2, {"available": 7}),
        (-7, -10, 2, {"available": -7}),
        (2, 2, 2, {}),
        (3, 3, 2, {"available": 3}),
        (7, -7, 2, {}),
    ],
)
def test_a_difference_is_certain_beyond_what_was_counted_since(
    before: int, after: int, moved: int, certain: dict[str, int]
) -> None:
    """The smaller of both, if they point the same way."""
    known = QueueTotals(jobs={"available": 5})
    since = replace(known, jobs={"available": 5 + moved})
    first = Difference(Instant(0), known, {"available": before})
    assert first.certain(Difference(Instant(0), since, {"available": after})) == certain


def test_a_queue_is_counted_once_a_day(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """And another process reads its totals only."""
    process = counted(world)
    tick(process)
    monkeypatch.setattr(world.store, "count", None)
    tick(process)
    tick(recount(world))
    monkeypatch.setattr(world.tallies, "load", None)
    tick(process)
    monkeypatch.undo()
    suppose(world, 9, "available")
    world.clock.advance(s=DAY_S)
    tick(process)
    handled(world)
    tick(process)
    assert available(world) == 3


def test_one_tick_counts_ten_queues_at_most(world: World) -> None:
    """A thousand queues have their turns; one process after another gets to others."""
    names = [f"q{number}" for number in range(100)]
    tick(recount(world), names)
    assert len(world.stored.totals) == MAX_COUNTED
    for _ in range(60):
        world.clock.advance(s=60)
        before = len(world.stored.totals)
        tick(recount(world), names)
        assert len(world.stored.totals) - before <= MAX_COUNTED
    assert len(world.stored.totals) == len(names)
    stopped = recount(world)
    stopped.tick(["new"], lambda: True)
    assert "new" not in world.stored.totals


def test_a_list_that_is_too_long_to_count_never_lowers_a_number(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is at least so many: the changes know better."""
    counted(world)
    monkeypatch.setattr(world.store, "count", lambda *_: Count(2, False))
    world.clock.advance(s=120)
    process = recount(world)
    for _ in range(2):
        tick(process)
        handled(world)
    assert available(world) == 3
    assert "available" in world.tallies.load("default").at_least


def test_one_queue_that_cannot_be_counted_does_not_stop_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next tick tries again."""
    load = world.tallies.load

    def fail(queue: str) -> object:
        if queue == "bad":
            raise BackendError("down")
        return load(queue)

    monkeypatch.setattr(world.tallies, "load", fail)
    process = recount(world)
    tick(process, ["bad", "default"])
    handled(world)
    tick(process, ["bad", "default"])
    assert available(world) == 3


def completed(world: World, count: int) -> None:
    """Complete jobs that only the stream lists; they were never counted."""
    jobs = [*world.stored.jobs.values()][:count]
    for job in jobs:
        reservation = Reservation(
            worker_id="w", expires_at=Instant(1), execution_ends_at=Instant(1)
        )
        held = lifecycle.claim(job, reservation, world.clock.now())
        after = lifecycle.complete(held, None, world.clock.now(), LeftToStream(listing=True))
        world.stored.jobs[job.id] = after
        world.store.list_completed([after])


def suppose(world: World, known: int, name: str = "completed") -> None:
    """Let the totals say that so many jobs are completed, or in another state."""
    key = world.stored.totals.place("default")
    world.table.write(key, {**world.table.items.rows[key], HELD[name]: number(known)})


def test_few_completed_jobs_are_counted_by_reading_them(world: World) -> None:
    """What lists them may still have jobs that were deleted."""
    process = counted(world)
    suppose(world, -5)
    completed(world, 2)
    world.clock.advance(s=DAY_S + 120)
    for _ in range(2):
        tick(process)
        handled(world)
    assert world.backend.statistics.totals().jobs["completed"] == 2


@pytest.mark.parametrize(("known", "after"), [(3, 2), (1, 1)])
def test_many_completed_jobs_are_at_most_as_many_as_listed(
    world: World, monkeypatch: pytest.MonkeyPatch, known: int, after: int
) -> None:
    """A list that has deleted jobs, too, lowers a number and raises none."""
    monkeypatch.setattr("ojs_aws.services.queues.stats.MAX_READ", 1)
    monkeypatch.setattr("ojs_aws.services.upkeep.totals_recount.MAX_CHECKED", 1)
    process = counted(world)
    completed(world, 2)
    suppose(world, known)
    world.clock.advance(s=DAY_S + 120)
    for _ in range(2):
        tick(process)
        handled(world)
    assert world.backend.statistics.totals().jobs["completed"] == after
