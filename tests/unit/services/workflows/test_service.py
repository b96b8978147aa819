"""What clients see of a workflow that was read, and what reading it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.workflows import advance as workflow_advancing
from ojs_aws.services.workflows.advance import WorkflowAdvance
from ojs_aws.services.workflows.write import JobEnd
from tests.contract.test_job_store import a_reservation
from tests.job_steps import fetched
from tests.simulation.world import World
from tests.unit.services.workflows.test_advance import create, end, job

GROUP = {"type": "group", "id": "w", "jobs": [job("a"), job("b"), job("c")]}


def begin(world: World, type_: str, at: int | None) -> None:
    """Let the job of a type begin, without anybody noticing."""
    [found] = [each for each in world.stored.jobs.values() if each.type == type_]
    started = {"state": JobState.ACTIVE, "attempt": 1, "reservation": a_reservation()}
    if at is not None:
        begun = replace(found, **started, started_at=Instant(at))  # type: ignore[arg-type]
        world.stored.jobs[found.id] = begun


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ((None, None, None), None),
        ((None, 5, None), 5),
        ((9, 5, 7), 5),
        ((5, None, 9), 5),
    ],
)
def test_reading_notes_when_the_first_of_its_jobs_began(
    world: World, times: tuple[int | None, ...], expected: int | None
) -> None:
    """Once, whatever the order of the jobs; and nothing is written before one has."""
    create(world, GROUP)
    for type_, at in zip("abc", times, strict=True):
        begin(world, type_, at)
    service = world.backend.workflows.service
    world.faults.calls.clear()
    assert service.get("w").workflow.started_at == expected
    writes = 0 if expected is None else 1
    assert world.faults.calls.count("save") == writes
    assert service.get("w").workflow.started_at == expected
    assert world.faults.calls.count("save") == writes


class Asked:
    """Moves workflows on, and notes of which jobs somebody asked how they ended."""

    def __init__(self, advance: WorkflowAdvance) -> None:
        self.advance_, self.types = advance, list[str]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.advance_, name)

    def news_of(self, ended: JobRecord) -> JobEnd | None:
        self.types.append(ended.type)
        return self.advance_.news_of(ended)


def test_how_a_job_ended_is_not_asked_again_once_it_is_recorded(world: World) -> None:
    """Its result may be kept elsewhere, and would be read."""
    create(world, GROUP)
    for each in fetched(world.backend, count=2):
        end(world, each)
    service = world.backend.workflows.service
    asked = Asked(service.workflow_advance)
    asking = replace(service, workflow_advance=cast("WorkflowAdvance", asked))
    assert asking.get("w").workflow.completed_count == 2
    assert asked.types == ["a", "b", "c"]
    asked.types.clear()
    assert asking.get("w").workflow.completed_count == 2
    assert asked.types == ["c"]


def test_reading_counts_jobs_that_ended_after_the_workflow_had_begun(world: World) -> None:
    create(world, GROUP)
    service = world.backend.workflows.service
    for count in (1, 2, 3):
        [each] = fetched(world.backend, count=1)
        end(world, each)
        assert service.get("w").workflow.completed_count == count


def test_jobs_are_shown_with_the_types_that_the_middleware_gave_them(world: World) -> None:
    """Of those that are enqueued already, and of those that follow."""

    class Renames:
        async def enqueue(self, made: Job, call_next: Any) -> Any:
            made.type = "new.b" if made.type == "b" else made.type
            return await call_next(made)

    world.backend.jobs.push.enqueuing.chain.add(Renames())
    steps = [job("a"), job("b"), job("c")]
    made = create(world, {"type": "chain", "id": "w", "steps": steps})
    types = ["a", "new.b", "c"]
    assert [step.type for step in made.view.graph.steps if step.type] == types
    service = world.backend.workflows.service
    assert [step.type for step in service.get("w").graph.steps if step.type] == types
    assert [type_ for _, type_, _ in service.jobs_of("w")] == types


def test_a_repeated_request_passes_no_middleware_again(world: World) -> None:
    """It finds the workflow by its id; without an id of its own none is looked for."""
    passed: list[str] = []

    class Notes:
        async def enqueue(self, made: Job, call_next: Any) -> Any:
            passed.append(made.type)
            return await call_next(made)

    world.backend.jobs.push.enqueuing.chain.add(Notes())
    assert [create(world, GROUP).is_new for _ in range(2)] == [True, False]
    assert passed == ["a", "b", "c"]
    world.faults.calls.clear()
    create(world, {name: value for name, value in GROUP.items() if name != "id"})
    assert "load" not in world.faults.calls


def test_reading_some_steps_reads_their_jobs_and_those_that_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the jobs of other steps that have ended, nor of steps that have not begun."""
    workflow = create(world, {"type": "chain", "id": "w", "steps": [job(t) for t in "abcd"]})
    service = world.backend.workflows.service
    for _ in range(2):
        [each] = fetched(world.backend)
        end(world, each)
        service.get("w")
    load_many, read = world.store.load_many, list[str]()

    def noted(ids: Sequence[str]) -> dict[str, JobRecord]:
        read.extend(ids)
        return load_many(ids)

    monkeypatch.setattr(world.store, "load_many", noted)
    types = {index: step.type for index, step in enumerate(workflow.view.graph.steps)}
    shown = service.get("w", range(2, 5))
    assert [types[index] for index in sorted(shown.jobs)] == ["b", "c"]
    assert len(read) == 2


@pytest.mark.parametrize(("most", "cancelled"), [(1, 100), (100, 100), (101, 150)])
def test_a_request_cancels_so_many_jobs_and_leaves_the_rest_to_the_stream(
    world: World, monkeypatch: pytest.MonkeyPatch, most: int, cancelled: int
) -> None:
    """It reads them by the hundred."""
    monkeypatch.setattr(workflow_advancing, "MAX_CANCELS", most)
    create(world, {"type": "group", "id": "w", "jobs": [job()] * 150})
    for _ in range(2):
        world.backend.workflows.advance.advance("w")
    view = world.backend.workflows.service.cancel("w")
    assert view.workflow.cancelled_count == cancelled
