"""What follows from changes: events, tallies, depths, documents; and the export."""

from __future__ import annotations

from typing import Final

from tests.faults.running import Scenario
from tests.faults.scenarios.parts import ALONE, FIRST, ITEM, OBJECT, ONCE, QUICK, held
from tests.faults.scenarios.pushing import bounded, envelopes
from tests.faults.scenarios.workflows import CHAIN, begun
from tests.faults.world import World


def lives(world: World) -> None:
    """Jobs that have ended in each way, and whose end is not published yet."""
    bounded(world)
    done, broken = world.push(), world.push(retry=ONCE)
    again, gone = world.push(retry=QUICK), world.push(scheduled_at="+PT1H")
    world.fetch(count=3)
    world.ack(done, result={"text": ITEM})
    world.fail(broken)
    world.fail(again)
    world.ask("DELETE", f"/jobs/{gone}", kind="cancel")


def leaving(world: World) -> None:
    """The same, and the messages of those that were completed are there still."""
    world.configure(stream_deletes_messages=True)
    lives(world)


def listing(world: World) -> None:
    """The same, and nobody lists those that were completed."""
    world.configure(stream_lists_completed=True)
    lives(world)


def expired(world: World) -> None:
    """Jobs whose time to live is over: DynamoDB removes their items, and nothing else."""
    for text in (ITEM, OBJECT):
        job_id = held(world, args=[text], unique={"keys": ["type", "args"]})
        world.ack(job_id, result={"text": text})
    world.flow()
    world.forget_jobs()


def forgotten(world: World) -> None:
    """A workflow whose time to live is over, and its jobs' as well."""
    begun(world, CHAIN)
    for _ in range(3):
        world.flow()
        for job in world.fetch("w1", 5):
            world.ack(job["id"])
    world.flow()
    world.forget_jobs("workflow")


def limited(world: World) -> None:
    """Jobs that waited for a limit."""
    for _ in range(3):
        world.push(rate_limit=ALONE)
    for _ in range(2):
        for job in world.fetch(count=2):
            world.ack(job["id"])


def replaced(world: World) -> None:
    """A job whose checkpoint was replaced."""
    held(world)
    for text in (ITEM, OBJECT, "small"):
        body = {"state": {"at": text}, "worker_id": "w1"}
        path = f"/jobs/{FIRST}/checkpoint"
        world.ask("PUT", path, body, kind="beat", worker="w1", job_id=FIRST)


def operated(world: World) -> None:
    """A bulk operation, and settings: published by the stream as well."""
    body = {"jobs": envelopes(2), "idempotency_key": "k"}
    world.ask("POST", "/jobs/bulk", body, kind="push")
    world.ask("POST", "/queues/default/pause")
    world.ask("POST", "/queues/default/resume")
    world.ask("POST", "/workers/heartbeat", {"worker_id": "w1"}, kind="beat", worker="w1")


def flow(world: World) -> None:
    """The stream's consumer."""
    world.flow()


FOLLOWING: Final = (
    Scenario(name="stream", before=lives, play=flow),
    Scenario(name="stream-deleting", before=leaving, play=flow),
    Scenario(name="stream-listing", before=listing, play=flow),
    Scenario(name="stream-expired", before=expired, play=flow, removes=True),
    Scenario(name="stream-forgotten", before=forgotten, play=flow, removes=True),
    Scenario(name="stream-limited", before=limited, play=flow),
    Scenario(name="stream-checkpoints", before=replaced, play=flow),
    Scenario(name="stream-operators", before=operated, play=flow),
    Scenario(name="export", before=lives, play=lambda world: world.export()),
)
