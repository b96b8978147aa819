"""Outcomes: how long they are kept, how large they may be, and waiting for them (ojs-results)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import (
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    OjsError,
    PayloadTooLargeError,
    ResultPendingError,
    ResultPrunedError,
    ResultTooLargeError,
)
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.json_text import RawJson, parse_object
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.services.jobs.ack import check_size
from ojs_aws.services.jobs.render import render_job
from ojs_aws.services.outcomes.results import Results, pauses
from tests.job_steps import active
from tests.simulation.world import World

DAY_S = 86_400
UNKNOWN = "01990000-0000-7000-8000-ffffffffffff"


def done(world: World, result: str | None = '{"n": 1}', **attributes: Any) -> JobRecord:
    """A completed job."""
    job = active(world.backend, **attributes)
    world.backend.jobs.ack(job.id, "w", None if result is None else RawJson(result))
    return job


@pytest.mark.parametrize("text", ["null", "true", "42", "1.50", '"x"', "[]", '{"a": null}'])
def test_a_result_comes_back_as_it_was_sent(world: World, text: str) -> None:
    """ENV-062; ojs-results, section 5.2: the type is kept, and every digit."""
    job = done(world, text)
    assert world.backend.outcomes.results(job.id).result == text
    assert render_job(world.backend.jobs.info(job.id))["result"] == text


def test_what_is_said_of_a_result_beside_itself(world: World) -> None:
    """Section 6.2: when it was stored, until when it is kept, and its size."""
    job = done(world, '"Größe"', result_ttl=3600)
    said = render_job(world.backend.jobs.info(job.id))
    assert said["result_stored_at"] == f'"{format_instant(world.clock.now())}"'
    until = type(world.clock.now())(world.clock.at + 3_600_000)
    assert said["result_expires_at"] == f'"{format_instant(until)}"'
    assert said["result_size_bytes"] == str(len('"Größe"'.encode()))


def test_a_result_is_pruned_at_the_end_of_its_time_and_not_before(world: World) -> None:
    """Section 7.1: the clock starts with the terminal state; the job itself stays."""
    job = done(world, result_ttl=60)
    world.clock.advance(ms=59_999)
    assert world.backend.outcomes.results(job.id).result == '{"n": 1}'
    world.clock.advance(ms=1)
    with pytest.raises(ResultPrunedError, match="expired at"):
        world.backend.outcomes.results(job.id)
    said = render_job(world.backend.jobs.info(job.id))
    assert "result" not in said
    assert said["state"] == '"completed"'


def test_an_ephemeral_result_is_not_stored(world: World) -> None:
    """Section 7.1: ACK succeeds, and keeps nothing."""
    job = done(world, result_ttl=0)
    assert world.stored.jobs[job.id].result is None
    assert world.stored.jobs[job.id].state is JobState.COMPLETED
    with pytest.raises(ResultPrunedError):
        world.backend.outcomes.results(job.id)


def test_an_ephemeral_result_is_refused_to_whoever_does_not_hold_the_job(world: World) -> None:
    """That it is not kept does not make the ACK another worker's."""
    job = active(world.backend, result_ttl=0)
    with pytest.raises(ConflictError):
        world.backend.jobs.ack(job.id, "other", RawJson("1"))
    assert world.stored.jobs[job.id].state is JobState.ACTIVE


def test_a_workflow_keeps_the_results_of_its_steps(world: World) -> None:
    """Section 9.1: whatever their own time to live."""
    job = active(world.backend, result_ttl=0)
    world.stored.jobs[job.id] = replace(job, workflow_id="wf", workflow_step=1)
    world.backend.jobs.ack(job.id, "w", RawJson("7"))
    assert world.stored.jobs[job.id].result == "7"


def test_a_permanent_result_is_never_pruned(world: World) -> None:
    """Section 7.1: -1."""
    job = done(world, result_ttl=-1)
    world.clock.advance(s=9999 * DAY_S)
    assert world.backend.outcomes.results(job.id).result == '{"n": 1}'
    assert "result_expires_at" not in render_job(world.backend.jobs.info(job.id))


@pytest.mark.parametrize("ttl", [-2, 1.5, True, "3600", 315_360_001])
def test_a_time_to_live_that_makes_no_sense_is_refused(world: World, ttl: Any) -> None:
    """Nothing is stored."""
    with pytest.raises(InvalidRequestError, match="result_ttl"):
        world.backend.jobs.push(Job("report.make", [], result_ttl_s=ttl))
    assert not world.stored.jobs


def test_a_result_that_is_too_large_leaves_the_job_active(world: World) -> None:
    """ENV-063; section 7.2: the worker may complete it with a reference."""
    job = active(world.backend)
    with pytest.raises(ResultTooLargeError) as refused:
        world.backend.jobs.ack(job.id, "w", RawJson(f'"{"x" * 1_048_576}"'))
    assert refused.value.details["max_bytes"] == 1_048_576
    assert refused.value.details["size_bytes"] == 1_048_578
    assert world.stored.jobs[job.id].state is JobState.ACTIVE
    reference = '{"$ref": "ojs://results/external", "uri": "s3://b/k"}'
    world.backend.jobs.ack(job.id, "w", RawJson(reference))
    assert world.backend.outcomes.results(job.id).result == reference


def test_a_result_may_be_as_large_as_its_limit() -> None:
    """To the byte, whoever asks: the write, or the check that names both sizes."""
    check_size(RawJson('"1234567"'), 9)
    with pytest.raises(ResultTooLargeError):
        check_size(RawJson('"12345678"'), 9)


@pytest.mark.parametrize("size", [9, 200_000])
def test_a_job_may_limit_its_result_further(world: World, size: int) -> None:
    """Section 6.1: ``result_size_limit``, to the byte, for small results and large ones."""
    limit = size - 1
    job = active(world.backend, result_size_limit=limit)
    with pytest.raises(ResultTooLargeError) as refused:
        world.backend.jobs.ack(job.id, "w", RawJson(f'"{"x" * (size - 2)}"'))
    assert refused.value.details["max_bytes"] == limit
    assert world.stored.jobs[job.id].state is JobState.ACTIVE
    world.backend.jobs.ack(job.id, "w", RawJson(f'"{"x" * (size - 3)}"'))
    assert world.stored.jobs[job.id].state is JobState.COMPLETED


def test_the_error_of_a_discarded_job_is_its_outcome(world: World) -> None:
    """Section 5.1: retrievable by the same means; not that of a job that is tried again."""
    job = active(world.backend, retry={"max_attempts": 1})
    error = parse_object('{"type": "Declined", "message": "no funds"}')
    world.backend.jobs.fail(job.id, "w", error)
    found = world.backend.outcomes.results(job.id)
    assert (found.state, found.result) == (JobState.DISCARDED, None)
    assert found.error is not None
    assert found.error.type == "Declined"


def test_waiting_ends_when_the_job_does(world: World) -> None:
    """Section 8.2: the pauses grow, and the result comes with the next look."""
    job = active(world.backend)
    slept: list[float] = []

    def pause(seconds: float) -> None:
        slept.append(seconds)
        world.clock.advance(s=seconds)
        if len(slept) == 3:
            world.backend.jobs.ack(job.id, "w", RawJson("3"))

    waiting = Results(world.backend.changer, pause, 10_000)
    assert waiting.wait(job.id, 30_000).result == "3"
    assert slept == [0.1, 0.15, 0.225]


@pytest.mark.parametrize(("asked_ms", "allowed_ms"), [(30_000, 2_000), (500, 500), (0, 0)])
def test_waiting_is_bounded_by_the_request_and_by_the_settings(
    world: World, asked_ms: int, allowed_ms: int
) -> None:
    """Waiting in Lambda costs more than asking again: decision 25."""
    job = active(world.backend)
    slept: list[float] = []
    waiting = Results(world.backend.changer, slept.append, 2_000)
    with pytest.raises(ResultPendingError) as pending:
        waiting.wait(job.id, asked_ms)
    assert round(sum(slept) * 1000) == allowed_ms
    assert pending.value.details["current_state"] == "active"


def test_the_default_is_not_to_wait(world: World) -> None:
    """One read, and the client asks again."""
    assert Settings().result_wait_ms == 0
    job = active(world.backend)
    with pytest.raises(ResultPendingError):
        world.backend.outcomes.results.wait(job.id, 30_000)


def test_pauses_are_short_at_first_and_make_up_the_whole() -> None:
    """None is longer than a second."""
    made = list(pauses(10_000))
    assert sum(made) == 10_000
    assert made[0] == 100
    assert max(made) == 1000


def test_jobs_that_are_not_there_cost_three_calls_however_many(world: World) -> None:
    """One read, one look at the batches that are open, and one more read."""
    unknown = [f"01990000-0000-7000-8000-{number:012x}" for number in range(900, 1000)]
    before = len(world.faults.calls)
    assert [*world.backend.outcomes.results.many(unknown).values()] == [None] * 100
    assert world.faults.calls[before:] == ["load_many", "open", "load_many"]


def test_outcomes_of_several_jobs_come_at_once(world: World) -> None:
    """Section 9.3: null for what there is not, for jobs that are not over, and pruned results."""
    over, short = done(world), done(world, result_ttl=60)
    waits = world.backend.jobs.push(Job("report.make", [])).record
    assert waits is not None
    world.clock.advance(s=61)
    found = world.backend.outcomes.results.many([over.id, short.id, waits.id, UNKNOWN, "job_1"])
    states = {job_id: (job.state, job.result) if job else None for job_id, job in found.items()}
    assert states == {
        over.id: (JobState.COMPLETED, '{"n": 1}'),
        short.id: (JobState.COMPLETED, None),
        waits.id: (JobState.AVAILABLE, None),
        UNKNOWN: None,
        "job_1": None,
    }


def test_too_many_outcomes_for_one_answer_are_refused_before_they_are_read(world: World) -> None:
    """By number, and by their sizes, which are known."""
    with pytest.raises(InvalidRequestError):
        world.backend.outcomes.results.many([UNKNOWN] * 101)
    with pytest.raises(InvalidRequestError):
        world.backend.outcomes.results.many([])
    jobs = [done(world, f'"{"x" * 1_000_000}"').id for _ in range(5)]
    with pytest.raises(PayloadTooLargeError) as refused:
        world.backend.outcomes.results.many(jobs)
    assert refused.value.details["max_bytes"] == 4_000_000
    assert len(world.backend.outcomes.results.many(jobs[:3])) == 3


@pytest.mark.parametrize(("job_id", "kind"), [(UNKNOWN, NotFoundError), ("x", InvalidRequestError)])
def test_the_outcome_of_no_job(world: World, job_id: str, kind: type[OjsError]) -> None:
    """It is not waited for either."""
    for ask in (
        world.backend.outcomes.results,
        lambda one: world.backend.outcomes.results.wait(one, 1000),
    ):
        with pytest.raises(kind):
            ask(job_id)
