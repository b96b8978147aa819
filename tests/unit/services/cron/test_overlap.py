"""What happens to an occurrence while an earlier run is unfinished."""

from __future__ import annotations

import pytest

from ojs_aws.domain.cron.entry import CronEntry
from ojs_aws.domain.errors import (
    InvalidRequestError,
    NotFoundError,
)
from ojs_aws.domain.job import JobState
from ojs_aws.services.cron import job_of
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.simulation.faults import Fault, ProcessDiedError
from tests.simulation.world import World
from tests.unit.services.cron.test_scheduler import (
    ERROR,
    NAME,
    START,
    at,
    fetch,
    jobs,
    latest,
    pass_minutes,
    register,
)


@pytest.fixture
def world() -> World:
    """A world at the start of the tests of cron jobs."""
    made = World()
    made.clock.at = at(START)
    return made


def test_skip_leaves_an_occurrence_out_while_a_run_is_active(world: World) -> None:
    """CRON-18, CRON-19: and says for which run; a waiting run is no obstacle."""
    register(world)
    pass_minutes(world, 2)
    assert len(jobs(world)) == 2
    (active, *_) = fetch(world, 1)
    pass_minutes(world)
    assert len(jobs(world)) == 2
    assert (latest(world).reason, latest(world).blocked_by) == ("overlap_skip", active)
    assert world.stored.crons[NAME].run_count == 2
    world.backend.jobs.ack(active, "w", None)
    pass_minutes(world)
    assert len(jobs(world)) == 3


def test_overlap_is_judged_when_the_occurrence_is_due(world: World) -> None:
    """A run that ends between the alarm's setting and its ringing does not block."""
    register(world)
    pass_minutes(world)
    (active,) = fetch(world)
    world.clock.at = at("2026-02-12T20:16:59Z")
    world.backend.cron.scheduler.tick()
    world.backend.jobs.ack(active, "w", None)
    world.clock.at = at("2026-02-12T20:17:00Z")
    world.backend.cron.scheduler.fire(NAME)
    assert len(jobs(world)) == 2


def test_a_run_whose_worker_died_does_not_block(world: World) -> None:
    """Its reservation is over, though nobody has written that down yet."""
    register(world, job={"retry": {"max_attempts": 1}})
    pass_minutes(world)
    world.backend.jobs.fetch(FetchRequest(("default",), 1, "w", 30_000))
    pass_minutes(world)
    assert [job.state for job in jobs(world)] == [JobState.DISCARDED, JobState.AVAILABLE]


def test_allow_runs_side_by_side(world: World) -> None:
    """CRON-18: without a look at the earlier runs."""
    register(world, overlap="allow")
    for _ in range(15):
        pass_minutes(world)
        assert len(fetch(world)) == 1
    assert len(jobs(world, JobState.ACTIVE)) == 15
    assert len(world.stored.crons[NAME].runs) == 10


def test_cancel_previous_makes_room(world: World) -> None:
    """CRON-18: the active run is cancelled, a waiting one is not."""
    register(world, overlap="cancel_previous")
    pass_minutes(world)
    (first,) = fetch(world)
    pass_minutes(world)
    assert world.stored.jobs[first].state is JobState.CANCELLED
    pass_minutes(world)
    assert len(jobs(world, JobState.AVAILABLE)) == 2


def test_a_run_that_is_gone_before_it_is_cancelled_makes_room(world: World) -> None:
    """Somebody removes it between the claim of the occurrence and the cancellation."""
    register(world, overlap="cancel_previous")
    pass_minutes(world)
    (first,) = fetch(world)
    plain = world.cron.save

    def save(before: CronEntry | None, after: CronEntry) -> None:
        plain(before, after)
        if after.is_claimed:
            assert after.latest is not None
            assert after.latest.cancels == (first,)
            del world.stored.jobs[first]

    world.cron.save = save  # type: ignore[method-assign]
    pass_minutes(world)
    assert [job.state for job in jobs(world)] == [JobState.AVAILABLE]


def test_enqueue_never_runs_two_at_once_and_loses_none(world: World) -> None:
    """CRON-18: runs wait for the ones before them, in their order."""
    register(world, overlap="enqueue")
    pass_minutes(world, 4)
    done = []
    for _ in range(4):
        (active,) = fetch(world, 5)
        assert len(jobs(world, JobState.ACTIVE)) == 1
        world.backend.jobs.ack(active, "w", None)
        done.append(active)
        world.backend.cron.scheduler.fire(NAME)
    assert done == sorted(done)
    assert fetch(world) == []


def test_a_held_run_waits_for_the_retries_of_the_one_before(world: World) -> None:
    """The earlier run has not ended as long as an attempt is left."""
    register(world, overlap="enqueue", job={"retry": {"max_attempts": 2, "jitter": False}})
    pass_minutes(world, 2)
    (first,) = fetch(world)
    world.backend.jobs.fail(first, "w", ERROR)
    world.backend.cron.scheduler.fire(NAME)
    assert len(jobs(world, JobState.PENDING)) == 1


def test_a_held_run_is_released_by_the_tick_also_when_disabled(world: World) -> None:
    """Pausing a cron job does not strand what it enqueued."""
    register(world, overlap="enqueue")
    pass_minutes(world, 2)
    world.backend.cron.service.set_enabled(NAME, is_enabled=False)
    (first,) = fetch(world)
    world.backend.jobs.ack(first, "w", None)
    pass_minutes(world)
    assert len(fetch(world)) == 1
    assert world.stored.crons[NAME].held == ()


def test_deleting_lets_held_runs_go(world: World) -> None:
    """Section 8.4: jobs that were enqueued are not affected, and nobody else would release them."""
    register(world, overlap="enqueue")
    pass_minutes(world, 3)
    world.backend.cron.service.delete(NAME)
    assert len(jobs(world, JobState.AVAILABLE)) == 3
    with pytest.raises(NotFoundError):
        world.backend.cron.service.get(NAME)


def test_deleting_lets_go_what_is_only_just_being_enqueued(world: World) -> None:
    """A tick has claimed an occurrence, and pushes its held job after the cron job is gone."""
    register(world, overlap="enqueue")
    pass_minutes(world)
    before = len(world.faults.calls)
    pass_minutes(world)
    at = world.faults.calls.index("insert", before) - before
    world.clock.advance(s=60)
    world.faults.faulty, world.faults.fault = len(world.faults.calls) + at, Fault.DIES_BEFORE
    with pytest.raises(ProcessDiedError):
        world.backend.cron.scheduler.tick()
    claimed = world.stored.crons[NAME]
    assert claimed.is_claimed
    assert len(claimed.held) == 2
    world.backend.cron.service.delete(NAME)
    world.backend.jobs.push(job_of(claimed))  # as if the tick had not died, but was late
    assert len(jobs(world, JobState.AVAILABLE)) == 3
    assert jobs(world, JobState.PENDING) == []


def test_runs_that_wait_are_bounded(world: World) -> None:
    """A hundred at most; further occurrences are skipped."""
    register(world, overlap="enqueue")
    pass_minutes(world, 103)
    assert len(jobs(world)) == 100
    assert latest(world).reason == "overlap_skip"


def test_many_waiting_runs_are_warned_of(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """CRON-S04: from the third on."""
    register(world, overlap="enqueue")
    pass_minutes(world, 3)
    assert "waiting" not in caplog.text
    pass_minutes(world)
    assert "has 3 runs waiting" in caplog.text


@pytest.mark.parametrize(
    ("overlap", "sequence", "is_accepted"),
    [
        ("enqueue", "k", False),
        ("enqueue", None, True),
        ("allow", "k", True),
        ("skip", "k", True),
    ],
)
def test_runs_are_held_back_by_a_sequence_or_by_enqueue(
    world: World, overlap: str, sequence: str | None, *, is_accepted: bool
) -> None:
    """By both they would be pending for two reasons."""
    job = {} if sequence is None else {"sequence": sequence}
    if is_accepted:
        assert register(world, overlap=overlap, job=job).name == NAME
    else:
        with pytest.raises(InvalidRequestError, match="does not go with"):
            register(world, overlap=overlap, job=job)
