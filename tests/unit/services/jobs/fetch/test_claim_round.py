"""Messages of a batch claimed together: the order of the queue, and faults in the middle."""

from __future__ import annotations

from contextlib import suppress

import pytest

from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.queues import ReceivedMessage
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.fetch.service import Claimed
from tests.job_steps import pushed
from tests.simulation.faults import Fault, ProcessDiedError
from tests.simulation.world import World


def receive(world: World, limit: int = 10) -> list[ReceivedMessage]:
    """What the event source mapping hands over."""
    return world.messages.receive("default", limit, 60)


def claim(world: World, received: list[ReceivedMessage]) -> list[Claimed]:
    """Claim as a Lambda worker does."""
    return world.backend.jobs.fetch.claim_messages("default", received, "w1", 60_000)


def ids(outcomes: list[Claimed]) -> list[str]:
    """The claimed jobs, in the order of their messages."""
    return [each.record.id for each in outcomes if each.record]


def test_a_batch_claims_the_first_in_line_whatever_its_messages_name(world: World) -> None:
    """Promise 4: two messages of low jobs, two high jobs whose messages are still in the queue."""
    for _ in range(2):
        pushed(world.backend)
    received = receive(world)
    high = [pushed(world.backend, priority=5).id, pushed(world.backend, priority=9).id]
    assert set(ids(claim(world, received))) == set(high)


def test_each_job_of_a_batch_has_its_own_message(world: World) -> None:
    """So that each is deleted, hidden and extended by itself."""
    for priority in range(8):
        pushed(world.backend, priority=priority)
    received = receive(world)
    outcomes = claim(world, received)
    for message, outcome in zip(received, outcomes, strict=True):
        assert outcome.record is not None
        assert outcome.record.reservation is not None
        assert outcome.record.reservation.message_handle == message.handle
        assert outcome.record.id == message.message.job_id


def test_a_message_without_a_job_differs_from_one_whose_job_is_held(world: World) -> None:
    """The first is done with, the second must come back when the reservation ends."""
    gone, held, fresh = pushed(world.backend).id, pushed(world.backend).id, pushed(world.backend).id
    received = receive(world)
    world.backend.jobs.cancel(gone)
    claim(world, [each for each in received if each.message.job_id == held])
    outcomes = dict(
        zip([each.message.job_id for each in received], claim(world, received), strict=True)
    )
    assert outcomes[gone] == Claimed(None, keep_message=False)
    assert outcomes[held] == Claimed(None, keep_message=True)
    assert ids(list(outcomes.values())) == [fresh]


def test_a_paused_queue_keeps_its_messages(world: World) -> None:
    """PAUSE: nothing is claimed, nothing is lost."""
    pushed(world.backend)
    received = receive(world)
    world.registry.pause("default", (), world.clock.now())
    assert claim(world, received) == [Claimed(None, keep_message=True)]


@pytest.mark.parametrize("fault", [Fault.FAILS_BEFORE, Fault.FAILS_AFTER])
def test_an_error_of_one_claim_leaves_the_other_jobs_to_the_worker(
    world: World, fault: Fault
) -> None:
    """They are executed; the message that is left comes back."""
    for _ in range(4):
        pushed(world.backend)
    received = receive(world)
    third_claim = len(world.faults.calls) + 5  # head, due, scopes, and two claims before it
    world.faults.faulty, world.faults.fault = third_claim, fault
    outcomes = claim(world, received)
    assert world.faults.calls[third_claim] == "claim"
    assert len(ids(outcomes)) == 3
    assert [each.keep_message for each in outcomes if each.record is None] == [True]


def test_an_attempt_never_starts_before_the_one_before_it_ended(world: World) -> None:
    """Found by a soak: a slow round claims a job that another worker lost meanwhile."""
    pushed(world.backend, priority=1)
    job_id = pushed(world.backend).id
    received = receive(world)
    first_claim = len(world.faults.calls) + 3

    def meanwhile(number: int) -> None:
        if number != first_claim:
            return
        world.clock.advance(s=1)
        world.backend.jobs.fetch(FetchRequest(("default",), 1, "w2", 100))
        world.clock.advance(s=1)
        world.backend.jobs.info(job_id)

    world.faults.afterwards = meanwhile
    _, second = claim(world, received)
    assert second.record is not None
    assert (second.record.id, second.record.attempt) == (job_id, 2)
    assert second.record.enqueued_at == world.clock.at - 900
    assert second.record.started_at == world.clock.at


def test_whatever_fails_in_a_batch_each_job_ends_once(world: World) -> None:
    """Promise 1: inject each fault into each call of a claim, then let the world heal."""
    count = 0
    for fault in Fault:
        for faulty in range(12):
            world = World()
            jobs = {pushed(world.backend).id for _ in range(3)}
            jobs.add(pushed(world.backend, scheduled_at="+PT1S").id)
            world.clock.advance(s=1)
            received = receive(world)
            base = len(world.faults.calls)
            world.faults.faulty, world.faults.fault = base + faulty, fault
            finish(world, received)
            count += len(world.faults.calls) > base + faulty
            world.faults.faulty = None
            for _ in range(8):
                world.clock.advance(s=61)
                world.backend.upkeep.sweep.tick()
                finish(world, receive(world))
            states = {job_id: world.stored.jobs[job_id].state for job_id in jobs}
            assert set(states.values()) == {JobState.COMPLETED}, (fault, faulty, states)
            assert world.held() == []
    assert count > 20


def finish(world: World, received: list[ReceivedMessage]) -> None:
    """Be a Lambda worker that completes what it claims, unless it dies or gets no answer."""
    with suppress(BackendError, ProcessDiedError):
        outcomes = claim(world, received) if received else []
        for message, outcome in zip(received, outcomes, strict=True):
            if outcome.record is not None:
                world.backend.jobs.ack(outcome.record.id, "w1", None, has_message=False)
            if outcome.record is not None or not outcome.keep_message:
                world.messages.delete("default", [message.handle])
