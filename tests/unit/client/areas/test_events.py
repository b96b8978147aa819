"""The log of lifecycle events: read page by page, and followed."""

from __future__ import annotations

from ojs_aws.client import Client
from ojs_aws.domain.events import Event
from ojs_aws.domain.json_text import RawJson
from tests.simulation.world import World
from tests.unit.client.doubles import UNKNOWN


async def test_events_are_read_and_followed(client: Client, world: World) -> None:
    """From the latest on, and as they come."""

    def publish(number: int) -> None:
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

    publish(1)
    page = await client.events.read(types=["job.*"], queues=["default"])
    assert [event["type"] for event in page.events] == ["job.enqueued"]
    assert not (await client.events.read(queues=["email"])).events
    seen = []
    async for event in client.events.follow(types=["job.*"], poll_s=0.001):
        seen.append(str(event["id"])[-1])
        if len(seen) == 3:
            break
        publish(len(seen) + 1)
    assert seen == ["1", "2", "3"]
