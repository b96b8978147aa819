"""NACK with a delay: a snooze is a requeue for later, and a failure may name its own backoff."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ojs_aws.domain.errors import ConflictError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.held_job import attempt_of
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.queues.tallies import Tally, TallyKind
from ojs_aws.services.events import Commit, events_of
from tests.job_steps import fetched, pushed
from tests.simulation.world import World, count_changes
from tests.unit.services.test_flow import ERROR, fail, state

WORKER = "w1"
CLOSED = parse_object('{"type": "SnoozeError", "code": "SNOOZE", "message": "The shop is closed."}')
MINUTE_MS = 60_000


def snooze(world: World, job: JobRecord, delay_ms: int = MINUTE_MS, error: Any = CLOSED) -> Any:
    """Snooze a claimed job."""
    which = attempt_of(job)
    return world.backend.jobs.fail.requeue(job.id, WORKER, error, which=which, delay_ms=delay_ms)


@pytest.mark.parametrize("error", [CLOSED, None])
def test_a_snoozed_job_is_due_after_the_delay(world: World, error: Any) -> None:
    """Retryable until that instant, and available from it on; people see why."""
    record = pushed(world.backend, retry={"max_attempts": 1})
    (job,) = fetched(world.backend, worker_id="w1")
    after = snooze(world, job, error=error)
    assert (after.state, after.attempt, after.reservation) == (JobState.RETRYABLE, 1, None)
    assert after.next_attempt_at == world.clock.now() + MINUTE_MS
    assert after.error.type == "SnoozeError"
    world.clock.advance(ms=MINUTE_MS - 1)
    assert (fetched(world.backend, worker_id="w1"), state(world, record)) == (
        [],
        JobState.RETRYABLE,
    )
    world.clock.advance(ms=1)
    (again,) = fetched(world.backend, worker_id="w1")
    assert (again.id, again.attempt, again.counted_attempts) == (job.id, 2, 1)
    assert len(world.held()) == 1


@pytest.mark.parametrize("delay_ms", [0, 1, 61_000, 30 * 86_400_000])
def test_a_snooze_may_be_short_or_long(world: World, delay_ms: int) -> None:
    """Whether the message is hidden or sent again, and whatever SQS can delay."""
    pushed(world.backend)
    (job,) = fetched(world.backend, worker_id="w1")
    snooze(world, job, delay_ms)
    world.clock.advance(ms=delay_ms)
    (again,) = fetched(world.backend, worker_id="w1")
    assert again.id == job.id


def test_snoozes_do_not_count_against_the_maximum(world: World) -> None:
    """Nor do they make the backoff of a failure longer."""
    pushed(world.backend, retry={"max_attempts": 2, "jitter": False, "initial_interval": "PT5S"})
    for _ in range(5):
        (job,) = fetched(world.backend, worker_id="w1")
        snooze(world, job)
        world.clock.advance(ms=MINUTE_MS)
    (job,) = fetched(world.backend, worker_id="w1")
    assert fail(world, job).retry_delay_ms == 5000
    world.clock.advance(s=5)
    (job,) = fetched(world.backend, worker_id="w1")
    assert fail(world, job).state is JobState.DISCARDED


def test_a_snooze_replaces_the_one_before_it_in_the_history(world: World) -> None:
    """A job that waits often keeps its real failures, and its item stays small."""
    record = pushed(world.backend, retry={"max_attempts": 9, "jitter": False})
    (job,) = fetched(world.backend, worker_id="w1")
    fail(world, job)
    for _ in range(30):
        world.clock.advance(ms=MINUTE_MS)
        (job,) = fetched(world.backend, worker_id="w1")
        snooze(world, job)
    after = world.backend.jobs.info(record.id)
    assert [failure.code == "SNOOZE" for failure in after.failures] == [False, True]
    assert after.failures[-1].attempt == 31


def test_only_the_holder_snoozes_a_job_and_only_once(world: World) -> None:
    """A repeat does not put off an attempt that runs meanwhile."""
    pushed(world.backend)
    (job,) = fetched(world.backend, worker_id="w1")
    with pytest.raises(ConflictError):
        world.backend.jobs.fail.requeue(job.id, "w2", CLOSED, delay_ms=1)
    snooze(world, job, 0)
    with pytest.raises(ConflictError):
        snooze(world, job)
    (again,) = fetched(world.backend, worker_id="w1")
    with pytest.raises(ConflictError):
        snooze(world, job)
    assert world.backend.jobs.info(job.id).reservation == again.reservation


def test_a_snooze_gives_places_in_limits_back(world: World) -> None:
    """Another job of the limit begins while this one waits."""
    limit: Any = {"key": "api", "concurrency": 1}
    jobs = [pushed(world.backend, rate_limit=limit) for _ in range(2)]
    (first,) = fetched(world.backend, worker_id="w1")
    snooze(world, first)
    (second,) = fetched(world.backend, worker_id="w1")
    assert {first.id, second.id} == {job.id for job in jobs}


def test_a_snooze_makes_a_retrying_event_and_no_failure(world: World) -> None:
    """`job.failed` would ring alarms although nothing failed."""
    pushed(world.backend)
    (job,) = fetched(world.backend, worker_id="w1")
    after = snooze(world, job)
    (event,) = events_of(job, after, Commit(world.clock.now()))
    data = json.loads(event.data)
    assert (event.type, data["attempt"]) == ("job.retrying", 1)
    assert data["error"]["code"] == "SNOOZE"


def test_a_snooze_is_not_counted_as_a_retry(world: World) -> None:
    """Of what a queue did."""
    count_changes(world)
    pushed(world.backend)
    (job,) = fetched(world.backend, worker_id="w1")
    after = snooze(world, job)
    tally = Tally()
    tally.count(job, after)
    assert tally.counts[TallyKind.RETRIED] == 0


def test_a_failure_may_name_the_delay_of_its_retry(world: World) -> None:
    """It counts as every failure, and what the policy forbids is not retried."""
    pushed(world.backend, retry={"max_attempts": 2, "initial_interval": "PT1S"})
    (job,) = fetched(world.backend, worker_id="w1")
    after = world.backend.jobs.fail(job.id, WORKER, ERROR, delay_ms=MINUTE_MS)
    assert (after.state, after.retry_delay_ms) == (JobState.RETRYABLE, MINUTE_MS)
    assert (after.counted_attempts, after.next_attempt_at) == (1, world.clock.now() + MINUTE_MS)
    world.clock.advance(ms=MINUTE_MS)
    (job,) = fetched(world.backend, worker_id="w1")
    after = world.backend.jobs.fail(job.id, WORKER, ERROR, delay_ms=MINUTE_MS)
    assert after.state is JobState.DISCARDED


def test_a_job_that_expires_meanwhile_is_discarded(world: World) -> None:
    """As any job that waits."""
    record = pushed(world.backend, expires_at="+PT30S")
    (job,) = fetched(world.backend, worker_id="w1")
    snooze(world, job)
    world.clock.advance(s=30)
    assert state(world, record) is JobState.DISCARDED
