"""The client that a typed job is sent by."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from ojs_aws import Client, Job, Jobs, SyncClient
from ojs_aws.client.transports.in_process import InProcessTransport
from ojs_aws.middleware.protocols import EnqueueNext
from ojs_aws.typed_jobs import clients
from tests.simulation.world import World


def made(worlds: list[World]) -> Client:
    """Make a client of a backend of its own."""
    worlds.append(World())
    return Client(transport=InProcessTransport(worlds[-1].backend), middleware=[])


async def test_a_client_in_use_comes_first() -> None:
    """The innermost one, for as long as its block lasts, and for this task alone."""
    worlds: list[World] = []
    jobs = Jobs()
    jobs.configure(lambda: made(worlds))

    @jobs.job("a.b")
    async def run() -> None: ...

    async def elsewhere() -> None:
        await run.enqueue()

    outer, inner = made(worlds), made(worlds)
    with outer.use():
        with inner.use():
            await run.enqueue()
        await run.enqueue()
        await run.enqueue()
    await asyncio.create_task(elsewhere())
    counts = [len(world.stored.jobs) for world in worlds]
    assert counts == [2, 1, 1]


def test_each_event_loop_has_a_client_of_its_own() -> None:
    worlds: list[World] = []
    jobs = Jobs()
    jobs.configure(lambda: made(worlds))

    @jobs.job("a.b")
    async def run() -> None: ...

    async def twice() -> None:
        await run.enqueue()
        await run.enqueue()

    asyncio.run(twice())
    asyncio.run(twice())
    run.enqueue_sync()
    run.enqueue_sync()
    jobs.close_sync()
    assert [len(world.stored.jobs) for world in worlds] == [2, 2, 2]


def test_threads_share_a_client_until_it_is_closed() -> None:
    """So what the environment says later does not count before that."""
    worlds: list[World] = []
    holder = clients.Clients(lambda: made(worlds))
    here = holder.for_threads()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(holder.for_threads).result() is here
    assert len(worlds) == 1
    holder.close_sync()
    holder.for_threads()
    holder.close_sync()
    assert len(worlds) == 2


async def test_an_application_closes_its_clients() -> None:
    worlds: list[World] = []
    jobs = Jobs()
    jobs.configure(lambda: made(worlds))

    @jobs.job("a.b")
    async def run() -> None: ...

    await run.enqueue()
    await jobs.close()
    await run.enqueue()
    assert len(worlds) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process cannot fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_makes_new_clients() -> None:
    """Those of its parent stay open: the parent goes on using them."""
    worlds: list[World] = []
    jobs = Jobs()
    jobs.configure(lambda: made(worlds))

    @jobs.job("a.b")
    async def run() -> None: ...

    run.enqueue_sync()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run.enqueue_sync()
            code = 0 if len(worlds) == 2 else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    run.enqueue_sync()
    assert [len(world.stored.jobs) for world in worlds] == [2]
    jobs.close_sync()


async def test_nothing_configured_names_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OJS_URL", raising=False)
    monkeypatch.delenv("OJS_TABLE", raising=False)
    jobs = Jobs()

    @jobs.job("a.b")
    async def run() -> None: ...

    with pytest.raises(ValueError, match=r"^Set OJS_URL to the URL of an OJS server"):
        await run.enqueue()
    with pytest.raises(ValueError, match=r"^Set OJS_URL"):
        run.enqueue_sync()


async def test_the_environment_names_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OJS_URL", "http://127.0.0.1:8080")
    client = clients.FROM_ENVIRONMENT.for_loop()
    assert clients.FROM_ENVIRONMENT.for_loop() is client
    await clients.FROM_ENVIRONMENT.close()


async def test_the_loop_is_never_guessed() -> None:
    """A client that waits is none for synchronous code, nor the other way round."""
    jobs = Jobs()

    @jobs.job("a.b")
    async def run() -> None: ...

    worlds: list[World] = []
    client = made(worlds)
    with client.use(), pytest.raises(RuntimeError, match="send by await enqueue"):
        run.enqueue_sync()
    with SyncClient(client=client).use(), pytest.raises(RuntimeError, match="enqueue_sync"):
        await run.enqueue()


def test_only_a_function_makes_clients() -> None:
    with pytest.raises(TypeError, match="lambda: Client"):
        Jobs().configure("http://127.0.0.1:8080")  # type: ignore[arg-type]


async def test_sending_without_await_in_an_event_loop_warns() -> None:
    """At the line that sends; outside of a loop nothing stands still."""
    worlds: list[World] = []
    jobs = Jobs()
    jobs.configure(lambda: made(worlds))

    @jobs.job("a.b")
    async def run() -> None: ...

    for send in (run.enqueue_sync, run.call().enqueue_sync):
        with pytest.warns(RuntimeWarning, match="write await enqueue") as caught:
            send()
        assert caught[0].filename == __file__
    await asyncio.to_thread(run.enqueue_sync)
    jobs.close_sync()


async def test_one_function_gives_typed_jobs_and_clients_their_middleware() -> None:
    """As docs/middleware.md says: a client has the middleware that it was made with."""
    seen: list[str] = []

    async def noting(job: Job, call_next: EnqueueNext) -> Job | None:
        seen.append(job.type)
        return await call_next(job)

    world = World()

    def make_client() -> Client:
        return Client(transport=InProcessTransport(world.backend), middleware=[noting])

    jobs = Jobs()
    jobs.configure(make_client)

    @jobs.job("a.b")
    async def run() -> None: ...

    await run.enqueue()
    await make_client().enqueue("c.d")
    assert seen == ["a.b", "c.d"]
