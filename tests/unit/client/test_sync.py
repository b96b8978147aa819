"""The synchronous interface: the same operations, from any thread, also inside a running loop."""

from __future__ import annotations

import asyncio
import inspect
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest

from ojs_aws.client import Client, SyncClient
from ojs_aws.client.loop_thread import SIDES, LoopThread
from ojs_aws.client.single_jobs import Areas
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import NotFoundError
from scripts.sync_stub import STUB, stub
from tests.load import HUNG_S
from tests.simulation.world import World
from tests.unit.client.doubles import JOB_ID, FakeServer


def test_it_does_what_the_asynchronous_one_does() -> None:
    """One implementation: results and errors are the same."""
    server = FakeServer()
    with SyncClient(client=server.client()) as client:
        enqueued = client.enqueue("a.b", [1], queue="email")
        assert client.get(enqueued.id).queue == "email"
        assert len(client.enqueue_many([Job("a.b"), Job("a.c")])) == 2
        with pytest.raises(NotFoundError):
            client.get(JOB_ID)


@pytest.mark.parametrize(("target", "face"), SIDES.items())
def test_every_operation_has_a_synchronous_face(target: type, face: type) -> None:
    """None can be forgotten; the documentation comes along."""
    for name, method in inspect.getmembers(target, inspect.iscoroutinefunction):
        if not name.startswith("_"):
            assert not inspect.iscoroutinefunction(getattr(face, name))
            if name != "close":
                assert getattr(face, name).__doc__ == method.__doc__


def test_every_area_has_a_synchronous_side(world: World) -> None:
    """Made at its first use, once; a misspelt one is refused."""
    with SyncClient(client=Client.direct(backend=world.backend)) as client:
        for name in Areas.__annotations__:
            assert hasattr(Client, name)  # so that a mock with this spec has it
            assert hasattr(SyncClient, name)
            assert type(getattr(client, name)) in SIDES.values()
            assert getattr(client, name) is getattr(client, name)
        with pytest.raises(AttributeError, match="job_s"):
            _ = client.job_s  # type: ignore[attr-defined]


def test_type_checkers_see_what_there_is() -> None:
    """`python scripts/sync_stub.py` writes it."""
    assert STUB.read_text(encoding="utf-8") == stub()


async def test_it_works_inside_a_running_loop() -> None:
    """It has a loop of its own, and merely blocks this one."""
    server = FakeServer()
    with SyncClient(client=server.client()) as client:
        assert client.enqueue("a.b", []).is_enqueued


def test_threads_may_share_it() -> None:
    """Twenty threads, one client, twenty jobs."""
    server = FakeServer()
    with SyncClient(client=server.client()) as client, ThreadPoolExecutor(20) as pool:
        ids = set(pool.map(lambda n: client.enqueue("a.b", [n]).id, range(20)))
    assert len(ids) == len(server.jobs) == 20


def test_closing_ends_the_thread() -> None:
    """Nothing is left behind."""
    before = {*threading.enumerate()}
    client = SyncClient(client=FakeServer().client())
    client.enqueue("a.b", [])
    (thread,) = {*threading.enumerate()} - before
    assert thread.name == "ojs-client"
    client.close()
    assert not thread.is_alive()


def test_closing_ends_what_other_threads_wait_for() -> None:
    loop, waiting = LoopThread("t"), threading.Event()

    async def never() -> None:
        waiting.set()
        await asyncio.Event().wait()

    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(loop.run, never())
        assert waiting.wait(HUNG_S)
        loop.close()
        with pytest.raises(CancelledError):
            ended.result(HUNG_S)


def test_waiting_for_itself_is_refused() -> None:
    """A middleware that calls the synchronous client would wait for ever."""
    loop = LoopThread("t")

    async def inner() -> None:
        loop.run(asyncio.sleep(0))

    try:
        with pytest.raises(RuntimeError, match="its own event loop"):
            loop.run(inner())
    finally:
        loop.close()


def test_its_areas_have_the_same_methods(world: World) -> None:
    """Without await."""
    with SyncClient(client=Client.direct(backend=world.backend)) as client:
        job_id = client.enqueue("demo.echo", [1]).id
        assert [job.id for job in client.jobs.list().jobs] == [job_id]
        assert client.jobs.detail(job_id)["id"] == job_id
        assert client.jobs.change_some("cancel", queue="default").succeeded == [job_id]
        assert client.events.read().events == []
        assert client.system.stats()["queues"] == 1
