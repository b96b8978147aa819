"""Progress and checkpoints of executions (ojs-progress, ojs-durable-execution)."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import (
    ConflictError,
    InvalidRequestError,
    JsonValue,
    NotFoundError,
    PayloadTooLargeError,
)
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.progress import MAX_DATA_BYTES, Progress, read_report
from ojs_aws.domain.json_text import RawJson, parse_object
from ojs_aws.services.events import events_of
from ojs_aws.services.events.commit import Commit
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.render import render_job
from tests.simulation.world import World

UNKNOWN = "01990000-0000-7000-8000-ffffffffffff"
ERROR = parse_object('{"type": "Broken", "message": "it broke"}')


def claim(world: World, worker: str = "w", **terms: Any) -> JobRecord:
    """The next job, in a worker's hands."""
    (job,) = world.backend.jobs.fetch(FetchRequest(("default",), worker_id=worker, **terms))
    return job


def active(world: World, **attributes: Any) -> JobRecord:
    """A job in the hands of worker w."""
    world.backend.jobs.push(Job("data.import", [1], **attributes))
    return claim(world)


def report(world: World, job: JobRecord, text: str, worker: str | None = "w") -> bool:
    """Report progress; whether it was noted."""
    return world.backend.outcomes.progress(job.id, worker, read_report(parse_object(text)))[1]


def shown(world: World, job: JobRecord) -> Progress | None:
    """The progress as of now."""
    return world.backend.outcomes.progress.read(job.id).current_progress


# ---------------------------------------------------------------------------------- progress
@pytest.mark.parametrize(
    ("text", "fraction"),
    [
        ('{"progress": 0.47}', 0.47),
        ('{"progress": 1.5}', 1.0),
        ('{"progress": -3}', 0.0),
        ('{"progress": 1}', 1.0),
        ('{"percentage": 47}', 0.47),
        ('{"percentage": 250}', 1.0),
        ('{"progress": 1e300}', 1.0),
        ('{"data": {"rows": 1}}', None),
    ],
)
def test_a_number_is_clamped_to_the_range(text: str, fraction: float | None) -> None:
    """PRG-002: never refused; ``percentage`` is the form of existing clients."""
    assert read_report(parse_object(text)).fraction == fraction


@pytest.mark.parametrize(
    "text",
    ["{}", '{"progress": null}', '{"progress": "half"}', '{"progress": true}', '{"data": [1]}'],
)
def test_a_report_that_says_nothing_or_nonsense_is_refused(text: str) -> None:
    """Section 5.2: at least a number or data, each of its type."""
    with pytest.raises(InvalidRequestError):
        read_report(parse_object(text))


def test_data_is_bounded() -> None:
    """It is written with every report: 4 KB."""
    most = MAX_DATA_BYTES - len('{"x": ""}')
    assert read_report(parse_object(f'{{"data": {{"x": "{"y" * most}"}}}}')).data
    with pytest.raises(PayloadTooLargeError, match="4096"):
        read_report(parse_object(f'{{"data": {{"x": "{"y" * (most + 1)}"}}}}'))


def test_the_number_never_falls_within_an_attempt(world: World) -> None:
    """PRG-003: the higher value stays; data and message are the latest."""
    job = active(world)
    assert report(world, job, '{"progress": 0.6, "data": {"row": 6}, "message": "six"}')
    assert report(world, job, '{"progress": 0.4, "data": {"row": 4}}')
    known = shown(world, job)
    assert known is not None
    assert (known.fraction, known.data, known.message) == (0.6, '{"row": 4}', "six")


def test_progress_with_a_checkpoint_is_one_version(world: World) -> None:
    """Found by the simulation: one write counted as two, and one of them was never reported."""
    job = active(world)
    whole = read_report(parse_object('{"progress": 0.5}'))
    after, is_noted = world.backend.outcomes.progress(job.id, "w", whole, RawJson("[1]"))
    assert is_noted
    assert after.checkpoint is not None
    assert (after.version, after.checkpoint.state) == (job.version + 1, "[1]")


def test_each_attempt_starts_without_progress(world: World) -> None:
    """Section 5.3; and a failed attempt keeps what it reported (PRG-006)."""
    job = active(world, retry={"max_attempts": 3, "initial_interval": "PT1S", "jitter": False})
    report(world, job, '{"progress": 0.73}')
    world.backend.jobs.fail(job.id, "w", ERROR)
    known = shown(world, job)
    assert known is not None
    assert known.fraction == 0.73
    world.clock.advance(s=2)
    again = claim(world)
    assert shown(world, again) is None
    report(world, again, '{"progress": 0.1}')
    known = shown(world, again)
    assert known is not None
    assert known.fraction == 0.1


def test_a_job_that_an_operator_retries_starts_without_progress(world: World) -> None:
    """Its attempts have the numbers of those before."""
    job = active(world, retry={"max_attempts": 1})
    report(world, job, '{"progress": 0.73}')
    world.backend.jobs.fail(job.id, "w", ERROR)
    world.backend.dead_letters.service.retry(job.id)
    again = claim(world)
    assert (again.attempt, shown(world, again)) == (1, None)


def test_a_completed_job_is_done_if_it_ever_reported(world: World) -> None:
    """PRG-005, section 8.1; without a write of its own."""
    silent, reported = active(world), active(world)
    report(world, reported, '{"progress": 0.87}')
    for job in (silent, reported):
        world.backend.jobs.ack(job.id, "w", None)
    known = shown(world, reported)
    assert known is not None
    assert known.fraction == 1.0
    assert shown(world, silent) is None


@pytest.mark.parametrize("state", ["available", "completed", "stolen"])
def test_a_report_that_comes_too_late_is_ignored(world: World, state: str) -> None:
    """PRG-007: no error, and nothing changes."""
    if state == "available":
        record = world.backend.jobs.push(Job("data.import", [])).record
        assert record is not None
        job, worker = record, "w"
    else:
        job, worker = active(world), "w"
        if state == "completed":
            world.backend.jobs.ack(job.id, "w", None)
        else:
            worker = "other"
    before = world.stored.jobs[job.id]
    assert report(world, job, '{"progress": 0.5}', worker) is False
    assert world.stored.jobs[job.id] == before


def test_a_report_of_no_job_is_refused(world: World) -> None:
    """Section 10.2."""
    with pytest.raises(NotFoundError):
        world.backend.outcomes.progress(UNKNOWN, "w", read_report(parse_object('{"progress": 1}')))


def test_a_report_is_a_heartbeat(world: World) -> None:
    """PRG-008: item and message are extended as by BEAT, and no BEAT is needed."""
    job = active(world, visibility_timeout_s=10)
    for _ in range(4):
        world.clock.advance(s=9)
        assert report(world, job, '{"progress": 0.1}')
        world.backend.upkeep.sweep.tick()
    assert world.stored.jobs[job.id].state is JobState.ACTIVE
    assert world.backend.jobs.fetch(FetchRequest(("default",), worker_id="thief")) == []
    world.clock.advance(s=11)
    assert world.backend.jobs.info(job.id).state is JobState.AVAILABLE


def test_a_report_shows_that_a_worker_lives_which_promised_heartbeats(world: World) -> None:
    """It would count as dead after three of them otherwise."""
    world.backend.jobs.push(Job("data.import", []))
    job = claim(world, heartbeat_interval_ms=5000)
    world.clock.advance(s=14)
    report(world, job, '{"progress": 0.1}')
    world.clock.advance(s=14)
    assert world.backend.jobs.info(job.id).state is JobState.ACTIVE
    world.clock.advance(s=60)
    assert world.backend.jobs.info(job.id).state is JobState.AVAILABLE


def test_a_chatty_handler_does_not_extend_with_every_report(world: World) -> None:
    """Each extension is an index write and a call to SQS: once a second at most."""
    job = active(world, visibility_timeout_s=60)
    ends = set()
    for _ in range(30):
        world.clock.advance(ms=100)
        report(world, job, '{"progress": 0.1}')
        held = world.stored.jobs[job.id].reservation
        assert held is not None
        ends.add(held.expires_at)
    assert len(ends) == 1 + 3


def test_progress_makes_one_event_a_second(world: World) -> None:
    """ojs-events, section 4.1; ojs-progress, section 6.2. It replaces the heartbeat's."""
    job = active(world)
    reported = []
    for number in range(25):
        before = world.stored.jobs[job.id]
        report(world, job, f'{{"progress": {number / 100}, "message": "row {number}"}}')
        reported += events_of(before, world.stored.jobs[job.id], Commit(world.clock.now(), "1"))
        world.clock.advance(ms=100)
    assert {event.type for event in reported} == {"job.progress"}
    assert 2 <= len(reported) <= 4
    data = parse_object(reported[0].data)
    assert data["progress_percent"].value == 0
    assert data["worker_id"].value == "w"
    assert data["attempt"].value == 1


# -------------------------------------------------------------------------------- checkpoints
def save(world: World, job: JobRecord, text: str, worker: str | None = "w") -> int:
    """Save a checkpoint; its number."""
    return world.backend.outcomes.checkpoints.save(
        job.id, worker, RawJson(text)
    ).checkpoint.sequence


@pytest.mark.parametrize("text", ['{"a": [1.50, null]}', "[]", '"cursor"', "0", "null", "false"])
def test_any_value_is_a_checkpoint_and_comes_back(world: World, text: str) -> None:
    """DUR-001, DUR-002: digit for digit."""
    job = active(world)
    assert save(world, job, text) == 1
    assert world.backend.outcomes.checkpoints.get(job.id).checkpoint.state == text


def test_the_latest_checkpoint_counts_and_the_numbers_go_on(world: World) -> None:
    """DUR-003, DUR-008: also over a deletion."""
    job = active(world)
    assert [save(world, job, str(value)) for value in range(3)] == [1, 2, 3]
    assert world.backend.outcomes.checkpoints.get(job.id).checkpoint.state == "2"
    assert world.backend.outcomes.checkpoints.delete(job.id)
    assert not world.backend.outcomes.checkpoints.delete(job.id)
    with pytest.raises(NotFoundError, match="no checkpoint"):
        world.backend.outcomes.checkpoints.get(job.id)
    assert save(world, job, "9") == 4


@pytest.mark.parametrize("changed_by", ["an operator", "a unique job"])
def test_a_large_checkpoint_outlives_a_change_of_the_jobs_arguments(
    world: World, changed_by: str
) -> None:
    """It stays where it is stored: nobody stores it again."""
    state = json.dumps(random.Random(1).randbytes(100_000).hex())  # hard to compress
    unique: dict[str, JsonValue] = {"keys": ["type"], "on_conflict": "replace_except_schedule"}
    push = world.backend.jobs.push
    if changed_by == "an operator":
        policy = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
        job = active(world, retry=policy)
        save(world, job, state)
        world.backend.jobs.fail(job.id, "w", ERROR)
        world.backend.dead_letters.service.retry(job.id, {"args": [2]})
    else:
        record = push(Job("data.import", [1], unique=unique, scheduled_at="+PT1H")).record
        assert record is not None
        job = record
        world.backend.outcomes.checkpoints.save(job.id, None, RawJson(state), only_active=False)
        assert push(Job("data.import", [2], unique=unique)).is_update
    before = world.stored.jobs[job.id].checkpoint
    assert before is not None
    world.clock.advance(s=3600)
    assert claim(world).id == job.id
    assert world.stored.jobs[job.id].checkpoint == before
    assert world.backend.outcomes.checkpoints.get(job.id).checkpoint.state == state


def test_the_next_attempt_gets_the_checkpoint(world: World) -> None:
    """DUR-004, DUR-R001; ojs-progress, section 6.4: after a failure and after a worker's death."""
    job = active(world, retry={"max_attempts": 5, "initial_interval": "PT1S", "jitter": False})
    assert "checkpoint" not in render_job(job)
    save(world, job, '{"row": 14000}')
    world.backend.jobs.fail(job.id, "w", ERROR)
    world.clock.advance(s=2)
    second = render_job(claim(world))
    assert parse_object(second["checkpoint"])["state"].raw == '{"row": 14000}'
    assert parse_object(second["checkpoint"])["sequence"].value == 1
    assert second["last_checkpoint"] == '{"row": 14000}'
    world.clock.advance(s=3600)
    assert "checkpoint" in render_job(claim(world, "w2"))


def test_a_report_may_carry_a_checkpoint(world: World) -> None:
    """ojs-progress, section 6.4: both in one write."""
    job = active(world)
    said = read_report(parse_object('{"progress": 0.5}'))
    world.backend.outcomes.progress(job.id, "w", said, RawJson('{"row": 5}'))
    assert world.backend.outcomes.checkpoints.get(job.id).checkpoint.state == '{"row": 5}'
    known = shown(world, job)
    assert known is not None
    assert known.fraction == 0.5


@pytest.mark.parametrize("end", ["ack", "cancel", "discard"])
def test_a_job_that_is_over_has_no_checkpoint(world: World, end: str) -> None:
    """DUR-005: in the very write that ends it."""
    job = active(world, retry={"max_attempts": 1})
    save(world, job, "1")
    if end == "ack":
        world.backend.jobs.ack(job.id, "w", None)
    elif end == "cancel":
        world.backend.jobs.cancel(job.id)
    else:
        world.backend.jobs.fail(job.id, "w", ERROR)
    assert world.stored.jobs[job.id].checkpoint is None
    with pytest.raises(NotFoundError):
        world.backend.outcomes.checkpoints.get(job.id)


def test_a_dead_letter_keeps_its_checkpoint_for_the_operators_retry(world: World) -> None:
    """Section 6.3; decision 26 says why this outweighs section 5.2."""
    job = active(world, retry={"max_attempts": 1, "on_exhaustion": "dead_letter"})
    save(world, job, '{"row": 5}')
    world.backend.jobs.fail(job.id, "w", ERROR)
    world.backend.dead_letters.service.retry(job.id)
    assert render_job(claim(world))["last_checkpoint"] == '{"row": 5}'


@pytest.mark.parametrize("state", ["available", "completed", "stolen"])
def test_only_the_holder_of_an_active_job_saves(world: World, state: str) -> None:
    """DUR-007, section 4.2: nothing changes otherwise."""
    if state == "available":
        record = world.backend.jobs.push(Job("data.import", [])).record
        assert record is not None
        job = record
    else:
        job = active(world)
        if state == "completed":
            world.backend.jobs.ack(job.id, "w", None)
    before = world.stored.jobs[job.id]
    with pytest.raises(ConflictError):
        save(world, job, "1", "other" if state == "stolen" else "w")
    assert world.stored.jobs[job.id] == before


def test_a_checkpoint_may_be_set_before_the_first_attempt_not_at_the_end(
    world: World,
) -> None:
    """What PUT does, as the conformance cases use it."""
    record = world.backend.jobs.push(Job("data.import", [])).record
    assert record is not None
    saved = world.backend.outcomes.checkpoints.save(
        record.id, None, RawJson("7"), only_active=False
    )
    assert saved.job.state is JobState.AVAILABLE
    job = claim(world)
    assert render_job(job)["last_checkpoint"] == "7"
    with pytest.raises(ConflictError):
        world.backend.outcomes.checkpoints.save(job.id, "other", RawJson("8"), only_active=False)
    world.backend.jobs.ack(job.id, "w", None)
    with pytest.raises(ConflictError, match="over"):
        world.backend.outcomes.checkpoints.save(job.id, None, RawJson("8"), only_active=False)


def test_a_checkpoint_has_a_megabyte_at_most(world: World) -> None:
    """DUR-006: to the byte; the one before stays."""
    job = active(world)
    save(world, job, f'"{"x" * (1_048_576 - 2)}"')
    with pytest.raises(PayloadTooLargeError, match="1048576"):
        save(world, job, f'"{"x" * (1_048_576 - 1)}"')
    assert world.backend.outcomes.checkpoints.get(job.id).checkpoint.sequence == 1
