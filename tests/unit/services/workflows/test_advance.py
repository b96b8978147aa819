"""Workflows move on exactly once, whatever repeats, comes late, meets others or fails."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import (
    BackendError,
    ConflictError,
    DuplicateError,
    EnqueueRejectedError,
    InvalidWorkflowError,
    NotFoundError,
)
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.json_text import RawJson, parse_object
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows.definition import Definition, read_definition
from ojs_aws.domain.workflows.progress import StepState
from ojs_aws.domain.workflows.workflow import Ended, Workflow, WorkflowState
from ojs_aws.services.workflows import advance as workflow_advancing
from ojs_aws.services.workflows import service as workflow_service
from ojs_aws.services.workflows.service import CreatedWorkflow
from ojs_aws.services.workflows.stream_stage import follow, following
from ojs_aws.services.workflows.write import JobEnd
from ojs_aws.transport.http.jobs.envelope import read_job
from tests.job_steps import fetched
from tests.simulation.world import World

ERROR = parse_object('{"type": "Broken", "message": "it broke"}')
Record = tuple[str, object, object]


def job(type_: str = "a.b", **more: Any) -> dict[str, Any]:
    return {"type": type_, "args": [], "options": {"retry": {"max_attempts": 1}}, **more}


def definition(body: dict[str, Any]) -> Definition:
    return read_definition(parse_object(json.dumps(body)), lambda members: read_job(members, 100))


class Stream:
    """What the table's stream would report: every version of each item, from a look to the next."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.seen: dict[str, object] = {}
        self.count = 0

    def news(self) -> list[Record]:
        """The changes since the last look."""
        now: dict[str, object] = {**self.world.stored.jobs, **self.world.stored.workflows}
        found: list[Record] = []
        for key, after in now.items():
            before = self.seen.get(key)
            if before != after:
                self.count += 1
                found.append((f"{self.count:06d}", before, after))
        self.seen = now
        return found

    def deliver(self, records: list[Record]) -> list[Record]:
        """Hand records to the consumer; those that it wants again."""
        changes = [
            (number, change)
            for number, before, after in records
            if (change := following(before, after)) is not None
        ]
        failed = follow(lambda: self.world.backend.workflows.advance, changes)
        return [record for record in records if record[0] in failed]

    def flow(self) -> None:
        """Everything, until nothing follows any more."""
        while records := self.news():
            assert self.deliver(records) == []


@pytest.fixture
def stream(world: World) -> Stream:
    return Stream(world)


def create(world: World, body: dict[str, Any]) -> CreatedWorkflow:
    return world.backend.workflows.service.create(definition(body))


def given_to(job: JobRecord) -> Any:
    assert isinstance(job.document, str)
    return json.loads(job.document)["parent_results"]


def end(world: World, job: JobRecord, result: str | None = None, *, fails: bool = False) -> None:
    if fails:
        world.backend.jobs.fail(job.id, "w", ERROR)
    else:
        world.backend.jobs.ack(job.id, "w", None if result is None else RawJson(result))


def state_of(world: World, made: CreatedWorkflow) -> str:
    return world.backend.workflows.service.get(made.view.workflow.id).workflow.state


def test_a_chain_runs_step_by_step_and_hands_its_results_on(world: World, stream: Stream) -> None:
    made = create(world, {"type": "chain", "steps": [job("a"), job("b"), job("c")]})
    seen = []
    for number in range(3):
        [each] = fetched(world.backend, count=10)
        seen.append((each.type, given_to(each)))
        end(world, each, f'{{"n":{number}}}')
        assert fetched(world.backend, count=10) == []
        stream.flow()
    assert seen == [("a", {}), ("b", {"0": {"n": 0}}), ("c", {"0": {"n": 0}, "1": {"n": 1}})]
    assert state_of(world, made) == WorkflowState.COMPLETED


def test_a_job_carries_its_workflow_and_its_step(world: World) -> None:
    made = create(world, {"steps": [job(id="only")]})
    [each] = fetched(world.backend, count=10)
    assert isinstance(each.document, str)
    document = json.loads(each.document)
    assert document["workflow_id"] == each.workflow_id == made.view.workflow.id
    assert document["workflow_step"] == "only"


def test_what_clients_say_of_workflows_in_a_job_of_their_own_means_nothing(
    world: World, stream: Stream
) -> None:
    """Only the system makes a job a part of a workflow."""
    made = create(world, {"type": "chain", "steps": [job("a"), job("b")]})
    said = {"workflow_id": made.view.workflow.id, "workflow_step": "0"}
    world.backend.jobs.push(Job("x.y", custom_attributes=said))
    [first] = [each for each in fetched(world.backend, count=10) if each.type == "x.y"]
    end(world, first)
    stream.flow()
    assert fetched(world.backend, count=10) == []


def test_callbacks_fire_once_with_all_results(world: World, stream: Stream) -> None:
    callbacks = {"on_complete": job("done"), "on_success": job("yes"), "on_failure": job("no")}
    body = {"type": "batch", "jobs": [job("a"), job("b")], "callbacks": callbacks}
    made = create(world, body)
    for each in fetched(world.backend, count=10):
        end(world, each, '"ok"', fails=each.type == "b")
    stream.flow()
    fired = fetched(world.backend, count=10)
    assert sorted(each.type for each in fired) == ["done", "no"]
    for each in fired:
        results = given_to(each)
        assert results["0"] == "ok"
        assert results["1"]["error"]["type"] == "Broken"
        end(world, each)
    stream.flow()
    assert state_of(world, made) == WorkflowState.COMPLETED


def test_reading_applies_what_the_stream_has_not_reported_yet(world: World) -> None:
    made = create(world, {"type": "chain", "steps": [job("a"), job("b")]})
    [first] = fetched(world.backend, count=10)
    end(world, first)
    view = world.backend.workflows.service.get(made.view.workflow.id)
    assert view.workflow.steps_completed == 1
    assert view.workflow.started_at is not None
    assert [each.type for each in fetched(world.backend, count=10)] == ["b"]


@pytest.mark.parametrize(
    ("ended", "known", "expected"),
    [((5, 3, 9), None, 3), ((5, 3), 2, 2), ((5, 3), 4, 3), ((None, 7), None, 7), ((), 8, 8)],
)
def test_a_workflow_begins_when_the_first_of_its_jobs_did(
    world: World, ended: tuple[int | None, ...], known: int | None, expected: int
) -> None:
    """Whatever the order in which their ends are reported; a job may end without having begun."""
    made = create(world, {"type": "group", "jobs": [job("a") for _ in range(4)]}).view.workflow
    news = [
        JobEnd(
            Ended(index=index, state=StepState.COMPLETED, at=world.clock.now()),
            RawJson("1"),
            None if at is None else Instant(at),
        )
        for index, at in enumerate(ended)
    ]
    begun = None if known is None else Instant(known)
    after = world.backend.workflows.advance.advance(made.id, news, started_at=begun)
    assert after is not None
    assert after.started_at == expected
    again = world.backend.workflows.advance.advance(made.id, (), started_at=Instant(1))
    assert again is not None
    assert again.started_at == expected


def test_a_plan_that_is_remembered_is_not_that_of_a_later_workflow(world: World) -> None:
    """Clients choose ids, and may choose one again when its workflow has expired."""
    body = {"type": "chain", "id": "01990000-0000-7000-8000-0000000000aa"}
    first = create(world, {**body, "steps": [job("a"), job("b")]}).view.workflow
    advance = world.backend.workflows.advance
    assert len(advance.plan(first).envelopes) == 2
    world.stored.workflows.clear()
    world.workflows.forget(first.id)
    world.stored.jobs.clear()
    world.clock.advance(s=1)
    second = create(world, {**body, "steps": [job("c"), job("d"), job("e")]}).view.workflow
    assert len(advance.plan(second).envelopes) == 3


def test_a_retry_is_no_failure_yet(world: World, stream: Stream) -> None:
    """Section 9.1."""
    retry = {"options": {"retry": {"max_attempts": 2, "initial_interval": "PT1S"}}}
    made = create(world, {"type": "chain", "steps": [job("a") | retry, job("b")]})
    [first] = fetched(world.backend, count=10)
    end(world, first, fails=True)
    stream.flow()
    assert state_of(world, made) == WorkflowState.RUNNING
    world.clock.advance(s=5)
    [again] = fetched(world.backend, count=10)
    end(world, again)
    stream.flow()
    assert [each.type for each in fetched(world.backend, count=10)] == ["b"]


def test_a_failed_workflow_says_which_step_and_why(world: World, stream: Stream) -> None:
    """Section 9.6."""
    made = create(world, {"type": "chain", "steps": [job("a"), job("b")]})
    [first] = fetched(world.backend, count=10)
    end(world, first, fails=True)
    stream.flow()
    workflow = world.backend.workflows.service.get(made.view.workflow.id).workflow
    assert workflow.state is WorkflowState.FAILED
    [failure] = workflow.failures
    assert (failure.job_id, failure.code, failure.attempt) == (first.id, "Broken", 1)


def test_a_job_whose_time_ran_out_ends_its_step_without_anybody_else(world: World) -> None:
    """Reading settles what time has decided."""
    body = {"type": "chain", "steps": [job("a", options={"expires_at": "+PT1S"}), job("b")]}
    made = create(world, body)
    world.clock.advance(s=2)
    assert state_of(world, made) == WorkflowState.FAILED


# ------------------------------------------------------------------------------- cancelling


def test_cancelling_stops_what_nobody_executes_and_lets_the_rest_end(
    world: World, stream: Stream
) -> None:
    """Section 11.3."""
    group = {"type": "group", "jobs": [job("a"), job("b")]}
    made = create(world, {"type": "chain", "steps": [group, job("c")]})
    [active] = fetched(world.backend, count=1)
    workflow_id = made.view.workflow.id
    view = world.backend.workflows.service.cancel(workflow_id)
    assert view.workflow.state is WorkflowState.CANCELLED
    assert view.workflow.cancelled_count == 2
    stream.flow()
    assert fetched(world.backend, count=10) == []
    end(world, active)
    stream.flow()
    workflow = world.backend.workflows.service.get(workflow_id).workflow
    assert (workflow.state, workflow.completed_count) == (WorkflowState.CANCELLED, 1)
    with pytest.raises(ConflictError, match="already in terminal state"):
        world.backend.workflows.service.cancel(workflow_id)


def test_an_active_job_of_a_cancelled_workflow_does_not_begin_again(
    world: World, stream: Stream
) -> None:
    made = create(world, {"type": "group", "jobs": [job(options={"retry": {"max_attempts": 5}})]})
    [active] = fetched(world.backend, count=10)
    world.backend.workflows.service.cancel(made.view.workflow.id)
    end(world, active, fails=True)
    stream.flow()
    assert world.stored.jobs[active.id].state is JobState.CANCELLED


def test_a_returned_job_of_a_cancelled_workflow_does_not_begin_again(
    world: World, stream: Stream
) -> None:
    made = create(world, {"type": "group", "jobs": [job()]})
    [active] = fetched(world.backend, count=10)
    world.backend.workflows.service.cancel(made.view.workflow.id)
    world.backend.jobs.fail.requeue(active.id, "w", None)
    stream.flow()
    assert world.stored.jobs[active.id].state is JobState.CANCELLED


def test_many_jobs_are_cancelled_in_portions(
    world: World, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflow_advancing, "MAX_CANCELS", 3)
    made = create(world, {"type": "group", "jobs": [job()] * 350})
    world.backend.workflows.service.cancel(made.view.workflow.id)
    stream.flow()
    assert {each.state for each in world.stored.jobs.values()} == {JobState.CANCELLED}
    assert world.stored.workflows[made.view.workflow.id].cancelled_count == 350


def test_a_job_that_cannot_be_cancelled_does_not_hold_up_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request fails, and so the stream tries again."""
    made = create(world, {"type": "group", "jobs": [job()] * 3})
    bad, save = made.view.workflow.job_id(1), world.store.save

    def failing(before: JobRecord, after: JobRecord) -> JobRecord:
        if before.id == bad:
            raise BackendError("no")
        return save(before, after)

    monkeypatch.setattr(world.store, "save", failing)
    with pytest.raises(BackendError, match="no"):
        world.backend.workflows.service.cancel(made.view.workflow.id)
    workflow = world.stored.workflows[made.view.workflow.id]
    assert workflow.cancelled_count == 2
    monkeypatch.setattr(world.store, "save", save)
    assert world.backend.workflows.advance.cancel_jobs(workflow).cancelled_count == 3


def test_jobs_behind_many_that_have_just_ended_are_cancelled(
    world: World, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a write that takes over none the stream does not go on."""
    monkeypatch.setattr(workflow_advancing, "MAX_CANCELS", 3)
    monkeypatch.setattr(workflow_service, "MAX_SHOWN", 1)
    made = create(world, {"type": "group", "jobs": [job()] * 350})
    stream.flow()
    for count in (100, 100, 50):
        for each in fetched(world.backend, count=count):
            end(world, each)
    world.backend.workflows.service.cancel(made.view.workflow.id)
    while records := [each for each in stream.news() if isinstance(each[2], Workflow)]:
        assert stream.deliver(records) == []
    states = Counter(each.state for each in world.stored.jobs.values())
    assert states == {JobState.COMPLETED: 250, JobState.CANCELLED: 100}


def test_limits_of_steps_are_seen_before_any_of_them_begins(world: World, stream: Stream) -> None:
    """Those of the first steps, and those of later ones."""
    limits = [{"key": name, "concurrency": 1} for name in ("first", "second")]
    steps = [job(options={"rate_limit": limit}) for limit in limits]
    create(world, {"type": "chain", "steps": steps})
    assert world.backend.limits.get("first").bucket.queues == ("default",)
    [each] = fetched(world.backend, count=10)
    end(world, each)
    stream.flow()
    assert world.backend.limits.get("second").bucket.queues == ("default",)


# ------------------------------------------------------------------------------- creating


def test_a_job_that_push_would_refuse_refuses_the_whole_workflow(world: World) -> None:
    steps = [job("a"), job("Not A Type"), {"type": "group", "jobs": [job("b", args={})]}]
    with pytest.raises(InvalidWorkflowError) as caught:
        create(world, {"type": "chain", "steps": steps})
    errors: Any = caught.value.details["validation_errors"]
    assert [each["path"] for each in errors] == ["$.steps[1].type", "$.steps[2].jobs[0].args"]
    assert world.stored.jobs == {}
    assert world.stored.workflows == {}


def test_a_job_of_a_workflow_cannot_be_unique(world: World) -> None:
    """A duplicate would leave its step without a job."""
    with pytest.raises(InvalidWorkflowError, match="cannot be unique"):
        create(world, {"type": "group", "jobs": [job(unique={"keys": ["type"]})]})


def test_the_same_request_again_finds_what_it_made(world: World) -> None:
    body = {"type": "group", "id": "nightly-7", "jobs": [job()]}
    first, again = create(world, body), create(world, body)
    assert (first.is_new, again.is_new) == (True, False)
    assert len(world.stored.jobs) == 1
    with pytest.raises(DuplicateError):
        create(world, body | {"name": "other"})
    with pytest.raises(InvalidWorkflowError, match=r"\$.id"):
        create(world, body | {"id": "no/slash"})


def test_there_may_be_no_such_workflow(world: World) -> None:
    for name in ("nothing", "no/slash"):
        with pytest.raises(NotFoundError):
            world.backend.workflows.service.get(name)


def test_each_job_passes_the_enqueue_middleware_once(world: World) -> None:
    seen: list[str] = []

    class Notes:
        async def enqueue(self, job: Job, call_next: Any) -> Any:
            seen.append(job.type)
            job.meta["noted"] = True
            return await call_next(job)

    world.backend.jobs.push.enqueuing.chain.add(Notes())
    create(world, {"type": "chain", "steps": [job("a"), job("b")]})
    stream = Stream(world)
    for _ in range(2):
        [each] = fetched(world.backend, count=10)
        assert isinstance(each.document, str)
        assert json.loads(each.document)["meta"] == {"noted": True}
        end(world, each)
        stream.flow()
    assert seen == ["a", "b"]


def test_a_middleware_that_drops_a_job_refuses_the_workflow(world: World) -> None:
    class Drops:
        async def enqueue(self, job: Job, call_next: Any) -> Any:
            return None if job.type == "b" else await call_next(job)

    world.backend.jobs.push.enqueuing.chain.add(Drops())
    with pytest.raises(EnqueueRejectedError) as caught:
        create(world, {"type": "chain", "steps": [job("a"), job("b")]})
    assert caught.value.details["path"] == "$.steps[1]"
    assert world.stored.jobs == {}


def test_a_queue_that_is_gone_when_a_step_begins_fails_the_step(
    world: World, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing is repeated for ever."""
    made = create(world, {"type": "chain", "steps": [job("a"), job("b"), job("c")]})
    [first] = fetched(world.backend, count=10)
    end(world, first)

    def refuse(*_: object) -> None:
        raise NotFoundError("There is no queue.")

    monkeypatch.setattr(
        type(world.backend.workflows.advance.push.job_builder.rules), "check", refuse
    )
    stream.flow()
    workflow = world.stored.workflows[made.view.workflow.id]
    assert (workflow.state, workflow.states) == (WorkflowState.FAILED, "fcfx")
    assert workflow.failures[0].code == "not_found"
