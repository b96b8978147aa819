"""Workers for operators: listed, directed and removed."""

from __future__ import annotations

import pytest

from ojs_aws.client import Client, SyncClient
from ojs_aws.domain.errors import ConflictError, NotFoundError
from ojs_aws.domain.workers import WorkerReport
from tests.simulation.world import World


def beat(world: World, worker_id: str, about: str = "") -> str:
    """A heartbeat; the worker's directive."""
    return world.backend.workers.heartbeat(worker_id, [], None, WorkerReport(about=about)).state


async def test_workers_are_listed_and_directed(world: World, client: Client) -> None:
    """One by one, and those with a label; page by page."""
    beat(world, "a", '{"hostname":"h","queues":["email"],"labels":["v1"]}')
    beat(world, "b", '{"labels":["v2"]}')
    page = await client.workers.list(limit=1)
    (first,) = page.workers
    assert (first.id, first.hostname, first.queues, first.labels) == ("a", "h", ("email",), ("v1",))
    assert (first.state, first.directive, first.is_stale) == ("running", "running", False)
    assert page.summary["total"] == page.summary["running"] == 2
    rest = await client.workers.list(cursor=page.cursor)
    assert [worker.id for worker in rest.workers] == ["b"]
    assert rest.cursor == ""
    await client.workers.quiet("a")
    assert (await client.workers.get("a")).directive == beat(world, "a") == "quiet"
    await client.workers.resume("a")
    assert beat(world, "a") == "running"
    assert (await client.workers.quiet_all(label="v2")).directed == ["b"]
    assert (await client.workers.resume_all(queue="nobody")).directed == []
    assert (await client.workers.terminate_all()).directed == ["a", "b"]
    assert (await client.workers.resume_all()).refused == ["a", "b"]
    with pytest.raises(ConflictError):
        await client.workers.quiet("a")
    with pytest.raises(NotFoundError):
        await client.workers.terminate("c")


async def test_a_stale_worker_is_removed(world: World, client: Client) -> None:
    """And only a stale one."""
    beat(world, "a")
    with pytest.raises(ConflictError):
        await client.workers.deregister("a")
    world.clock.advance(s=45)
    assert (await client.workers.get("a")).is_stale
    assert await client.workers.deregister("a") == []


def test_the_synchronous_client_has_them_too(world: World) -> None:
    """The same objects, run on its own loop."""
    beat(world, "a")
    with SyncClient.direct(backend=world.backend) as client:
        assert [worker.id for worker in client.workers.list().workers] == ["a"]
        assert client.dead_letter.list().jobs == []
