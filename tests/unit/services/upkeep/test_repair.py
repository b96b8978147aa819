"""After a restore: the table says what the jobs are, and SQS holds nothing.

Only Lambda workers are there, which know of nothing but messages; nobody polls.
"""

from __future__ import annotations

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, InvalidRequestError, NotFoundError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.json_text import parse_object
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.upkeep.repair import MAX_PAGES, PAGE, RepairReport
from ojs_aws.services.workflows.service import WorkflowService
from ojs_aws.testing.deployment import FakeClock
from tests.simulation.world import World
from tests.unit.services.workflows.test_advance import definition
from tests.unit.services.workflows.test_advance_overlaps import CHAIN

ERROR = parse_object('{"type": "Broken", "message": "it broke"}')
START = FakeClock().at
POLICY = {"max_attempts": 20, "jitter": False, "initial_interval": "PT2M"}


def push(world: World, **more: object) -> str:
    """Push a job; its id."""
    record = world.backend.jobs.push(Job("a.b", [], retry=POLICY, **more)).record  # type: ignore[arg-type]
    assert record is not None
    return record.id


def restored(world: World) -> None:
    """A restore: what is in the table stays, and all queues are empty."""
    world.lose_messages()


def repaired(world: World, *, is_dry: bool = False) -> RepairReport:
    """A whole repair, request by request; the sum."""
    total, cursor = RepairReport(), ""
    while True:
        part = world.backend.upkeep.repair(cursor, is_dry=is_dry)
        total.queues += part.queues
        total.ready += part.ready
        total.waiting += part.waiting
        total.paused += part.paused
        total.workflows += part.workflows
        cursor = part.cursor
        if not cursor:
            return total


def work(world: World, queue: str = "default") -> int:
    """A Lambda worker completes what the visible messages lead to."""
    done = 0
    while received := world.messages.receive(queue, 10, 60):
        outcomes = world.backend.jobs.fetch.claim_messages(queue, received, "w9", 60_000)
        for message, outcome in zip(received, outcomes, strict=True):
            if outcome.record is not None:
                world.backend.jobs.ack(outcome.record.id, "w9", None, has_message=False)
                done += 1
            if outcome.record is not None or not outcome.keep_message:
                world.messages.delete(queue, [message.handle])
    return done


def play(world: World) -> None:
    """Jobs in every state that a message must lead out of."""
    backend = world.backend
    for queue in ("default", "email"):
        push(world, queue=queue)
        failing = push(world, queue=queue, priority=50)
        (claimed,) = backend.jobs.fetch(FetchRequest((queue,), 1, "w1", 30_000))
        assert claimed.id == failing
        backend.jobs.fail(failing, "w1", ERROR)
        push(world, queue=queue, priority=60)
        backend.jobs.fetch(FetchRequest((queue,), 1, "w2", 120_000))  # and is never heard of again
        push(world, queue=queue, scheduled_at="+PT10M")
        push(world, queue=queue, scheduled_at="+PT40M")


def test_every_job_runs_when_it_is_due_although_all_messages_are_gone() -> None:
    """Ready ones at once; those that wait when they are due, not minutes later."""
    world = World()
    play(world)
    restored(world)
    report = repaired(world)
    assert report == RepairReport(queues=["default", "email"], ready=2, waiting=6)
    assert (work(world), work(world, "email")) == (1, 1)
    for minutes, expected in ((1, 0), (2, 2), (10, 1), (41, 1)):
        while world.clock.now() < START + minutes * 60_000:
            world.clock.advance(s=60)
            world.backend.upkeep.sweep.tick()
        done = work(world) + work(world, "email")
        assert done == 2 * expected, f"after {minutes} minutes"
    assert {job.state for job in world.stored.jobs.values()} == {JobState.COMPLETED}


def test_a_dry_run_counts_and_sends_nothing() -> None:
    """And writes nothing: the faults' list of calls has reads only."""
    world = World()
    play(world)
    restored(world)
    before = len(world.faults.calls)
    assert repaired(world, is_dry=True).ready == 2
    assert not any("send" in str(call) for call in world.faults.calls[before:])
    assert work(world) == 0


def test_repairing_twice_runs_no_job_twice() -> None:
    """A message too many finds nothing to run and is deleted."""
    world = World()
    for _ in range(3):
        push(world)
    repaired(world)  # nothing was lost, even
    repaired(world)
    assert work(world) == 3
    world.clock.advance(s=3600)
    assert work(world) == 0
    assert world.held() == []


def test_many_jobs_are_repaired_in_requests_of_bounded_size() -> None:
    """The sweep alone would need a minute for each hundred of them."""
    world = World()
    many = PAGE * MAX_PAGES + 50
    for _ in range(many):
        push(world)
    restored(world)
    first = world.backend.upkeep.repair()
    assert (first.ready, first.queues) == (PAGE * MAX_PAGES, [])
    rest = world.backend.upkeep.repair(first.cursor)
    assert (rest.ready, rest.cursor) == (50, "")
    assert work(world) == many


def test_a_paused_queue_gets_its_messages_when_it_is_resumed() -> None:
    """Its workers are switched off; resuming sends what is missing."""
    world = World()
    push(world)
    world.backend.queues.service.pause("default")
    restored(world)
    report = repaired(world)
    assert (report.ready, report.paused) == (0, 1)
    world.backend.queues.service.resume("default")
    assert work(world) == 1


def test_far_jobs_that_the_sweep_had_armed_get_a_message_too() -> None:
    """The restored cursor of the sweep says that their messages were sent; those are gone."""
    world = World()
    push(world, scheduled_at="+PT20M")
    world.clock.advance(s=600)
    world.backend.upkeep.sweep.tick()
    restored(world)
    assert repaired(world).waiting == 1
    world.clock.advance(s=601)
    assert work(world) == 1


def test_sends_that_fail_end_the_request_and_the_same_request_goes_on() -> None:
    """Nothing is skipped: the cursor is of before the page that failed."""
    world = World()
    push(world)
    restored(world)

    def broken(*_: object) -> None:
        raise BackendError("SendMessage failed.")

    original, world.messages.send = world.messages.send, broken  # type: ignore[method-assign, assignment]
    with pytest.raises(BackendError, match="'default' could not be sent"):
        world.backend.upkeep.repair()
    world.messages.send = original  # type: ignore[method-assign]
    assert repaired(world).ready == 1


def test_a_workflow_that_is_gone_does_not_hold_up_the_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = World()
    gone, other = (world.backend.workflows.service.create(definition(CHAIN)) for _ in range(2))
    get = WorkflowService.get

    def read(service: WorkflowService, workflow_id: str) -> object:
        if workflow_id == gone.view.workflow.id:
            raise NotFoundError("It is gone.")
        return get(service, workflow_id)

    monkeypatch.setattr(WorkflowService, "get", read)
    assert repaired(world).workflows == 1
    assert f"Could not move workflow {gone.view.workflow.id} on" in caplog.text
    assert other.view.workflow.id not in caplog.text


def test_a_workflow_that_cannot_be_read_now_ends_the_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same request goes on, so that no workflow is left out in silence."""
    world = World()
    world.backend.workflows.service.create(definition(CHAIN))

    def broken(*_: object) -> None:
        raise BackendError("GetItem failed.")

    with monkeypatch.context() as patch:
        patch.setattr(WorkflowService, "get", broken)
        with pytest.raises(BackendError):
            repaired(world)
    assert repaired(world).workflows == 1


@pytest.mark.parametrize("cursor", ["nowhere|ready|", "default|completed|", "x", "default|"])
def test_a_cursor_of_somebody_else_is_refused(cursor: str) -> None:
    """And nothing is sent."""
    with pytest.raises(InvalidRequestError, match="cursor"):
        World().backend.upkeep.repair(cursor)
