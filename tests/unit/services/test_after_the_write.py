"""What follows the write of jobs: whatever goes wrong there, they are stored, and it is said so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, DuplicateError
from ojs_aws.services.bulk.enqueue import StoredAnswer
from ojs_aws.services.jobs.render import PushResult
from ojs_aws.services.workflows.write import MAX_STARTS
from tests.simulation.world import World
from tests.unit.services.workflows.test_advance import definition

LIMIT: Any = {"key": "api", "concurrency": 1}
UNIQUE: Any = {"keys": ["type", "args"]}
ERRORS = [BackendError("refused"), RuntimeError("can't start new thread")]


@pytest.fixture
def world() -> World:
    """A backend with a bounded queue, and parts of thirty jobs."""
    made = World()
    made.part_batches(30)
    made.backend.queues.config.change("small", {"max_size": 200})
    return made


def job(number: int, **more: Any) -> Job:
    """A job of the bounded queue."""
    return Job("a.b", [number], id=f"01990000-0000-7000-8000-{number:012x}", queue="small", **more)


def depth(world: World) -> int:
    """How many places are taken."""
    return world.stored.depths["small"].jobs


def break_down(target: object, method: str, problem: Exception) -> None:
    """Let every call of a port's method fail."""

    def failing(*_: Any, **__: Any) -> NoReturn:
        raise problem

    setattr(target, method, failing)


BREAKAGES: list[Callable[[World, Exception], None]] = [
    lambda world, problem: break_down(world.limits, "note", problem),
    lambda world, problem: break_down(world.messages, "send", problem),
    lambda world, problem: break_down(world.messages, "send_all", problem),
]


def one(world: World, **more: Any) -> list[PushResult]:
    """A single push."""
    return [world.backend.jobs.push(job(1, **more))]


def few(world: World, **more: Any) -> list[PushResult]:
    """A batch of one transaction."""
    return world.backend.jobs.push.all([job(at, **more) for at in range(3)])


def many(world: World, **more: Any) -> list[PushResult]:
    """A batch that is a log."""
    return world.backend.jobs.push.all([job(at, **more) for at in range(110)])


def each(world: World, **more: Any) -> list[PushResult]:
    """A bulk enqueue of jobs by themselves."""
    items = world.backend.bulk.enqueue.each([job(at, **more) for at in range(3)])
    assert [item.problem for item in items] == [None] * 3
    return [item.pushed for item in items if item.pushed is not None]


@pytest.mark.parametrize("problem", ERRORS)
@pytest.mark.parametrize("breakage", BREAKAGES)
@pytest.mark.parametrize("push", [one, few, many, each])
@pytest.mark.parametrize("more", [{}, {"unique": UNIQUE}])
def test_stored_jobs_are_answered_for_and_keep_their_places(
    world: World,
    push: Callable[..., list[PushResult]],
    breakage: Callable[[World, Exception], None],
    problem: Exception,
    more: dict[str, Any],
) -> None:
    """Limits that cannot be noted, and messages that cannot be sent, are only late."""
    breakage(world, problem)
    pushed = push(world, rate_limit=LIMIT, **more)
    assert all(one.is_new for one in pushed)
    assert len(world.stored.jobs) == len(pushed) == depth(world)


def test_a_batch_whose_limits_cannot_be_noted_is_in_its_place_later(world: World) -> None:
    """The sweep goes on with it."""
    note = world.limits.note
    break_down(world.limits, "note", RuntimeError("broken"))
    many(world, rate_limit=LIMIT)
    world.limits.note = note  # type: ignore[method-assign]
    world.clock.advance(s=61)
    world.backend.upkeep.sweep.tick()
    assert len(world.stored.jobs) == 110
    assert not world.batches.open()


def test_settings_that_cannot_be_read_afterwards_fail_no_push(world: World) -> None:
    """A push that was sent again gives a place back, and asks then for the queue's bound."""
    one(world)
    add = world.depths.add

    def added(queue: str, amount: int) -> int | None:
        break_down(world.queue_settings, "load_for_push", BackendError("refused"))
        world.backend.queues.backpressure.settings._kept.clear()
        return add(queue, amount)

    world.depths.add = added  # type: ignore[method-assign]
    [again] = one(world)
    assert not again.is_new
    assert depth(world) == 1


def test_one_id_that_is_taken_meanwhile_gives_one_place_back(world: World) -> None:
    """The other jobs of a large batch are stored, and the error names all of them."""
    jobs = [job(at) for at in range(110)]
    decide = world.batches.decide

    def decided(*args: Any) -> Any:
        answer = decide(*args)
        stranger = world.backend.jobs.push.check(Job("c.d", [], id=jobs[100].id))
        world.store.insert(stranger)
        return answer

    world.batches.decide = decided  # type: ignore[assignment, method-assign]
    with pytest.raises(DuplicateError) as refused:
        world.backend.bulk.enqueue.all(jobs)
    assert refused.value.details["index"] == 100
    stored: Any = refused.value.details["stored_job_ids"]
    assert {*stored} == {each.id for each in jobs} - {jobs[100].id}
    assert depth(world) == 109


@pytest.mark.parametrize("problem", ERRORS)
def test_a_bulk_answer_that_cannot_be_kept_is_given(world: World, problem: Exception) -> None:
    """The work is done; sent again, it is done again with the same ids."""
    break_down(world.bulk, "answer", problem)
    break_down(world.bulk, "record_bulk", problem)
    done = StoredAnswer(201, "{}")
    assert world.backend.bulk.idempotency("enqueue", "key", b"{}", lambda _: done) is done
    world.backend.bulk.completion_events("enqueue", 1, 1, is_atomic=False)


@pytest.mark.parametrize("problem", ERRORS)
def test_a_workflow_that_cannot_go_on_at_once_is_stored(world: World, problem: Exception) -> None:
    """The stream goes on with it."""
    break_down(world.workflows, "save", problem)
    steps = [{"type": "a.b", "args": []}] * (MAX_STARTS + 1)
    made = world.backend.workflows.service.create(definition({"type": "group", "jobs": steps}))
    assert made.is_new
    assert len(world.stored.jobs) == MAX_STARTS
