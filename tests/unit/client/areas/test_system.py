"""The deployment as a whole: statistics and settings."""

from __future__ import annotations

from ojs_aws.client import Client
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.simulation.world import World, count_changes


async def test_the_whole_deployment_is_described(client: Client, world: World) -> None:
    """Statistics now and in time, settings."""
    count_changes(world)
    job_id = (await client.enqueue("demo.echo", [1])).id
    world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    world.backend.jobs.ack(job_id, "w", None)
    world.clock.advance(s=1)
    stats = await client.system.stats()
    assert stats["jobs"] == {**dict.fromkeys(stats["jobs"], 0), "completed": 1}  # type: ignore[arg-type]
    history = await client.system.history("1m", queue="default")
    assert sum(int(str(point["completed"])) for point in history) == 1
    assert "settings" in await client.system.config()


async def test_the_server_says_who_the_caller_is(client: Client) -> None:
    """Where access is open, anybody may do everything."""
    caller = await client.system.whoami()
    assert (caller.id, caller.queues, caller.types) == ("", [], [])
    assert sorted(caller.scopes) == ["admin", "operator", "producer", "read-only", "worker"]
