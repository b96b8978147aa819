"""A workflow advances once, whatever repeats, fails or ends at the same time."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ojs_aws.adapters.dynamodb.columns import item_bytes
from ojs_aws.adapters.dynamodb.workflows.codec import to_item
from ojs_aws.domain.errors import (
    InvalidRequestError,
    OjsError,
)
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.workflows.workflow import Workflow, WorkflowState
from ojs_aws.services.workflows import advance as workflow_advancing
from tests.job_steps import fetched
from tests.simulation.faults import Fault, ProcessDiedError
from tests.simulation.world import World
from tests.unit.services.workflows.test_advance import Record, Stream, create, end, job

pytestmark = pytest.mark.thorough

NESTED = {
    "type": "chain",
    "id": "w",
    "steps": [
        {"type": "group", "jobs": [job("a"), {"type": "chain", "steps": [job("b"), job("c")]}]},
        {
            "type": "batch",
            "jobs": [job("d"), job("e"), job("f")],
            "callbacks": {"on_complete": job("g"), "on_failure": job("h")},
        },
        job("i"),
    ],
}


@pytest.fixture
def stream(world: World) -> Stream:
    """What the table's stream reports."""
    return Stream(world)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_records_that_repeat_and_come_in_any_order_change_nothing(seed: int) -> None:
    """Each job is enqueued once, and the workflow ends as its outcomes say."""
    chance = random.Random(seed)
    world = World()
    stream = Stream(world)
    create(world, NESTED)
    late: list[Record] = []
    past: list[Record] = []
    for _ in range(200):
        for each in fetched(world.backend, count=chance.randint(1, 4)):
            end(world, each, f'"{each.type}"', fails=each.type == "e")
        late += stream.news()
        chance.shuffle(late)
        some = late[: chance.randint(0, len(late))]
        again = chance.sample(past, min(len(past), 3))
        assert stream.deliver([*some, *again, *some]) == []
        del late[: len(some)]
        past += some
        if not late and world.stored.workflows["w"].state.is_terminal:
            break
    workflow = world.stored.workflows["w"]
    assert workflow.state is WorkflowState.COMPLETED
    assert sorted(each.type for each in world.stored.jobs.values()) == [*"abcdefghi"]
    assert {each.attempt for each in world.stored.jobs.values()} == {1}


@pytest.mark.parametrize("fault", list(Fault))
def test_whatever_call_fails_a_workflow_neither_stops_nor_runs_twice(fault: Fault) -> None:
    """Each of the calls gets a fault once: before and after it took effect, surviving and dying."""
    total = _lived(None, fault)
    for call in range(total):
        _lived(call, fault)


def _lived(faulty: int | None, fault: Fault) -> int:
    """Run the workflow with a fault in one call; return how many calls were made."""
    world = World()
    stream = Stream(world)
    world.faults.faulty, world.faults.fault = faulty, fault
    waiting: list[Record] = []
    for _ in range(60):
        try:
            if "w" not in world.stored.workflows:
                create(world, NESTED)
            waiting += stream.news()
            waiting = stream.deliver(waiting)
            waiting += stream.news()
            for each in [*world.stored.jobs.values()]:
                if each.state is JobState.AVAILABLE:
                    world.stored.jobs[each.id] = _done(each, world)
        except (OjsError, ProcessDiedError):
            world = _revived(world)
            stream.world = world
    workflow: Workflow = world.stored.workflows["w"]
    assert workflow.state is WorkflowState.COMPLETED, (faulty, fault, world.faults.calls)
    assert sorted(each.type for each in world.stored.jobs.values()) == [*"abcdefgi"]
    return len(world.faults.calls)


def _done(job: JobRecord, world: World) -> JobRecord:
    now = world.clock.now()
    return replace(
        job,
        state=JobState.COMPLETED,
        version=job.version + 1,
        started_at=now,
        completed_at=now,
        result=RawJson("1"),
    )


def _revived(world: World) -> World:
    """The same table with new processes, which remember nothing."""
    return World(
        clock=world.clock,
        shared=world.aws,
        faults=world.faults,
    )


def test_many_members_that_end_at_once_fire_each_callback_once(
    world: World, stream: Stream
) -> None:
    """In as many threads as there are shards, each given everything, in its own order."""
    callbacks = {"on_complete": job("done"), "on_success": job("yes")}
    body = {"type": "batch", "id": "w", "jobs": [job("a")] * 200, "callbacks": callbacks}
    create(world, body)
    stream.flow()
    for each in [*world.stored.jobs.values()]:
        world.stored.jobs[each.id] = _done(each, world)
    records = stream.news()

    def shard(seed: int) -> None:
        own = [*records]
        random.Random(seed).shuffle(own)
        for at in range(0, len(own), 7):
            again = own[at : at + 7]
            while again:
                again = stream.deliver(again)

    with ThreadPoolExecutor(8) as pool:
        for ended in [pool.submit(shard, seed) for seed in range(8)]:
            ended.result()
    workflow = world.stored.workflows["w"]
    assert workflow.completed_count == 200
    fired = [each for each in world.stored.jobs.values() if each.type != "a"]
    assert sorted(each.type for each in fired) == ["done", "yes"]
    assert {each.state for each in fired} == {JobState.AVAILABLE}


def test_a_large_group_begins_whole_and_ends_once(world: World, stream: Stream) -> None:
    """Its jobs are enqueued in portions after it was committed; a crash in between loses none."""
    world.faults.faulty, world.faults.fault = 4, Fault.DIES_BEFORE
    with pytest.raises(ProcessDiedError):
        create(world, {"type": "group", "id": "w", "jobs": [job("a")] * 1500})
    begun = len(world.stored.jobs)
    assert 0 < begun < 1500
    stream.flow()
    assert len(world.stored.jobs) == 1500
    for each in [*world.stored.jobs.values()]:
        world.stored.jobs[each.id] = _done(each, world)
    records = stream.news()
    random.Random(1).shuffle(records)
    for at in range(0, len(records), 100):
        assert stream.deliver([*records[at : at + 100], *records[:5]]) == []
    workflow = world.stored.workflows["w"]
    assert (workflow.state, workflow.completed_count) == (WorkflowState.COMPLETED, 1500)


@pytest.mark.parametrize("size", [2_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_thousands_of_members_cost_few_calls_and_a_small_item(
    world: World, stream: Stream, size: int
) -> None:
    """A transaction for 80 that begin, a read and a write for 100 that end together."""
    callbacks = {"on_complete": job("done")}
    create(world, {"type": "batch", "id": "w", "jobs": [job("a")] * size, "callbacks": callbacks})
    stream.flow()
    calls = Counter(world.faults.calls)
    assert len(world.stored.jobs) == size
    assert calls["create"] + calls["save"] == calls["send_all"] == size / 80
    assert calls["load"] <= size / 80
    records = [(job_id, each, _done(each, world)) for job_id, each in [*world.stored.jobs.items()]]
    random.Random(1).shuffle(records)
    world.faults.calls.clear()
    largest = 0
    for at in range(0, size, 100):
        assert stream.deliver([*records[at : at + 100]]) == []
        largest = max(largest, item_bytes(to_item(world.stored.workflows["w"], 0)))
    parts = size / 100
    assert Counter(world.faults.calls) == {"load": parts, "save": parts, "results": 1, "send": 1}
    assert largest < 8_000
    assert [each.type for each in world.stored.jobs.values()].count("done") == 1


def test_listing_shows_the_newest_first_and_refuses_unknown_states(world: World) -> None:
    for name in ("one", "two"):
        create(world, {"type": "group", "id": name, "jobs": [job()]})
        world.clock.advance(s=1)
    service = world.backend.workflows.service
    assert [each.id for each in service.list("", 10, "").workflows] == ["two", "one"]
    assert service.list("pending", 10, "").workflows == ()
    assert len(service.list("running", 1, "").workflows) == 1
    with pytest.raises(InvalidRequestError, match="state"):
        service.list("sleeping", 10, "")


def test_what_a_removed_workflow_kept_is_removed(world: World, stream: Stream) -> None:
    create(world, {"type": "group", "id": "w", "jobs": [job()]})
    stream.flow()
    gone = world.stored.workflows.pop("w")
    assert stream.deliver([("9", gone, None)]) == []
    assert world.workflows.plan("w") is None


def test_a_defect_in_one_workflow_does_not_hold_up_the_others(
    world: World, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bad", "good"):
        create(world, {"type": "chain", "id": name, "steps": [job(f"{name}.a"), job(f"{name}.b")]})
    for each in fetched(world.backend, count=10):
        end(world, each)
    advance = workflow_advancing.WorkflowAdvance.advance

    def break_down(self: Any, workflow_id: str, *args: Any, **more: Any) -> Any:
        if workflow_id == "bad":
            raise ValueError("a defect")
        return advance(self, workflow_id, *args, **more)

    monkeypatch.setattr(workflow_advancing.WorkflowAdvance, "advance", break_down)
    again = stream.deliver(stream.news())
    assert {str(getattr(after, "workflow_id", "bad")) for _, _, after in again} == {"bad"}
    assert [each.type for each in fetched(world.backend, count=10)] == ["good.b"]
