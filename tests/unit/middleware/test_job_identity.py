"""A job keeps its id: whoever changes it, in place or in a copy, stores nothing under another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.client import Client
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import EnqueueRejectedError
from ojs_aws.middleware import EnqueueChain, Hooks, IdChangedError, hook
from ojs_aws.middleware.enqueuer import Enqueuer
from tests.simulation.world import World
from tests.unit.middleware.doubles import JOB_ID, FakeTransport, client_with, enqueue_sync, job

OTHER = "01900000-0000-7000-8000-00000000ffff"


def client_of(*hooks: object, middleware: Any = ()) -> tuple[Client, FakeTransport]:
    transport = FakeTransport()
    return client_with(transport, middleware=middleware, hooks=hooks), transport


@hook("insert_begin")
def forges(job: Job) -> None:
    job.id = OTHER


@hook("insert_end")
def forges_late(job: Job, error: Exception | None) -> None:
    job.id = OTHER


class Swaps:
    """Exchanges the ids of two jobs, before or after they are stored."""

    def __init__(self, when: str) -> None:
        self.when = when

    async def enqueue_many(self, jobs: list[Job], call_next: Any) -> Any:
        if self.when == "before":
            jobs[0].id, jobs[1].id = jobs[1].id, jobs[0].id
        results = await call_next(jobs)
        if self.when == "after":
            results[0].job.id, results[1].job.id = results[1].job.id, results[0].job.id
        return results


@pytest.mark.parametrize("is_batch", [False, True])
async def test_a_hook_cannot_change_the_id_in_place(is_batch: bool) -> None:
    """MW-ENQ-012: the error names the hook, and nothing is stored."""
    client, transport = client_of(forges)
    if is_batch:
        [result] = await client.enqueue_many([Job("a.b")])
        assert isinstance(result.error, IdChangedError)
        assert "'forges'" in str(result.error)
        assert result.id != OTHER
    else:
        with pytest.raises(IdChangedError, match="'forges'"):
            await client.enqueue("a.b")
    assert (transport.pushed, transport.batches) == ([], [])


async def test_a_hook_cannot_change_the_id_of_the_stored_job() -> None:
    """MW-ENQ-012: the error carries the id under which the job is stored."""
    given = job()
    with pytest.raises(IdChangedError, match="'forges_late'") as raised:
        enqueue_sync(EnqueueChain(), given, lambda kept: kept, Hooks([forges_late]))
    assert raised.value.stored_job_ids == (JOB_ID,)  # type: ignore[attr-defined]
    assert given.id == JOB_ID, "the caller's own object names the stored job"


async def test_the_hook_of_a_refused_job_leaves_its_id_too() -> None:
    """What refused the job is reported with the hook's fault."""

    def refuses(_: Job) -> Job:
        raise OSError("no")

    given = job()
    with pytest.raises(IdChangedError, match="'forges_late'") as raised:
        enqueue_sync(EnqueueChain(), given, refuses, Hooks([forges_late]))
    assert isinstance(raised.value.__context__, OSError)
    assert given.id == JOB_ID


async def test_a_dropped_job_keeps_its_id() -> None:
    """MW-ENQ-012: the outcome would name another job."""

    async def drops(job: Job, call_next: Any) -> None:
        job.id = OTHER

    client, _ = client_of(middleware=[drops])
    with pytest.raises(IdChangedError, match="'drops'"):
        await client.enqueue("a.b")


@pytest.mark.parametrize("when", ["before", "after"])
async def test_enqueue_many_cannot_exchange_ids(when: str) -> None:
    """MW-ENQ-012: all the ids are those that were given, and each is another job's."""
    client, transport = client_of(middleware=[Swaps(when)])
    first, second = Job("a.b", [1], id=JOB_ID), Job("a.b", [2], id=OTHER)
    with pytest.raises(IdChangedError, match="'swaps'") as raised:
        await client.enqueue_many([first, second])
    stored = [kept.id for batch in transport.batches for kept in batch]
    assert stored == ([] if when == "before" else [JOB_ID, OTHER])
    assert getattr(raised.value, "stored_job_ids", ()) == tuple(stored)


async def test_enqueue_many_cannot_drop_a_job_under_another_id() -> None:
    """The outcome of a job that is not passed on has the id that the caller knows."""

    class Drops:
        async def enqueue_many(self, jobs: list[Job], call_next: Any) -> Any:
            jobs[1].id = "01900000-0000-7000-8000-00000000eeee"
            return await call_next(jobs[:1])

    client, transport = client_of(middleware=[Drops()])
    with pytest.raises(IdChangedError, match="'drops'"):
        await client.enqueue_many([Job("a.b", id=JOB_ID), Job("a.b", id=OTHER)])
    assert transport.batches == []


async def test_in_a_batch_a_late_change_names_the_stored_id() -> None:
    """MW-ENQ-012: the caller may cancel what was stored nevertheless."""

    async def late(job: Job, call_next: Any) -> Any:
        stored = await call_next(job)
        stored.id = OTHER
        return stored

    client, transport = client_of(middleware=[late])
    [result] = await client.enqueue_many([Job("a.b", id=JOB_ID)])
    assert [kept.id for kept in transport.batches[0]] == [JOB_ID]
    assert isinstance(result.error, IdChangedError)
    assert result.error.stored_job_ids == (JOB_ID,)  # type: ignore[attr-defined]
    assert result.id == JOB_ID


@pytest.mark.parametrize("is_batch", [False, True])
def test_the_backend_s_hooks_cannot_change_the_id(is_batch: bool) -> None:
    """MW-ENQ-012: also in a deployment's own hooks; the answer says that it was refused."""
    world = World()
    enqueuing = Enqueuer(EnqueueChain(), Hooks([forges]))
    push = replace(world.backend.jobs.push, enqueuing=enqueuing)
    given = job()
    with pytest.raises(EnqueueRejectedError, match="'forges'") as refused:
        push.all([given]) if is_batch else push(given)
    assert refused.value.details["stored_job_ids"] == []
    assert world.store.load(OTHER) is None
    assert world.store.load(JOB_ID) is None
