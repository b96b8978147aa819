"""The services over the model: what a job goes through, and what the clock alone does to it."""

from __future__ import annotations

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import (
    ConflictError,
    DuplicateError,
    InvalidRequestError,
    NotFoundError,
)
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.json_text import Member, RawJson, parse_object
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.job_steps import fetched, pushed
from tests.simulation.world import World

ERROR = parse_object('{"type": "Broken", "message": "it broke"}')


def state(world: World, record: JobRecord) -> JobState:
    """The job's state as INFO shows it."""
    return world.backend.jobs.info(record.id).state


def fail(world: World, record: JobRecord, error: dict[str, Member] | None = None) -> JobRecord:
    """Fail a job."""
    return world.backend.jobs.fail(record.id, "w1", error or ERROR)


def test_a_job_goes_from_push_to_ack_and_leaves_no_message(world: World) -> None:
    """The ordinary life: available, active, completed; its message is gone afterwards."""
    job = pushed(world.backend)
    (claimed,) = fetched(world.backend, worker_id="w1")
    assert (claimed.id, claimed.attempt, claimed.state) == (job.id, 1, JobState.ACTIVE)
    done = world.backend.jobs.ack(job.id, "w1", RawJson('{"ok":true}'))
    assert done.state is JobState.COMPLETED
    assert world.backend.jobs.info(job.id).result == '{"ok":true}'
    assert world.held() == []


def test_priority_then_enqueue_order_decides_however_messages_arrive(world: World) -> None:
    """ENV-031, ENV-032: also when SQS hands out the newest message first."""
    jobs = [pushed(world.backend, priority=p) for p in (0, -5, 10, 0, 10)]
    world.receive_newest_first()
    order = [fetched(world.backend, worker_id="w1")[0].id for _ in jobs]
    assert order == [jobs[i].id for i in (2, 4, 0, 3, 1)]
    assert fetched(world.backend, worker_id="w1") == []


def test_one_request_may_claim_several_jobs_in_order(world: World) -> None:
    """OP-025: count."""
    jobs = [pushed(world.backend) for _ in range(4)]
    assert [job.id for job in fetched(world.backend, worker_id="w1", count=3)] == [
        job.id for job in jobs[:3]
    ]


def test_every_message_serves_one_job_even_when_it_names_another(world: World) -> None:
    """Fetching in the other order than messages arrive loses neither a job nor a message."""
    world.receive_newest_first()
    for _ in range(5):
        pushed(world.backend)
    for _ in range(5):
        (job,) = fetched(world.backend, worker_id="w1")
        world.backend.jobs.ack(job.id, "w1", None)
    world.clock.advance(s=4000)
    assert fetched(world.backend, worker_id="w1") == []
    assert world.held() == []


def test_a_job_whose_message_was_lost_is_still_fetched(world: World) -> None:
    """The head of the queue finds it."""
    job = pushed(world.backend)
    world.lose_messages()
    assert fetched(world.backend, worker_id="w1")[0].id == job.id


def test_a_message_delivered_twice_runs_the_job_once(world: World) -> None:
    """A duplicate costs a call, never correctness."""
    job = pushed(world.backend)
    world.backend.jobs.new_jobs.job_messages.send_for([job], world.clock.now())
    assert len(fetched(world.backend, worker_id="w1")) == 1
    assert fetched(world.backend, worker_id="w1") == []


def test_a_scheduled_job_is_available_from_its_due_time_on_only(world: World) -> None:
    """ENV-041, ENV-042: at the boundary, without any sweep."""
    job = pushed(world.backend, scheduled_at="+PT10S")
    assert state(world, job) is JobState.SCHEDULED
    world.clock.advance(ms=9_999)
    assert fetched(world.backend, worker_id="w1") == []
    world.clock.advance(ms=1)
    (claimed,) = fetched(world.backend, worker_id="w1")
    assert (claimed.id, claimed.enqueued_at) == (job.id, job.scheduled_at)


def test_a_failed_job_comes_back_after_its_backoff_and_not_before(world: World) -> None:
    """STATE-015: the specified delay to the millisecond, the order of calls item first."""
    job = pushed(world.backend, retry={"jitter": False, "max_attempts": 3})
    fetched(world.backend, worker_id="w1")
    failed = fail(world, job)
    assert (failed.state, failed.retry_delay_ms) == (JobState.RETRYABLE, 1000)
    world.clock.advance(ms=999)
    assert fetched(world.backend, worker_id="w1") == []
    world.clock.advance(ms=1)
    assert fetched(world.backend, worker_id="w1")[0].attempt == 2
    assert fail(world, job).retry_delay_ms == 2000
    world.clock.advance(s=2)
    fetched(world.backend, worker_id="w1")
    assert fail(world, job).state is JobState.DISCARDED


def test_long_backoffs_send_a_message_of_their_own(world: World) -> None:
    """Beyond a minute no message stays hidden in flight."""
    job = pushed(world.backend, retry={"jitter": False, "initial_interval": "PT5M"})
    fetched(world.backend, worker_id="w1")
    fail(world, job)
    (held,) = world.held()
    assert held.handle == ""
    world.clock.advance(s=300)
    assert fetched(world.backend, worker_id="w1")[0].attempt == 2


def test_a_reservation_that_expires_counts_as_a_failed_attempt(world: World) -> None:
    """STATE-014: available at once, with the error in the history, the late ACK refused."""
    job = pushed(world.backend)
    fetched(world.backend, worker_id="w1", visibility_timeout_ms=5_000)
    world.clock.advance(s=5)
    back = world.backend.jobs.info(job.id)
    assert (back.state, back.attempt, back.started_at) == (JobState.AVAILABLE, 1, None)
    assert back.failures[-1].type == "visibility_timeout"
    with pytest.raises(ConflictError):
        world.backend.jobs.ack(job.id, "w1", None)
    assert fetched(world.backend, worker_id="w2")[0].attempt == 2
    with pytest.raises(ConflictError):
        world.backend.jobs.ack(job.id, "w1", None)
    assert state(world, job) is JobState.ACTIVE


def test_an_execution_timeout_fails_the_attempt_without_the_worker(world: World) -> None:
    """ENV-037: error type timeout, by the retry policy, whatever heartbeats say."""
    job = pushed(world.backend, timeout_s=2, retry={"jitter": False})
    fetched(world.backend, worker_id="w1")
    world.clock.advance(s=1)
    world.backend.workers.heartbeat("w1", [job.id])
    world.clock.advance(s=1)
    after = world.backend.jobs.info(job.id)
    assert (after.state, after.failures[-1].type) == (JobState.RETRYABLE, "timeout")
    world.clock.advance(s=1)
    assert fetched(world.backend, worker_id="w1")[0].attempt == 2


def test_a_heartbeat_extends_and_a_foreign_one_changes_nothing(world: World) -> None:
    """WRK-014 and promise 2."""
    job = pushed(world.backend, visibility_timeout_s=3)
    fetched(world.backend, worker_id="w1")
    world.clock.advance(s=2)
    assert world.backend.workers.heartbeat("w2", [job.id]).lost == (job.id,)
    assert world.backend.workers.heartbeat("w1", [job.id]).extended == (job.id,)
    world.clock.advance(s=2)
    assert state(world, job) is JobState.ACTIVE
    assert fetched(world.backend, worker_id="w2") == []
    world.clock.advance(s=1)
    assert fetched(world.backend, worker_id="w2")[0].attempt == 2


def test_the_holder_of_a_cancelled_job_gets_to_know_it(world: World) -> None:
    """OP-045, OP-046: the ACK is refused, the heartbeat says why, the message is gone."""
    job = pushed(world.backend)
    fetched(world.backend, worker_id="w1")
    change = world.backend.jobs.cancel(job.id)
    assert (change.before.state, change.after.state) == (JobState.ACTIVE, JobState.CANCELLED)
    assert world.backend.workers.heartbeat("w1", [job.id]).cancelled == (job.id,)
    with pytest.raises(ConflictError):
        world.backend.jobs.ack(job.id, "w1", None)
    with pytest.raises(ConflictError):
        world.backend.jobs.cancel(job.id)
    assert world.held() == []


@pytest.mark.parametrize("ending", ["cancel", "fail"])
def test_no_job_ends_before_it_began_whichever_clock_is_asked(world: World, ending: str) -> None:
    """The functions' clocks differ, and a request may wait between its clock and its write."""
    job = pushed(world.backend)
    (claimed,) = fetched(world.backend, worker_id="w1")
    world.clock.advance(ms=-40)
    after = world.backend.jobs.cancel(job.id).after if ending == "cancel" else fail(world, job)
    ended_at = after.cancelled_at or after.failures[-1].occurred_at
    assert ended_at == claimed.started_at


def test_an_expired_job_is_never_executed(world: World) -> None:
    """ENV-044, ENV-045: at the very instant."""
    job = pushed(world.backend, expires_at="+PT2S")
    world.clock.advance(s=2)
    assert fetched(world.backend, worker_id="w1") == []
    gone = world.backend.jobs.info(job.id)
    assert (gone.state, gone.discarded_at, gone.completed_at) == (
        JobState.DISCARDED,
        job.expires_at,
        None,
    )


def test_a_pending_job_waits_for_its_activation(world: World) -> None:
    """STATE-006, STATE-008: the pending flag outweighs a schedule."""
    job = pushed(world.backend, pending=True, scheduled_at="+PT1S")
    world.clock.advance(s=5)
    assert fetched(world.backend, worker_id="w1") == []
    world.backend.jobs.activate(job.id)
    assert fetched(world.backend, worker_id="w1")[0].id == job.id
    with pytest.raises(ConflictError):
        world.backend.jobs.activate(job.id)


def test_the_same_push_again_finds_its_job_and_another_is_refused(world: World) -> None:
    """A repeated request makes no second job; another envelope under the id is a duplicate."""
    job = pushed(world.backend)
    again = world.backend.jobs.push(Job("demo.echo", [1], id=job.id))
    assert (again.is_new, again.record) == (False, job)
    with pytest.raises(DuplicateError):
        world.backend.jobs.push(Job("demo.echo", [2], id=job.id))
    assert len(fetched(world.backend, worker_id="w1", count=5)) == 1


def test_the_same_push_again_finds_its_job_whose_expiry_an_operator_ended(world: World) -> None:
    """A relative expiry means a later instant the second time; the retry took the first one off."""
    policy = {"on_exhaustion": "dead_letter"}
    job = pushed(world.backend, expires_at="+PT5S", retry=policy)
    world.clock.advance(s=5)
    assert state(world, job) is JobState.DISCARDED
    assert world.backend.dead_letters.service.retry(job.id).expires_at is None
    again = world.backend.jobs.push(
        Job("demo.echo", [1], id=job.id, expires_at="+PT5S", retry=policy)
    )
    assert not again.is_new


def test_a_batch_is_stored_whole_or_not_at_all(world: World) -> None:
    """OP-013: one bad or taken job, and none is stored."""
    taken = pushed(world.backend)
    jobs = [Job("demo.echo", [n]) for n in range(3)]
    with pytest.raises(DuplicateError):
        world.backend.jobs.push.all([*jobs, Job("demo.echo", [9], id=taken.id)])
    assert set(world.stored.jobs) == {taken.id}
    assert len(world.backend.jobs.push.all([Job("demo.echo", [n]) for n in range(3)])) == 3
    assert len(fetched(world.backend, worker_id="w1", count=9)) == 4


def test_queues_are_emptied_strictly_from_left_to_right(world: World) -> None:
    """OP-016: also when the later queue holds a higher priority."""
    late = pushed(world.backend, queue="b", priority=100)
    early = pushed(world.backend, queue="a")
    request = FetchRequest(("a", "b"), count=2)
    assert [job.id for job in world.backend.jobs.fetch(request)] == [early.id, late.id]


def test_a_dead_letter_is_listed_retried_and_deleted(world: World) -> None:
    """L1-DLQ: attempt 0, errors cleared, history kept apart."""
    policy = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
    job = pushed(world.backend, retry=policy)
    fetched(world.backend, worker_id="w1")
    assert fail(world, job).state is JobState.DISCARDED
    assert [dead.id for dead in world.backend.dead_letters.service.list().jobs] == [job.id]
    again = world.backend.dead_letters.service.retry(job.id)
    assert (again.state, again.attempt, again.failures) == (JobState.AVAILABLE, 0, ())
    assert len(again.past_failures) == 1
    assert world.backend.dead_letters.service.list().jobs == ()
    assert fetched(world.backend, worker_id="w1")[0].attempt == 1
    fail(world, job)
    world.backend.dead_letters.service.delete(job.id)
    with pytest.raises(NotFoundError):
        world.backend.jobs.info(job.id)


def test_a_job_scheduled_beyond_sqs_s_delay_is_armed_once_by_the_sweep(world: World) -> None:
    """The message is sent when the due time comes within 15 minutes, and only then."""
    job = pushed(world.backend, scheduled_at="+PT1H")
    assert world.held() == []
    armed = 0
    for _ in range(59):
        armed += world.backend.upkeep.sweep.tick().armed
        world.clock.advance(s=60)
    assert armed == 1
    world.clock.advance(s=60)
    (received,) = world.messages.receive("default", 10, 30)
    assert received.message.job_id == job.id


def test_the_sweep_sends_a_message_again_for_a_job_that_lost_it(world: World) -> None:
    """A queue with ready jobs and no message gets messages."""
    pushed(world.backend)
    world.lose_messages()
    assert world.backend.upkeep.sweep.tick().covered == 0
    world.clock.advance(s=61)
    assert world.backend.upkeep.sweep.tick().covered == 1
    assert world.backend.upkeep.sweep.tick().covered == 0


def test_a_message_whose_job_lags_in_the_index_is_not_lost(world: World) -> None:
    """Two fetchers, the index shows neither job's newest state: both jobs are claimed."""
    first = pushed(world.backend)
    second = pushed(world.backend)
    world.index_shows(second.id, None)
    world.receive_newest_first()
    (a,) = fetched(world.backend, worker_id="a")
    world.index_shows(a.id, second)
    (b,) = fetched(world.backend, worker_id="b")
    assert {a.id, b.id} == {first.id, second.id}


def test_a_reservation_without_a_message_is_found_when_it_expires(world: World) -> None:
    """The queue's waiting list shows what is due, also where no message can bring it back."""
    job = pushed(world.backend)
    world.lose_messages()
    fetched(world.backend, worker_id="w1", visibility_timeout_ms=1000)
    world.clock.advance(s=1)
    (again,) = fetched(world.backend, worker_id="w2")
    assert (again.id, again.attempt) == (job.id, 2)


def test_two_who_settle_one_job_at_once_agree(world: World) -> None:
    """The slower one meets the version that the faster one wrote, and goes on from there."""
    job = pushed(world.backend, scheduled_at="+PT1S")
    world.clock.advance(s=1)
    settled = world.backend.jobs.info(job.id)
    assert world.backend.jobs.info.changer.settled(job, world.clock.now()) == settled


def test_a_fetch_claims_no_more_than_can_be_answered(world: World) -> None:
    """Lambda answers with 6 MB at most; what is left stays available."""
    for _ in range(8):
        pushed(world.backend, args=["x" * 900_000])
    assert len(fetched(world.backend, worker_id="w1", count=8)) == 4
    assert len(fetched(world.backend, worker_id="w1", count=8)) == 4


def test_a_heartbeat_without_a_name_is_judged_by_the_jobs_state(world: World) -> None:
    """Many clients send no worker id."""
    job = pushed(world.backend, visibility_timeout_s=3)
    fetched(world.backend, worker_id="w1")
    world.clock.advance(s=2)
    assert world.backend.workers.heartbeat(None, [job.id]).extended == (job.id,)
    assert world.stored.workers == {}
    with pytest.raises(InvalidRequestError):
        world.backend.workers.heartbeat(None, [])
