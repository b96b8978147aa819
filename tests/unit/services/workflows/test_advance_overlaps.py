"""Workflows that several requests change at once, or whose jobs cannot be made."""

from __future__ import annotations

import pytest

from ojs_aws.domain.errors import BackendError, QueueDrainingError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.workflows.workflow import WorkflowState
from tests.job_steps import fetched
from tests.simulation.world import World
from tests.unit.services.test_overtaken_requests import after, before, refuse
from tests.unit.services.workflows.test_advance import Stream, create, definition, job

CHAIN = {"type": "chain", "name": "c", "steps": [job("a"), job("b")]}
WORKFLOW_ID = "01990000-0000-7000-8000-0000000000aa"


@pytest.fixture
def stream(world: World) -> Stream:
    """What the table's stream reports."""
    return Stream(world)


def test_the_same_workflow_twice_at_once_is_made_once(world: World) -> None:
    """Both requests find it."""
    body = {**CHAIN, "id": WORKFLOW_ID}

    after(world.workflows, "load", lambda: create(world, body))
    assert not create(world, body).is_new
    assert len(world.stored.jobs) == 1


def test_a_workflow_is_cancelled_although_it_goes_on_meanwhile(world: World) -> None:
    """From the state that it has by then."""
    made = create(world, CHAIN).view.workflow
    (first,) = fetched(world.backend, count=10)
    world.backend.workflows.service.get(made.id)  # it has begun

    def go_on() -> None:
        world.backend.jobs.ack(first.id, "w", None)
        world.backend.workflows.service.get(made.id)

    before(world.workflows, "save", go_on)
    cancelled = world.backend.workflows.service.cancel(made.id).workflow
    assert cancelled.state is WorkflowState.CANCELLED
    states = {each.state for each in world.stored.jobs.values()}
    assert states == {JobState.COMPLETED, JobState.CANCELLED}


def test_two_reports_of_one_workflow_at_once_both_count(world: World, stream: Stream) -> None:
    """The second goes on from what the first has written."""
    create(world, {"type": "group", "name": "g", "jobs": [job(), job()]})
    stream.flow()
    for each in fetched(world.backend, count=10):
        world.backend.jobs.ack(each.id, "w", None)
    first, second = stream.news()
    before(world.workflows, "save", lambda: stream.deliver([second]))
    assert stream.deliver([first]) == []
    (workflow,) = world.stored.workflows.values()
    assert workflow.state is WorkflowState.COMPLETED


def test_a_step_does_not_fail_because_the_table_does_not_answer(
    world: World, stream: Stream
) -> None:
    """What cannot be read for its job now, can be a moment later."""
    create(world, CHAIN)
    (first,) = fetched(world.backend, count=10)
    stream.flow()
    world.backend.jobs.ack(first.id, "w", None)
    world.backend.queues.backpressure.settings._kept.clear()  # as in another process
    records = stream.news()
    before(world.queue_settings, "load_for_push", refuse(BackendError("refused")))
    assert stream.deliver(records) == records
    assert stream.deliver(records) == []
    assert [each.type for each in fetched(world.backend, count=10)] == ["b"]


def test_a_job_that_its_queue_does_not_take_is_named_in_the_refusal(world: World) -> None:
    """By its place in the request, whatever the reason is."""
    world.backend.queues.config.change("q", {"max_size": 7})
    world.backend.queues.config.drain("q")
    body = {"type": "chain", "name": "c", "steps": [job(), job(options={"queue": "q"})]}
    with pytest.raises(QueueDrainingError) as refused:
        create(world, body)
    assert refused.value.details["path"] == definition(body).paths[2]
