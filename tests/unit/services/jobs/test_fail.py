"""NACK with `requeue`: a worker gives a job back, and the attempt does not count."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ojs_aws.domain.errors import ConflictError, InvalidRequestError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.held_job import attempt_of
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.queues.tallies import Tally, TallyKind
from ojs_aws.services.events import Commit, events_of
from tests.job_steps import fetched, pushed
from tests.simulation.world import World, count_changes
from tests.unit.services.test_flow import ERROR, fail, state

WORKER = "w1"
REASON = parse_object('{"type": "ShutdownError", "message": "bye", "retryable": false}')
FIRM: Any = {"max_attempts": 2, "jitter": False, "non_retryable_errors": ["Shutdown*"]}


def give_back(world: World, job: JobRecord, error: Any = REASON) -> JobRecord:
    """Requeue a claimed job."""
    return world.backend.jobs.fail.requeue(job.id, WORKER, error, which=attempt_of(job))


@pytest.mark.parametrize("error", [REASON, None])
def test_a_job_that_is_given_back_is_available_at_once(world: World, error: Any) -> None:
    """Whatever its error says of retries, which outweighs its policy; the error is optional."""
    pushed(world.backend, retry=FIRM)
    (job,) = fetched(world.backend, worker_id="w1")
    after = give_back(world, job, error)
    assert (after.state, after.attempt, after.reservation) == (JobState.AVAILABLE, 1, None)
    assert [failure.type for failure in after.failures] == (["ShutdownError"] if error else [])
    (again,) = fetched(world.backend, worker_id="w2")
    assert (again.id, again.attempt) == (job.id, 2)
    assert len(world.held()) == 1


def test_a_job_that_is_given_back_stands_where_its_time_puts_it(world: World) -> None:
    """Behind those of its priority that were available before, as after a reservation's end."""
    first = pushed(world.backend)
    (job,) = fetched(world.backend, worker_id="w1")
    second = pushed(world.backend)
    world.clock.advance(ms=1)
    give_back(world, job)
    assert [fetched(world.backend, worker_id="w1")[0].id for _ in range(2)] == [second.id, first.id]


def test_attempts_given_back_do_not_count_against_the_maximum(world: World) -> None:
    """`attempt` never goes down (core, section 5): the uncounted ones are subtracted."""
    pushed(world.backend, retry=FIRM)
    for number in range(1, 6):
        (job,) = fetched(world.backend, worker_id="w1")
        assert job.attempt == number
        give_back(world, job)
    (job,) = fetched(world.backend, worker_id="w1")
    assert fail(world, job).state is JobState.RETRYABLE
    world.clock.advance(s=60)
    (job,) = fetched(world.backend, worker_id="w1")
    assert (job.attempt, job.counted_attempts) == (7, 2)
    assert fail(world, job).state is JobState.DISCARDED


def test_time_ends_no_job_whose_attempts_were_given_back(world: World) -> None:
    """A reservation's end looks at the counted attempts, too."""
    job = pushed(world.backend, retry={"max_attempts": 1})
    (claimed,) = fetched(world.backend, worker_id="w1")
    give_back(world, claimed)
    (claimed,) = fetched(world.backend, worker_id="w1", visibility_timeout_ms=1000)
    world.clock.advance(s=1)
    assert state(world, job) is JobState.DISCARDED
    job = pushed(world.backend, retry={"max_attempts": 2})
    (claimed,) = fetched(world.backend, worker_id="w1")
    give_back(world, claimed)
    fetched(world.backend, worker_id="w1", visibility_timeout_ms=1000)
    world.clock.advance(s=1)
    assert state(world, job) is JobState.AVAILABLE


def test_the_backoff_grows_by_the_counted_attempts(world: World) -> None:
    """A deployment does not make the next retry wait longer."""
    policy: Any = {"max_attempts": 9, "initial_interval": "PT1S", "jitter": False}
    pushed(world.backend, retry=policy)
    for _ in range(4):
        give_back(world, fetched(world.backend, worker_id="w1")[0])
    (job,) = fetched(world.backend, worker_id="w1")
    assert fail(world, job).retry_delay_ms == 1000


def test_an_operators_retry_counts_from_zero(world: World) -> None:
    """What was given back in the life before is forgotten with its attempts."""
    pushed(world.backend, retry={"max_attempts": 1, "on_exhaustion": "dead_letter"})
    give_back(world, fetched(world.backend, worker_id="w1")[0])
    (job,) = fetched(world.backend, worker_id="w1")
    fail(world, job)
    again = world.backend.dead_letters.service.retry(job.id)
    assert (again.attempt, again.uncounted_attempts) == (0, 0)
    (job,) = fetched(world.backend, worker_id="w1")
    assert fail(world, job).state is JobState.DISCARDED


def test_only_the_holder_gives_a_job_back(world: World) -> None:
    """Another worker, an attempt that is over, or a second time: refused, and nothing changes."""
    pushed(world.backend)
    (first,) = fetched(world.backend, worker_id="w1")
    with pytest.raises(ConflictError):
        world.backend.jobs.fail.requeue(first.id, "w2", None)
    give_back(world, first)
    with pytest.raises(ConflictError) as refused:
        give_back(world, first)
    assert refused.value.details["current_state"] == "available"
    (second,) = fetched(world.backend, worker_id="w1")
    with pytest.raises(ConflictError):
        give_back(world, first)
    assert world.stored.jobs[first.id] == second


def test_a_repeated_fail_does_not_end_an_attempt_after_a_requeue(world: World) -> None:
    """The same worker holds the job again."""
    pushed(world.backend)
    (first,) = fetched(world.backend, worker_id="w1")
    give_back(world, first)
    (second,) = fetched(world.backend, worker_id="w1")
    with pytest.raises(ConflictError):
        world.backend.jobs.fail(first.id, WORKER, ERROR, which=attempt_of(first))
    assert world.stored.jobs[first.id] == second


def test_a_malformed_reason_changes_nothing(world: World) -> None:
    """As with every FAIL."""
    pushed(world.backend)
    (job,) = fetched(world.backend, worker_id="w1")
    with pytest.raises(InvalidRequestError):
        give_back(world, job, parse_object('{"message": 5}'))
    assert world.stored.jobs[job.id] == job


def test_a_job_that_was_fetched_without_a_message_gets_one(world: World) -> None:
    """For the workers that only a message wakes."""
    pushed(world.backend)
    world.lose_messages()
    (job,) = fetched(world.backend, worker_id="w1")
    give_back(world, job)
    (received,) = world.messages.receive("default", 1, 30)
    assert received.message.job_id == job.id


def test_places_in_limits_are_given_back(world: World) -> None:
    """Another job may begin in its place."""
    limit = {"key": "api", "concurrency": 1}
    jobs = [pushed(world.backend, rate_limit=limit) for _ in range(2)]
    (first,) = fetched(world.backend, worker_id="w1")
    assert fetched(world.backend, worker_id="w1") == []
    give_back(world, first)
    assert world.backend.limits.get("api").bucket.active == 0
    assert fetched(world.backend, worker_id="w1")[0].id in {job.id for job in jobs}


def test_a_requeue_publishes_that_the_job_is_available_and_no_failure(world: World) -> None:
    """`job.failed` would ring alarms for a deployment, also for what failed long before."""
    pushed(world.backend, retry={"max_attempts": 5})
    (job,) = fetched(world.backend, worker_id="w1")
    fail(world, job)
    world.clock.advance(s=60)
    (job,) = fetched(world.backend, worker_id="w1")
    after = give_back(world, job, None)
    published = events_of(job, after, Commit(world.clock.now()))
    assert [event.type for event in published] == ["job.enqueued"]
    assert json.loads(published[0].data)["attempt"] == 2


def test_a_requeue_is_not_counted_as_a_retry(world: World) -> None:
    """Of what a queue did."""
    count_changes(world)
    pushed(world.backend)
    (job,) = fetched(world.backend, worker_id="w1")
    after = give_back(world, job)
    tally = Tally()
    tally.count(job, after)
    assert tally.counts[TallyKind.RETRIED] == 0
    tally.count(job, world.backend.jobs.info(job.id))
    assert not tally
