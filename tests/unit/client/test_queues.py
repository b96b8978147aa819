"""Queues through the client: over HTTP and directly, with the same outcome."""

from __future__ import annotations

import pytest

from ojs_aws.client import Client, SyncClient
from ojs_aws.client.direct import DirectTransport
from ojs_aws.client.http import HttpTransport
from ojs_aws.domain.errors import NotFoundError
from tests.simulation.world import World
from tests.unit.client.doubles import FakeTimer
from tests.unit.client.test_cron import ApiServer


@pytest.fixture
def world() -> World:
    """A fresh backend over the model."""
    return World()


@pytest.fixture(params=["http", "direct"])
def client(request: pytest.FixtureRequest, world: World) -> Client:
    """A client of each kind."""
    if request.param == "direct":
        return Client(transport=DirectTransport(world.backend))
    return Client(transport=HttpTransport(ApiServer(world).connection(FakeTimer())))


async def test_a_queue_is_paused_counted_and_resumed(client: Client, world: World) -> None:
    """And listed with the others."""
    world.registry.ensure("email", world.clock.now())
    await client.enqueue("email.send", queue="email")
    paused = await client.queues.pause("email")
    assert (paused.name, paused.paused) == ("email", True)
    assert paused.paused_at is not None
    numbers = await client.queues.stats("email")
    assert (numbers.name, numbers.paused, numbers.available, numbers.depth) == ("email", True, 1, 1)
    assert numbers.estimated in ([], ())
    resumed = await client.queues.resume("email")
    assert (resumed.paused, resumed.paused_at) == (False, None)
    assert [entry.name for entry in await client.queues.list()] == ["default", "email"]
    with pytest.raises(NotFoundError):
        await client.queues.stats("never")


async def test_more_queues_than_a_page_are_listed(client: Client, world: World) -> None:
    """Page by page."""
    for number in range(250):
        world.registry.ensure(f"q{number:03d}", world.clock.now())
    assert len(await client.queues.list()) == 251


def test_the_synchronous_client_has_the_same(world: World) -> None:
    """Without await."""
    with SyncClient(client=Client(transport=DirectTransport(world.backend))) as client:
        assert client.queues.pause("default").paused
        assert client.queues.stats("default").paused
        assert not client.queues.resume("default").paused
        assert [entry.paused for entry in client.queues.list()] == [False]
