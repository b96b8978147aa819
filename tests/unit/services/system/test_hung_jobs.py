"""A job that hangs while its worker beats is found by the run times of its type."""

from __future__ import annotations

import pytest

from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.queues import LastTick
from ojs_aws.domain.workers import WorkerReport
from ojs_aws.services.system.queue_findings import Finding
from tests.job_steps import fetched, pushed
from tests.simulation.world import World, count_changes


@pytest.fixture
def world() -> World:
    """A backend whose queues are counted."""
    world = World()
    count_changes(world)
    return world


def run(world: World, kind: str, *seconds: int) -> None:
    """Let jobs of a type run so long."""
    for each in seconds:
        pushed(world.backend, kind)
        (job,) = fetched(world.backend)
        world.clock.advance(s=each)
        world.backend.jobs.ack(job.id, "w", None)


def hang(world: World, *kinds: str, seconds: int) -> list[str]:
    """Let jobs run for so long, while their worker beats."""
    ids = [pushed(world.backend, kind).id for kind in kinds]
    fetched(world.backend, count=len(ids), visibility_timeout_ms=600_000)
    world.clock.advance(s=seconds)
    about = '{"queues":["default"],"concurrency":10}'
    report = WorkerReport(about=about, active_jobs=len(ids), job_ids=tuple(ids))
    world.backend.workers.heartbeat("w", ids, None, report)
    world.registry.remember_tick(LastTick(world.clock.now(), 0))
    return ids


def found(world: World) -> list[Finding]:
    """Which jobs hang."""
    return [each for each in world.backend.findings().findings if each.code == "jobs_hang"]


def test_a_job_that_hangs_is_found_by_its_type(world: World) -> None:
    """Slow jobs of another type in its queue do not hide it, and no job has to wait."""
    run(world, "mail.send", 2, 3, 1)
    run(world, "report.make", 200, 200, 200)
    first, second, _ = hang(world, "mail.send", "mail.send", "report.make", seconds=120)
    (finding,) = found(world)
    assert finding.message == (
        "2 jobs 'mail.send' of queue 'default' seem to hang: the longest has run for 2 min, and "
        "the last ones of its type took 3 s at most. Heartbeats still come, so it goes on until "
        "its timeout."
    )
    assert finding.data["job_ids"] == [first, second]
    assert (finding.data["runs_ms"], finding.data["longest_ms"]) == (120_000, 3_000)
    assert finding.hint.endswith(f"cancel what hangs: ojs-aws jobs cancel {first} {second}")


@pytest.mark.parametrize(
    ("runs", "seconds", "is_found"),
    [
        ((2, 2, 2), 60, False),
        ((2, 2, 2), 61, True),
        ((2, 2, 20), 100, False),
        ((2, 2, 20), 101, True),
        ((2, 2), 300, False),
    ],
)
def test_a_job_hangs_after_a_minute_and_five_times_its_type(
    world: World, runs: tuple[int, ...], seconds: int, *, is_found: bool
) -> None:
    """If enough of its type have run."""
    run(world, "mail.send", *runs)
    hang(world, "mail.send", seconds=seconds)
    assert bool(found(world)) is is_found


def test_a_job_that_keeps_others_waiting_is_one_finding(world: World) -> None:
    """That one says more."""
    run(world, "mail.send", 1, 1, 1)
    hang(world, *["mail.send"] * 8, seconds=120)
    assert found(world)
    pushed(world.backend)
    codes = [each.code for each in world.backend.findings().findings]
    assert codes == ["jobs_run_long"]


@pytest.mark.parametrize(("runs_s", "longest"), [(1, "1 s"), (0, "a second")])
def test_one_job_that_hangs_is_not_one_of_several(world: World, runs_s: int, longest: str) -> None:
    """Nobody reads that jobs took no time."""
    run(world, "mail.send", runs_s, runs_s, runs_s)
    hang(world, "mail.send", seconds=120)
    (finding,) = found(world)
    assert finding.message.startswith("A job 'mail.send' of queue 'default' seems to hang: it has")
    assert f"took {longest} at most" in finding.message


def test_a_job_that_has_ended_meanwhile_does_not_hang(world: World) -> None:
    """The last heartbeat of its worker still names it."""
    run(world, "mail.send", 1, 1, 1)
    ended, hanging = hang(world, "mail.send", "mail.send", seconds=120)
    world.backend.jobs.fail(ended, "w", parse_object('{"type": "T", "message": "m"}'))
    (finding,) = found(world)
    assert finding.data["job_ids"] == [hanging]
