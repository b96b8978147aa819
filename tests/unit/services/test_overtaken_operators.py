"""What operators change while others change the same: nothing that they did not ask for."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.access import UNBOUND
from ojs_aws.domain.errors import BackendError, ConflictError, InvalidPolicyError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.json_text import encode, parse_object
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workers import WorkerReport
from ojs_aws.services.bulk import BulkAction, BulkStatus
from ojs_aws.services.bulk.purge import Purge
from ojs_aws.services.dead_letters.search import DeadLetterFilter
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.job_lists import JobFilter
from ojs_aws.services.limits import admin as limits
from tests.job_steps import pushed
from tests.simulation.world import World

ERROR = parse_object(encode({"type": "Broken", "message": "it broke"}))
KEPT = {"max_attempts": 1, "on_exhaustion": "dead_letter"}


def claim(world: World) -> JobRecord:
    """Fetch one job."""
    (claimed,) = world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    return claimed


def die(world: World) -> JobRecord:
    """A dead letter."""
    pushed(world.backend, retry=KEPT)
    return world.backend.jobs.fail(claim(world).id, "w", ERROR)


def after_next(world: World, name: str, act: Callable[[], object]) -> None:
    """Let something happen right after the next call of this name."""

    def afterwards(number: int) -> None:
        if world.faults.calls[number] == name:
            world.faults.afterwards = lambda _: None
            act()

    world.faults.afterwards = afterwards


def test_a_purge_leaves_a_job_that_a_worker_began_meanwhile(world: World) -> None:
    """Active jobs are their workers', whatever they were when the purge looked."""
    job = pushed(world.backend)
    after_next(world, "load_many", lambda: claim(world))
    report = world.backend.queues.purge(Purge(queue="default", states=(JobState.AVAILABLE,)))
    assert (report.cancelled, world.stored.jobs[job.id].state) == (0, JobState.ACTIVE)


def test_a_purge_reads_the_jobs_of_a_page_once(world: World) -> None:
    """One read of the queue, one of all its jobs, and one write for each."""
    for _ in range(3):
        pushed(world.backend)
    before = len(world.faults.calls)
    wanted = Purge(queue="default", states=(JobState.AVAILABLE,))
    assert world.backend.queues.purge(wanted).cancelled == 3
    made = world.faults.calls[before:]
    assert (made.count("load_many"), made.count("load"), made.count("save")) == (1, 1, 3)


def test_a_bulk_cancellation_of_waiting_jobs_leaves_one_that_began(world: World) -> None:
    """The filter's states count for the job as it is when it is written."""
    job = pushed(world.backend)
    after_next(world, "load_many", lambda: claim(world))
    wanted = JobFilter(queue="default", states=frozenset({JobState.AVAILABLE}))
    report = world.backend.bulk.by_filter(BulkAction.CANCEL, wanted)
    assert [each.status for each in report.outcomes] == [BulkStatus.SKIPPED]
    assert world.stored.jobs[job.id].state is JobState.ACTIVE


def test_a_bulk_deletion_leaves_a_job_whose_worker_reports_just_in_time(
    world: World,
) -> None:
    """Its time seemed to be over for good; then its reservation was extended."""
    job = pushed(world.backend, retry=KEPT)
    held = claim(world)
    assert held.reservation is not None
    world.clock.at = held.reservation.due_at + 1

    def extend() -> None:
        current = world.stored.jobs[job.id]
        assert current.reservation is not None
        later = Instant(world.clock.at + 60_000)
        longer = replace(
            current.reservation, expires_at=later, execution_ends_at=later, alive_until=None
        )
        extended = replace(current, reservation=longer, version=current.version + 1)
        world.stored.jobs[job.id] = extended

    after_next(world, "load_many", extend)
    wanted = JobFilter(queue="default", states=frozenset({JobState.DISCARDED}))
    report = world.backend.bulk.by_filter(BulkAction.DELETE, wanted)
    assert [each.status for each in report.outcomes] == [BulkStatus.SKIPPED]
    assert world.stored.jobs[job.id].state is JobState.ACTIVE


def test_a_dead_letter_that_was_retried_meanwhile_is_not_deleted(world: World) -> None:
    """Whoever deletes it learns that it is a dead letter no more."""
    dead = die(world)
    after_next(world, "load", lambda: world.backend.dead_letters.service.retry(dead.id))
    with pytest.raises(ConflictError):
        world.backend.dead_letters.service.delete(dead.id)
    assert world.stored.jobs[dead.id].state is JobState.AVAILABLE


@pytest.mark.parametrize("action", [BulkAction.RETRY, BulkAction.DELETE])
@pytest.mark.parametrize("is_named", [True, False])
def test_a_dead_letter_that_came_back_after_as_of_stays(
    world: World, action: BulkAction, is_named: bool
) -> None:
    """It was retried and failed again, after it was read: the dry run has not seen that."""
    dead = die(world)
    seen_at = world.clock.now()
    world.clock.advance(s=1)

    def fail_again() -> None:
        world.backend.dead_letters.service.retry(dead.id)
        world.backend.jobs.fail(claim(world).id, "w", ERROR)

    after_next(world, "load_many", fail_again)
    chosen = [dead.id] if is_named else DeadLetterFilter(queue="default")
    report = world.backend.dead_letters.bulk(action, chosen, as_of=seen_at)
    assert [each.status for each in report.outcomes] == [BulkStatus.SKIPPED]
    assert world.stored.jobs[dead.id].state is JobState.DISCARDED


@pytest.mark.parametrize(("ms", "done"), [(-1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("action", [BulkAction.RETRY, BulkAction.DELETE])
def test_as_of_includes_jobs_that_were_discarded_at_that_instant(
    world: World, action: BulkAction, ms: int, done: int
) -> None:
    """A dry run says when it looked; it saw what had happened by then."""
    dead = die(world)
    as_of = Instant(world.clock.now() + ms)
    world.clock.advance(s=1)
    bulk = world.backend.dead_letters.bulk
    seen = bulk.preview(action, [dead.id], 1, "", view=UNBOUND, as_of=as_of)
    assert (seen.done, bulk(action, [dead.id], as_of=as_of).done) == (done, done)


def test_a_dead_letter_that_was_deleted_meanwhile_is_deleted(world: World) -> None:
    """Two who delete it at the same time both get what they want."""
    dead = die(world)
    after_next(world, "load", lambda: world.stored.jobs.pop(dead.id))
    world.backend.dead_letters.service.delete(dead.id)
    assert dead.id not in world.stored.jobs


def test_a_dead_letter_that_the_index_shows_late_is_replayed_all_the_same() -> None:
    """The rule looks again at the time in which rows may have been missing."""
    rule = {"name": "all", "filter": {}, "delay": "PT0S", "max_replays": 1}
    world = World(settings=Settings(dead_letter_replay=json.dumps([rule])))
    dead = die(world)
    world.index_shows(dead.id, None)
    world.clock.advance(s=1)
    assert world.backend.dead_letters.upkeep.tick().replayed == 0
    world.index_catches_up()
    world.clock.advance(s=300)
    assert world.backend.dead_letters.upkeep.tick().replayed == 1


def test_a_worker_is_removed_although_a_job_of_its_is_gone(world: World) -> None:
    """What is left of the worker is gone by then; its jobs were to be spared a write only."""
    job = pushed(world.backend)
    report = WorkerReport(active_jobs=1, interval_ms=5000)
    world.backend.workers.heartbeat("w", [claim(world).id], report=report)
    world.clock.advance(s=3600 - 1)
    after_next(world, "load_many", lambda: world.stored.jobs.pop(job.id))
    assert world.backend.workers.service.deregister("w") == ()


def test_a_type_s_limit_can_be_changed_when_no_more_types_may_have_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only another type is one too many."""
    monkeypatch.setattr(limits, "MAX_TYPES", 1)
    book = world.backend.limits
    book.override("type:a", {"concurrency": 1})
    changed = book.override("type:a", {"concurrency": 2})
    assert changed.limit.concurrency == 2
    with pytest.raises(InvalidPolicyError):
        book.override("type:b", {"concurrency": 1})


def test_creating_a_queue_can_be_repeated_when_the_table_failed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A queue without the settings it was created with would refuse the repetition."""

    def refuse(*_: object) -> None:
        raise BackendError("throttled")

    for port, method in ((world.queue_settings, "save"), (world.registry, "note")):
        with monkeypatch.context() as patched:
            patched.setattr(port, method, refuse)
            with pytest.raises(BackendError):
                world.backend.queues.config.create("new", {"max_size": 10})
    made = world.backend.queues.config.create("new", {"max_size": 10})
    assert made.config["max_size"] == 10
    with pytest.raises(ConflictError):
        world.backend.queues.config.create("new", {"max_size": 10})


def test_jobs_are_changed_together_although_one_changed_meanwhile(world: World) -> None:
    """It can still be cancelled: so it is looked at again, and all of them are cancelled."""
    ids = [pushed(world.backend).id for _ in range(2)]
    after_next(world, "load_many", lambda: world.backend.jobs.changes.reprioritise(ids[0], 7))
    changed = world.backend.bulk.changes.named(BulkAction.CANCEL, ids, is_atomic=True)
    assert {each.status for each in changed.outcomes} == {BulkStatus.DONE}
    assert world.stored.jobs[ids[0]].priority == 7
    assert {job.state for job in world.stored.jobs.values()} == {JobState.CANCELLED}


def test_jobs_are_not_changed_together_once_one_of_them_may_not_be(world: World) -> None:
    """The answer names the one that a worker began."""
    ids = [pushed(world.backend).id for _ in range(2)]
    after_next(world, "load_many", lambda: claim(world))
    changed = world.backend.bulk.changes.named(BulkAction.CANCEL, ids, is_atomic=True)
    first, second = changed.outcomes
    assert first.status is not BulkStatus.DONE
    assert (second.status, second.reason) == (
        BulkStatus.SKIPPED,
        f"Not changed, because of job '{ids[0]}'.",
    )
    assert world.stored.jobs[ids[1]].state is JobState.AVAILABLE
