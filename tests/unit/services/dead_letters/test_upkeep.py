"""Rounds of the upkeep of dead letters that are cut short, fail, or meet operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.dead_letters import upkeep
from ojs_aws.services.dead_letters.upkeep import FAILED_AGAIN_MS, UpkeepReport
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.stored_jobs.change import MOST
from tests.simulation.world import World
from tests.unit.services.dead_letters.test_service import KEPT, die, with_rules

ANY = {"name": "all", "filter": {}, "delay": "PT0S", "max_replays": 1}


def tick(world: World) -> UpkeepReport:
    """Let five minutes pass, and do the next round."""
    world.clock.advance(s=300)
    return world.backend.dead_letters.upkeep.tick()


@pytest.mark.parametrize(("left_ms", "pruned"), [(0, 0), (1, 1)])
def test_a_round_begins_no_queue_once_its_time_is_over(left_ms: int, pruned: int) -> None:
    world = World(settings=Settings(dead_letter_max_count=1))
    die(world)
    die(world)
    ends_at = Instant(world.clock.at + left_ms)
    assert world.backend.dead_letters.upkeep.tick(ends_at).pruned == pruned


def test_rounds_that_are_cut_short_reach_every_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has time for one queue, and begins at another one."""
    world = World(settings=Settings(dead_letter_max_count=1, queues=("a", "b", "c")))
    seen: list[str] = []

    def prune(_: object, queue: str) -> int:
        seen.append(queue)
        world.clock.advance(s=1)
        return 0

    monkeypatch.setattr(upkeep.DeadLetterUpkeep, "_prune", prune)
    for _ in range(3):
        world.clock.advance(s=300)
        world.backend.dead_letters.upkeep.tick(Instant(world.clock.at + 1000))
    assert sorted(seen) == ["a", "b", "c"]


def test_a_dead_letter_that_is_retried_while_it_is_pruned_stays() -> None:
    world = World(settings=Settings(dead_letter_max_count=1))
    oldest, _ = die(world), die(world)
    listed = world.store.listed

    def listed_then_retried(*given: Any, **more: Any) -> Any:
        page = listed(*given, **more)
        if oldest.id in {row.id for row in page.jobs}:
            world.backend.dead_letters.service.retry(oldest.id)
        return page

    world.store.listed = listed_then_retried  # type: ignore[method-assign]
    assert tick(world).pruned == 0
    assert world.stored.jobs[oldest.id].state is JobState.AVAILABLE


def test_a_rule_replays_the_jobs_of_its_type_alone() -> None:
    world = with_rules({**ANY, "filter": {"type": "a.b"}})
    mine, other = die(world, type="a.b"), die(world, type="c.d")
    assert tick(world).replayed == 1
    states = [world.stored.jobs[each.id].state for each in (mine, other)]
    assert states == [JobState.AVAILABLE, JobState.DISCARDED]


def test_what_one_round_has_no_room_for_is_replayed_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(upkeep, "MAX_CHANGED", 2)
    world = with_rules(ANY)
    for _ in range(5):
        die(world)
    assert [tick(world).replayed for _ in range(4)] == [2, 2, 1, 0]


def refuse(world: World, jobs: list[JobRecord]) -> Callable[[], None]:
    """Let saves of some jobs fail; the result ends that."""
    save, names = world.store.save, {each.id for each in jobs}

    def failing(before: JobRecord, after: JobRecord, *more: Any) -> JobRecord:
        if before.id in names:
            raise BackendError("no")
        return save(before, after, *more)

    world.store.save = failing  # type: ignore[method-assign]

    def end() -> None:
        world.store.save = save  # type: ignore[method-assign]

    return end


def test_all_that_could_not_be_replayed_is_tried_again() -> None:
    """From the first of them on."""
    world = with_rules(ANY)
    dead = [die(world) for _ in range(3)]
    end = refuse(world, [dead[0], dead[2]])
    assert tick(world).replayed == 1
    end()
    assert tick(world).replayed == 2


@pytest.mark.parametrize(("age_ms", "again"), [(FAILED_AGAIN_MS - 1, 1), (FAILED_AGAIN_MS, 0)])
def test_what_cannot_be_replayed_is_tried_again_for_an_hour(age_ms: int, again: int) -> None:
    world = with_rules(ANY)
    dead = die(world)
    end = refuse(world, [dead])
    world.clock.at = (dead.discarded_at or 0) + age_ms
    world.backend.dead_letters.upkeep.tick()
    end()
    assert tick(world).replayed == again


def test_a_replayed_job_gets_its_message_though_too_many_others_fail() -> None:
    """And those that fail longer than an hour are passed by the next rounds."""
    world = with_rules(ANY)
    first, *others = [die(world) for _ in range(MOST + 3)]
    refuse(world, others[:-1])
    world.lose_messages()
    report = tick(world)
    assert (report.replayed, report.failed) == (0, 1)
    assert world.stored.jobs[first.id].state is JobState.AVAILABLE
    assert {each.message.job_id for each in world.held("default")} == {first.id}
    world.clock.advance(ms=FAILED_AGAIN_MS)
    assert [tick(world).failed for _ in range(2)] == [1, 0]
    assert world.stored.jobs[others[-1].id].state is JobState.AVAILABLE


def test_dead_letters_that_cannot_be_pruned_do_not_hold_up_replays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = with_rules(ANY)
    die(world)

    def broken(_: object, __: str) -> int:
        raise BackendError("no")

    monkeypatch.setattr(upkeep.DeadLetterUpkeep, "_prune", broken)
    assert tick(world) == UpkeepReport(replayed=1, failed=1)


def test_a_job_that_the_sweep_discards_late_is_replayed() -> None:
    """It is discarded as of when its reservation ended, before where the rule came to."""
    world = with_rules(ANY)
    once: dict[str, Any] = {"retry": KEPT}
    died = Job(type="demo.echo", args=[1], **once)
    world.registry.ensure("default", world.clock.now())
    assert world.backend.jobs.push(died).record is not None
    request = FetchRequest(("default",), worker_id="w", visibility_timeout_ms=30_000)
    assert world.backend.jobs.fetch(request)
    tick(world)
    tick(world)
    world.backend.upkeep.sweep.tick()
    assert world.stored.jobs[died.id].is_dead_letter
    assert tick(world).replayed == 1


def test_dead_letters_whose_sequences_went_on_keep_no_others_waiting() -> None:
    """They are no errors, which would end the round; one of them may have its turn later."""
    world = with_rules(ANY)
    passed: dict[str, Any] = {"sequence": {"key": "k", "on_discard": "skip"}}
    for _ in range(MOST + 1):
        die(world, **passed)
        assert world.backend.sequence_advance.advance("", "k")
    head = world.backend.jobs.push(Job(type="demo.echo", args=[1], **passed)).record
    assert head is not None
    other = die(world, priority=9)
    assert tick(world) == UpkeepReport(replayed=1)
    assert world.stored.jobs[other.id].state is JobState.AVAILABLE
    world.backend.jobs.cancel(head.id)
    assert world.backend.sequence_advance.advance("", "k")
    assert tick(world) == UpkeepReport(replayed=1)
