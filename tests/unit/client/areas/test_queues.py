"""Queues through the client: over HTTP and directly, with the same outcome."""

from __future__ import annotations

import pytest

from ojs_aws.client import Client, SyncClient
from ojs_aws.domain.errors import (
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    QueueDrainingError,
    QueueFullError,
)
from tests.simulation.world import World


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
    with SyncClient(client=Client.direct(backend=world.backend)) as client:
        assert client.queues.pause("default").paused
        assert client.queues.stats("default").paused
        assert not client.queues.resume("default").paused
        assert [entry.paused for entry in client.queues.list()] == [False]


async def test_a_queue_is_created_configured_limited_and_deleted(client: Client) -> None:
    """Each operation over either way, with the same answers."""
    made = await client.queues.create("media", {"max_size": 2, "visibility_timeout": 60})
    assert (made.name, made.state) == ("media", "active")
    assert made.own == {"max_size": 2, "visibility_timeout": 60}
    with pytest.raises(ConflictError):
        await client.queues.create("media")
    changed = await client.queues.configure("media", {"visibility_timeout": None, "concurrency": 3})
    assert changed.own == {"max_size": 2, "concurrency": 3}
    assert changed.config["visibility_timeout"] == 1800
    limited = await client.queues.limit("media", {"concurrency": 5})
    assert limited["key"] == "queue:media"
    assert (await client.queues.settings("media")).own["concurrency"] == 5
    await client.queues.limit("media", None)
    assert "concurrency" not in (await client.queues.settings("media")).own
    with pytest.raises(InvalidRequestError) as refused:
        await client.queues.configure("media", {"max_size": -1})
    assert refused.value.details["field"] == "max_size"
    await client.queues.delete("media")
    with pytest.raises(NotFoundError):
        await client.queues.settings("media")
    with pytest.raises(NotFoundError):
        await client.queues.delete("never")


async def test_a_full_or_draining_queue_is_an_error_of_its_own(
    client: Client, world: World
) -> None:
    """With what to do about it; over HTTP a full one is tried again before."""
    await client.queues.configure("small", {"max_size": 1})
    await client.enqueue("demo.echo", queue="small")
    with pytest.raises(QueueFullError) as full:
        await client.enqueue("demo.echo", queue="small")
    assert (full.value.details["depth"], full.value.details["bound"]) == (1, 1)
    with pytest.raises(ConflictError):
        await client.queues.delete("small")
    assert (await client.queues.drain("small")).state == "draining"
    world.clock.advance(s=5)
    with pytest.raises(QueueDrainingError):
        await client.enqueue("demo.echo", queue="small")
    await client.queues.resume("small")
    assert (await client.queues.settings("small")).state == "active"


async def test_a_queue_is_purged_part_by_part(client: Client) -> None:
    """The cursor goes on."""
    for number in range(120):
        await client.enqueue("demo.echo", [number])
    first = await client.queues.purge("default", ["available"])
    assert (first.deleted, first.cancelled, bool(first.cursor)) == (0, 100, True)
    second = await client.queues.purge("default", ["available"], cursor=first.cursor)
    assert (second.cancelled, second.cursor) == (20, "")


@pytest.mark.parametrize("states", [["available", "cancelled"], ["cancelled", "available"]])
async def test_a_purge_of_waiting_and_cancelled_jobs_leaves_neither(
    client: Client, states: list[str]
) -> None:
    """Whatever the order of the states, and although a part of it is repeated."""
    older = await client.enqueue("demo.echo", [1])
    await client.enqueue("demo.echo", [2])
    await client.cancel(older.id)
    first = await client.queues.purge("default", states)
    assert (first.deleted, first.cancelled) == (0, 1)
    repeated = await client.queues.purge("default", states)
    assert (repeated.deleted, repeated.cancelled, repeated.cursor) == (2, 0, "")
