"""Workers and dead letters through the client: over HTTP and directly, with the same results."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from urllib.parse import parse_qsl

import httpx
import pytest

from ojs_aws.client import Client, HttpConnection, SyncClient
from ojs_aws.client.http import HttpTransport
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import ConflictError, InvalidRequestError, NotFoundError
from ojs_aws.domain.json_text import encode, parse_object
from ojs_aws.ports import WorkerReport
from ojs_aws.services.jobs.fetch import FetchRequest
from tests.api import Api
from tests.simulation.world import World
from tests.unit.client.doubles import FakeTimer


def over_http(world: World) -> Client:
    """A client of the functions, without a network."""
    api = Api(world.backend)

    def handle(request: httpx.Request) -> httpx.Response:
        reply = api.send(
            request.method,
            request.url.path,
            request.content,
            query=dict(parse_qsl(request.url.query.decode())),
            headers=dict(request.headers),
        )
        return httpx.Response(reply.status, text=reply.text, headers=dict(reply.headers))

    connection = HttpConnection(
        "http://ojs", timer=FakeTimer(), http_transport=httpx.MockTransport(handle)
    )
    return Client(transport=HttpTransport(connection), middleware=[])


@pytest.fixture
def world() -> World:
    """A fresh backend over the model."""
    return World()


@pytest.fixture(params=["http", "direct"])
async def client(world: World, request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    """A client of it, either way."""
    made = over_http(world) if request.param == "http" else Client.direct(backend=world.backend)
    async with made as client:
        yield client


def beat(world: World, worker_id: str, about: str = "") -> str:
    """A heartbeat; what the worker is told."""
    return world.backend.heartbeat(worker_id, [], None, WorkerReport(about=about)).state


def die(world: World, error_type: str = "Broken", **attributes: object) -> str:
    """Push a job and fail it for good."""
    policy = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
    given = {"type": "a.b", "args": [1], "retry": policy} | attributes
    record = world.backend.push(Job(**given)).record  # type: ignore[arg-type]
    assert record is not None
    world.backend.fetch(FetchRequest((record.queue,)))
    world.backend.fail(record.id, None, parse_object(encode({"type": error_type, "message": "m"})))
    world.clock.advance(s=1)
    return record.id


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
    assert (await client.workers.quiet_all(label="v2")).told == ["b"]
    assert (await client.workers.resume_all(queue="nobody")).told == []
    assert (await client.workers.terminate_all()).told == ["a", "b"]
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


async def test_dead_letters_are_inspected_retried_and_removed(world: World, client: Client) -> None:
    """One at a time."""
    job_id = die(world, "DbError", meta={"a": 1})
    dead = await client.dead_letter.get(job_id)
    assert dead.state == "discarded"
    again = await client.dead_letter.retry(job_id, {"meta": {"b": 2}})
    assert (again.state, dict(again.meta)) == ("available", {"a": 1, "b": 2})
    with pytest.raises(NotFoundError):
        await client.dead_letter.get(job_id)
    with pytest.raises(InvalidRequestError):
        await client.dead_letter.retry(die(world, queue="other"), {"id": "x"})
    world.store.jobs.clear()
    gone = die(world)
    await client.dead_letter.delete(gone)
    assert world.store.jobs == {}


async def test_dead_letters_are_filtered_and_counted(world: World, client: Client) -> None:
    """By error, type and time; the statistics beside it."""
    first = die(world, "DbError")
    moment = datetime.fromtimestamp(world.clock.at / 1000, UTC)
    second = die(world, "Other", type="c.d")
    letters = client.dead_letter
    assert [job.id for job in (await letters.list(error_type="DbError")).jobs] == [first]
    assert [job.id for job in (await letters.list(since=moment)).jobs] == [second]
    assert [job.id for job in (await letters.list(type="c.d", queue="default")).jobs] == [second]
    page = await letters.list(limit=1)
    assert (len(page.jobs), page.total, page.is_exact, bool(page.cursor)) == (1, 2, True, True)
    assert len((await letters.list(limit=1, cursor=page.cursor)).jobs) == 1
    assert (await letters.list(error_type="Db", limit=1)).jobs == []
    assert (await letters.stats())["by_error_type"] == {"DbError": 1, "Other": 1}


async def test_many_dead_letters_are_changed_in_steps(world: World, client: Client) -> None:
    """Named ones, matching ones, all of them; each with its outcome."""
    letters = client.dead_letter
    named = die(world)
    unknown = "01990000-0000-7000-8000-ffffffffffff"
    result = await letters.retry_many(ids=[named, unknown])
    assert [(o.job_id, o.status) for o in result.outcomes] == [
        (named, "done"),
        (unknown, "not_found"),
    ]
    world.store.jobs.clear()
    for _ in range(3):
        die(world, "DbError")
    step = await letters.retry_many(error_type="DbError", limit=2)
    assert (step.done, bool(step.cursor)) == (2, True)
    rest = await letters.delete_many(limit=2, cursor=step.cursor)
    assert (rest.done, rest.cursor) == (1, "")


def test_the_synchronous_client_has_them_too(world: World) -> None:
    """The same objects, run on its own loop."""
    beat(world, "a")
    with SyncClient.direct(backend=world.backend) as client:
        assert [worker.id for worker in client.workers.list().workers] == ["a"]
        assert client.dead_letter.list().jobs == []
