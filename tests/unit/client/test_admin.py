"""Jobs, events and the whole deployment through the client: over HTTP and directly, the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ojs_aws.client import Client, SyncClient
from ojs_aws.client.http import HttpTransport
from ojs_aws.client.in_process import InProcessTransport
from ojs_aws.domain.errors import ConflictError, InvalidRequestError, NotFoundError
from ojs_aws.domain.events import Event
from ojs_aws.domain.json_text import RawJson
from ojs_aws.services.jobs.fetch import FetchRequest
from tests.simulation.world import World, count_changes
from tests.unit.client.doubles import FakeTimer
from tests.unit.client.test_cron import ApiServer

UNKNOWN = "01990000-0000-7000-8000-00000000ffff"


@pytest.fixture
def world() -> World:
    """A fresh backend over the model."""
    return World()


@pytest.fixture(params=["http", "direct"])
def client(request: pytest.FixtureRequest, world: World) -> Client:
    """A client of each kind."""
    if request.param == "direct":
        return Client(transport=InProcessTransport(world.backend))
    return Client(transport=HttpTransport(ApiServer(world).connection(FakeTimer())))


async def test_jobs_are_found_and_read(client: Client, world: World) -> None:
    """By filter and page; the detail has the history."""
    made = [(await client.enqueue("demo.echo", [n])).id for n in range(3)]
    await client.enqueue("mail.send", [1])
    page = await client.jobs.list(queue="default", states=["available"], type="demo.*", limit=2)
    assert (len(page.jobs), bool(page.cursor), page.is_exact) == (2, True, False)
    rest = await client.jobs.list(
        queue="default", states=["available"], type="demo.*", limit=2, cursor=page.cursor
    )
    assert {job.id for job in (*page.jobs, *rest.jobs)} == set(made)
    first = (await client.jobs.list(oldest_first=True)).jobs[0]
    assert (first.id, first.type, first.state, first.attempt) == (
        made[0],
        "demo.echo",
        "available",
        0,
    )
    now = datetime.fromtimestamp(world.clock.at / 1000, UTC)
    assert not (await client.jobs.list(since=now + timedelta(seconds=1))).jobs
    detail = await client.jobs.detail(made[0], events=True)
    assert detail["history"]
    assert "events" in detail
    with pytest.raises(NotFoundError):
        await client.jobs.detail(UNKNOWN)


async def test_jobs_are_cancelled_and_retried(client: Client, world: World) -> None:
    """One by one, and all of a filter, part by part."""
    one = (await client.enqueue("demo.echo", [1])).id
    assert (await client.jobs.cancel(one)).state == "cancelled"
    with pytest.raises(ConflictError):
        await client.jobs.retry(one)
    for number in range(120):
        await client.enqueue("demo.echo", [number], queue="many")
    dry = [part async for part in client.jobs.change_all("cancel", queue="many", dry_run=True)]
    assert [part.matched for part in dry] == [120]
    done = [part async for part in client.jobs.change_all("cancel", queue="many")]
    assert [len(part.succeeded) for part in done] == [100, 20]
    assert not any(part.failed for part in done)
    assert all(job.state == "cancelled" for job in world.store.jobs.values())
    with pytest.raises(InvalidRequestError, match="empty"):
        await client.jobs.change_some("cancel")


async def test_the_whole_deployment_is_described(client: Client, world: World) -> None:
    """Statistics now and in time, settings."""
    count_changes(world)
    job_id = (await client.enqueue("demo.echo", [1])).id
    world.backend.fetch(FetchRequest(("default",), worker_id="w"))
    world.backend.ack(job_id, "w", None)
    world.clock.advance(s=1)
    stats = await client.system.stats()
    assert stats["jobs"] == {**dict.fromkeys(stats["jobs"], 0), "completed": 1}  # type: ignore[arg-type]
    history = await client.system.history("1m", queue="default")
    assert sum(int(str(point["completed"])) for point in history) == 1
    assert "settings" in await client.system.config()


async def test_a_queue_is_purged_part_by_part(client: Client) -> None:
    """The cursor goes on."""
    for number in range(120):
        await client.enqueue("demo.echo", [number])
    first = await client.queues.purge("default", ["available"])
    assert (first.deleted, first.cancelled, bool(first.cursor)) == (0, 100, True)
    second = await client.queues.purge("default", ["available"], cursor=first.cursor)
    assert (second.cancelled, second.cursor) == (20, "")


async def test_events_are_read_and_followed(client: Client, world: World) -> None:
    """From the latest on, and as they come."""

    def tell(number: int) -> None:
        event = Event(
            id=f"evt_01990000-0000-7000-8000-{number:012x}",
            type="job.enqueued",
            time=world.clock.now(),
            subject=UNKNOWN,
            data=RawJson('{"queue":"default"}'),
            queue="default",
            job_type="demo.echo",
        )
        world.events.append([event], world.clock.now())

    tell(1)
    page = await client.events.read(types=["job.*"], queues=["default"])
    assert [event["type"] for event in page.events] == ["job.enqueued"]
    assert not (await client.events.read(queues=["email"])).events
    seen = []
    async for event in client.events.follow(types=["job.*"], poll_s=0.001):
        seen.append(str(event["id"])[-1])
        if len(seen) == 3:
            break
        tell(len(seen) + 1)
    assert seen == ["1", "2", "3"]


def test_the_synchronous_client_has_the_same(world: World) -> None:
    """Without await."""
    with SyncClient(client=Client(transport=InProcessTransport(world.backend))) as client:
        job_id = client.enqueue("demo.echo", [1]).id
        assert [job.id for job in client.jobs.list().jobs] == [job_id]
        assert client.jobs.detail(job_id)["id"] == job_id
        assert client.jobs.change_some("cancel", queue="default").succeeded == [job_id]
        assert client.events.read().events == []
        assert client.system.stats()["queues"] == 1
