"""What one heartbeat may name, whose jobs it reads, and whose it extends."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.domain.access import ANYBODY, Caller
from ojs_aws.domain.errors import BackendError, InvalidRequestError
from ojs_aws.domain.jobs.held_job import ANY_ATTEMPT
from ojs_aws.services.stored_jobs.change import PATIENCE_MS
from ojs_aws.services.workers.heartbeat import MAX_JOBS, MAX_WORKER_ID
from tests.contract.test_job_store import a_job
from tests.job_steps import active, fetched, pushed
from tests.simulation.world import World

MANY = [a_job(number).id for number in range(MAX_JOBS + 1)]


@pytest.mark.parametrize(
    ("worker_id", "job_ids", "field"),
    [
        ("w", MANY[:MAX_JOBS], ""),
        ("w", MANY, "active_jobs"),
        ("w" * MAX_WORKER_ID, [], ""),
        ("w" * (MAX_WORKER_ID + 1), [], "worker_id"),
        ("", [], "worker_id"),
        (None, MANY[:1], ""),
        (None, [], "worker_id"),
    ],
)
def test_a_heartbeat_names_a_worker_or_jobs_up_to_their_bounds(
    world: World, worker_id: str | None, job_ids: list[str], field: str
) -> None:
    if not field:
        assert world.backend.workers.heartbeat(worker_id, job_ids).lost == tuple(job_ids)
        return
    with pytest.raises(InvalidRequestError) as error:
        world.backend.workers.heartbeat(worker_id, job_ids)
    assert error.value.details["field"] == field


def calls_of(world: World, *args: Any) -> list[str]:
    before = len(world.faults.calls)
    world.backend.workers.heartbeat(*args)
    return world.faults.calls[before:]


@pytest.mark.parametrize(
    ("worker_id", "caller", "is_read"),
    [
        ("w", ANYBODY, False),
        (None, ANYBODY, True),
        ("w", Caller(queues=("default",)), True),
    ],
)
def test_jobs_are_read_where_only_they_say_if_they_may_be_extended(
    world: World, worker_id: str | None, caller: Caller, is_read: bool
) -> None:
    job = active(world.backend)
    world.clock.advance(s=5)
    assert ("load" in calls_of(world, worker_id, [job.id], None, None, caller)) is is_read


def test_several_jobs_are_read_in_one_call(world: World) -> None:
    for _ in range(2):
        pushed(world.backend)
    jobs = [job.id for job in fetched(world.backend, count=2, worker_id="w")]
    calls = calls_of(world, None, [*jobs, jobs[0]])
    assert (calls.count("load_many"), calls.count("load")) == (1, 0)


@pytest.mark.parametrize("queues", [("default",), ("other",)])
def test_a_job_outside_the_callers_bounds_is_lost_to_it(
    world: World, queues: tuple[str, ...]
) -> None:
    job = active(world.backend)
    beat = world.backend.workers.heartbeat("w", [job.id], None, None, Caller(queues=queues))
    assert (job.id in beat.extended) is (queues == ("default",))
    assert (job.id in beat.lost) is (queues == ("other",))


@pytest.mark.parametrize("has_message", [True, False])
def test_only_a_message_that_there_is_is_hidden_for_longer(world: World, has_message: bool) -> None:
    pushed(world.backend)
    if not has_message:
        world.lose_messages()
    (job,) = fetched(world.backend)
    world.clock.advance(s=5)
    assert ("hide" in calls_of(world, "w", [job.id])) is has_message


def test_a_lambda_worker_reads_its_job_where_there_is_nothing_to_extend(world: World) -> None:
    """It may have been cancelled; one with something to extend is written at once."""
    job = active(world.backend, timeout_s=30)
    heartbeat = world.backend.workers.heartbeat
    before = len(world.faults.calls)
    beat, after = heartbeat.extend("w", job.id, None, which=ANY_ATTEMPT, start=job)
    assert "load" in world.faults.calls[before:]
    world.clock.advance(s=1)
    before = len(world.faults.calls)
    heartbeat.extend("w", job.id, None, which=ANY_ATTEMPT, start=after)
    assert "load" not in world.faults.calls[before:]
    beat, after = heartbeat.extend("w", a_job(77).id, None, which=ANY_ATTEMPT, start=None)
    assert (beat.lost, after) == ((a_job(77).id,), None)


@pytest.mark.parametrize("caller", [ANYBODY, Caller(queues=("default",))])
def test_a_job_that_cannot_be_written_does_not_hold_up_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch, caller: Caller
) -> None:
    """It is left out of the answer; the messages of the others are hidden for as long as they."""
    for _ in range(3):
        pushed(world.backend)
    bad, *others = (job.id for job in fetched(world.backend, count=3))
    ends = {each: ends_of(world, each) for each in others}
    refuse_writes_of(world, monkeypatch, bad)
    world.clock.advance(s=10)
    before = len(world.faults.calls)
    beat = world.backend.workers.heartbeat("w", [bad, *others], None, None, caller)
    assert (beat.extended, beat.lost) == (tuple(others), ())
    assert all(ends_of(world, each) > ends[each] for each in others)
    assert "hide" in world.faults.calls[before:]


def test_a_heartbeat_fails_where_none_of_its_jobs_can_be_written(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = active(world.backend)
    refuse_writes_of(world, monkeypatch, job.id)
    with pytest.raises(BackendError, match="no"):
        world.backend.workers.heartbeat("w", [job.id])


@pytest.mark.parametrize(("took_ms", "goes_on"), [(PATIENCE_MS, True), (PATIENCE_MS + 1, False)])
def test_a_heartbeat_does_not_wait_for_each_of_its_jobs_to_time_out(
    world: World, monkeypatch: pytest.MonkeyPatch, took_ms: int, goes_on: bool
) -> None:
    for _ in range(2):
        pushed(world.backend)
    bad, other = (job.id for job in fetched(world.backend, count=2))
    refuse_writes_of(world, monkeypatch, bad, took_ms)
    if goes_on:
        assert world.backend.workers.heartbeat("w", [bad, other]).extended == (other,)
        return
    with pytest.raises(BackendError):
        world.backend.workers.heartbeat("w", [bad, other])


def ends_of(world: World, job_id: str) -> int:
    """When a job's reservation ends."""
    held = world.stored.jobs[job_id].reservation
    assert held is not None
    return held.expires_at


def refuse_writes_of(
    world: World, monkeypatch: pytest.MonkeyPatch, job_id: str, took_ms: int = 0
) -> None:
    """Let the writes of one job fail after some time."""
    for name in ("extend", "save"):
        write = getattr(world.store, name)

        def failing(job: Any, *more: Any, write: Any = write) -> Any:
            if job_id in (job, getattr(job, "id", "")):
                world.clock.advance(ms=took_ms)
                raise BackendError("no")
            return write(job, *more)

        monkeypatch.setattr(world.store, name, failing)
