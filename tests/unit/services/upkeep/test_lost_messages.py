"""SQS loses what it holds, after any call of any operation: the sweep alone brings all jobs back.

Only Lambda workers are there, which know of nothing but messages; nobody polls.
"""

from __future__ import annotations

from contextlib import suppress

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.queues import ReceivedMessage
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.simulation.world import World

pytestmark = pytest.mark.thorough

ERROR = parse_object('{"type": "Broken", "message": "it broke"}')
POLICY = {"max_attempts": 20, "jitter": False}


def push(world: World, **attributes: object) -> str:
    """Push a job; its id."""
    record = world.backend.jobs.push(Job("a.b", [], retry=POLICY, **attributes)).record  # type: ignore[arg-type]
    assert record is not None
    return record.id


def receive(world: World) -> list[ReceivedMessage]:
    """Invoke the Lambda worker with what is visible."""
    return world.messages.receive("default", 10, 60)


def play(world: World) -> None:
    """Every operation that sends, hides or deletes a message."""
    backend = world.backend
    first = push(world)
    push(world, scheduled_at="+PT5M")
    push(world, scheduled_at="+PT40M")
    pending = push(world, pending=True)
    backend.jobs.push.all([Job("a.b", [n], retry=POLICY) for n in range(2)])
    backend.jobs.activate(pending)
    outcomes = backend.jobs.fetch.claim_messages("default", receive(world), "w1", 60_000)
    for outcome in outcomes:
        if outcome.record is not None:
            with suppress(OjsError):
                backend.workers.heartbeat("w1", [outcome.record.id])
                backend.jobs.fail(outcome.record.id, "w1", ERROR)
    world.clock.advance(s=120)
    backend.upkeep.sweep.tick()
    for job in backend.jobs.fetch(FetchRequest(("default",), 2, "w2", 30_000)):
        backend.jobs.fail(job.id, "w2", ERROR)
    backend.jobs.cancel(first)
    world.clock.advance(s=300)
    backend.upkeep.sweep.tick()
    backend.jobs.fetch(FetchRequest(("default",), 1, "w3", 30_000))  # and is never heard of again


def heal(world: World, minutes: int) -> None:
    """Sweep each minute; a Lambda worker completes what its messages lead to."""
    for _ in range(minutes):
        world.backend.upkeep.sweep.tick()
        while received := receive(world):
            outcomes = world.backend.jobs.fetch.claim_messages("default", received, "w9", 60_000)
            for message, outcome in zip(received, outcomes, strict=True):
                if outcome.record is not None:
                    world.backend.jobs.ack(outcome.record.id, "w9", None, has_message=False)
                if outcome.record is not None or not outcome.keep_message:
                    world.messages.delete("default", [message.handle])
        world.clock.advance(s=60)


def calls_of_the_scenario() -> int:
    """How many calls there are after which messages may be lost."""
    world = World()
    play(world)
    return len(world.faults.calls)


@pytest.mark.parametrize("part", range(4))
def test_a_queue_that_lost_all_its_messages_gets_them_again(part: int) -> None:
    """Whenever it happens. A job that is due waits for some minutes, not for ever."""
    for lost_after in range(part, calls_of_the_scenario(), 4):
        world = World()

        def lose(number: int, world: World = world, lost_after: int = lost_after) -> None:
            if number == lost_after:
                world.lose_messages()

        world.faults.afterwards = lose
        play(world)
        world.faults.afterwards = lambda _: None
        heal(world, 50)
        states = {job.state for job in world.stored.jobs.values()}
        where = f"lost after call {lost_after} ({world.faults.calls[lost_after]})"
        assert states == {JobState.COMPLETED, JobState.CANCELLED}, where


def test_a_lost_message_delays_a_ready_job_by_minutes() -> None:
    """At most five until an idle queue is looked at, and two more: counted, not hoped."""
    world = World()
    world.backend.upkeep.sweep.tick()  # the queue was idle
    world.clock.advance(s=1)
    job_id = push(world)
    world.lose_messages()
    pushed = world.clock.at
    while world.stored.jobs[job_id].state is not JobState.COMPLETED:
        heal(world, 1)
        assert world.clock.at - pushed < 8 * 60_000


def test_a_job_of_a_killed_lambda_worker_does_not_wait_for_its_message() -> None:
    """SQS hides that for six times the function's timeout; the sweep sends one minutes after."""
    world = World()
    job_id = push(world)
    received = world.messages.receive("default", 10, 6 * 900)
    world.backend.jobs.fetch.claim_messages("default", received, "killed", 65_000)
    began = world.clock.at
    while world.stored.jobs[job_id].state is not JobState.COMPLETED:
        heal(world, 1)
    assert world.clock.at - began <= (65 + 3 * 60) * 1000
    assert world.messages.backlog("default").hidden == 1
