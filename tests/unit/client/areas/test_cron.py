"""Cron jobs through the client: over HTTP and directly, with the same outcome."""

from __future__ import annotations

import httpx
import pytest

from ojs_aws.client import Client, SyncClient
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, InvalidRequestError, NotFoundError
from ojs_aws.domain.timestamps import parse_timestamp
from tests.simulation.world import World
from tests.unit.client.doubles import ApiServer


@pytest.fixture
def world() -> World:
    """A fresh backend over the model, in February 2026."""
    made = World()
    made.clock.at = parse_timestamp("2026-02-12T20:15:00Z", "test")
    return made


@pytest.fixture
def server(world: World) -> ApiServer:
    """A server over it."""
    return ApiServer(world)


async def test_a_life_of_a_cron_job(client: Client, world: World) -> None:
    """Registered, changed, triggered, paused, resumed, listed, deleted."""
    job = Job("report.make", [1.5], queue="reports", meta={"owner": "me"}, timeout_s=30)
    made = await client.cron.register(
        "daily", "0 9 * * *", job, timezone="America/New_York", description="Every day"
    )
    assert (made.name, made.cron, made.type) == ("daily", "0 9 * * *", "report.make")
    assert made.next_run_at == "2026-02-13T14:00:00.000Z"
    assert (made.overlap_policy, made.enabled, made.run_count) == ("skip", True, 0)
    assert made.attributes["args"] == [1.5]
    triggered = await client.cron.trigger("daily")
    stored = world.stored.jobs[triggered.job_id or ""]
    assert (stored.queue, stored.timeout_ms) == ("reports", 30_000)
    assert '"owner":"me"' in str(stored.document)
    assert (await client.cron.get("daily")).run_count == 1
    await client.cron.register("other", "@every 5m", "a.b", [1], enabled=False)
    assert [entry.name for entry in await client.cron.list()] == ["daily", "other"]
    assert [entry.name for entry in await client.cron.list(enabled=True)] == ["daily"]
    assert (await client.cron.resume("other")).next_run_at == "2026-02-12T20:20:00.000Z"
    assert (await client.cron.pause("daily")).next_run_at is None
    await client.cron.delete("daily")
    with pytest.raises(NotFoundError):
        await client.cron.get("daily")


async def test_what_is_wrong_is_raised_with_the_field(client: Client) -> None:
    """As the backend says it."""
    with pytest.raises(InvalidRequestError, match="minute") as caught:
        await client.cron.register("daily", "61 * * * *", "a.b")
    assert caught.value.details["expression_field"] == "minute"


async def test_a_trigger_that_is_skipped_says_why(client: Client) -> None:
    """And names no job."""
    await client.cron.register("daily", "@daily", "a.b", overlap_policy="enqueue")
    assert (await client.cron.trigger("daily")).reason is None


async def test_many_cron_jobs_are_read_page_by_page(client: Client) -> None:
    """To the last one."""
    for number in range(205):
        await client.cron.register(f"job-{number:03}", "@daily", "a.b")
    assert len(await client.cron.list()) == 205


async def test_a_trigger_is_not_sent_again(server: ApiServer) -> None:
    """It may have taken effect; a registration may be repeated."""
    client = server.client()
    server.script = [httpx.ReadTimeout("lost")]
    await client.cron.register("daily", "@daily", "a.b")
    server.script = [httpx.ReadTimeout("lost")]
    with pytest.raises(BackendError):
        await client.cron.trigger("daily")
    assert len(server.requests) == 3


def test_the_synchronous_client_has_them_too(server: ApiServer) -> None:
    """Without await."""
    with SyncClient(client=server.client()) as client:
        client.cron.register("daily", "@daily", "a.b")
        assert [entry.name for entry in client.cron.list()] == ["daily"]
