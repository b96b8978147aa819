"""What workers do: FETCH, ACK, FAIL, BEAT, progress, checkpoints."""

from __future__ import annotations

from typing import Final

from tests.faults.running import Scenario
from tests.faults.scenarios.parts import ALONE, DEAD, FIRST, ITEM, OBJECT, ONCE, QUICK, held
from tests.faults.world import World


def several(world: World) -> None:
    """Three jobs, with documents everywhere."""
    for text in ("small", ITEM, OBJECT):
        world.push(args=[text])
    world.flow()


def fetch_twice(world: World) -> None:
    """Two workers, one after the other; the index may not show the second what the first has."""
    for worker in ("w1", "w2"):
        world.fetch(worker)


def retryable(world: World) -> None:
    """A job whose retry is due."""
    held(world, retry=QUICK)
    world.fail(FIRST)
    world.flow()
    world.clock.advance(s=5)


def lapsed(world: World) -> None:
    """A job whose worker fell silent."""
    held(world, retry=QUICK)
    world.clock.advance(s=31)


def expired(world: World) -> None:
    """A job whose time is over before anybody has it, and one behind it."""
    world.push(expires_at="+PT5S", args=[OBJECT])
    world.push()
    world.flow()
    world.clock.advance(s=6)


def two_limited(world: World) -> None:
    """Two jobs, one at a time."""
    for _ in range(2):
        world.push(rate_limit=ALONE)
    world.flow()


def take_turns(world: World) -> None:
    """The second has to wait for the first."""
    for job in world.fetch("w1"):
        world.fetch("w2")
        world.ack(job["id"], "w1")
    for job in world.fetch("w2"):
        world.ack(job["id"], "w2")


def limited(world: World) -> None:
    """One of two has the only place."""
    two_limited(world)
    world.fetch()
    world.flow()


def beat(world: World) -> None:
    """A heartbeat of a worker with a job."""
    body = {"worker_id": "w1", "active_jobs": [FIRST], "visibility_timeout_ms": 60_000}
    world.ask("POST", "/workers/heartbeat", body, kind="beat", worker="w1", job_id=FIRST)
    world.clock.advance(s=40)
    if world.jobs[FIRST].state != "active":
        world.breach("a heartbeat did not extend")
    world.ack(FIRST)


def beats(world: World) -> None:
    """Heartbeats of a worker that promises some: two of them leave the row of the job."""
    body = {"worker_id": "w1", "active_jobs": [FIRST], "heartbeat_interval_ms": 5_000}
    for _ in range(4):
        world.ask("POST", "/workers/heartbeat", body, kind="beat", worker="w1", job_id=FIRST)
        world.clock.advance(s=5)


def beats_and_ends(world: World) -> None:
    """And then the job is completed."""
    beats(world)
    world.ack(FIRST)


def checkpoints(world: World) -> None:
    """Two that are kept elsewhere, one after the other, and the end."""
    path = f"/jobs/{FIRST}/checkpoint"
    for text in (ITEM, OBJECT):
        body = {"state": {"at": text}, "worker_id": "w1"}
        world.ask("PUT", path, body, kind="beat", worker="w1", job_id=FIRST)
        world.flow()
    world.ask("DELETE", path, kind="beat", worker="w1", job_id=FIRST, then=(404,))
    world.ack(FIRST)


def progress(world: World) -> None:
    """How far, with a checkpoint."""
    body = {"worker_id": "w1", "progress": 0.5, "message": "half", "checkpoint": {"at": ITEM}}
    path = f"/jobs/{FIRST}/progress"
    world.ask("PUT", path, body, kind="beat", worker="w1", job_id=FIRST)
    world.ack(FIRST, result={"n": 1})


def ready(world: World) -> None:
    """A job that the stream has published."""
    world.push(retry=QUICK)
    world.push()
    world.flow()


def leaving(world: World) -> None:
    """A job whose ACK leaves its message to the stream's consumer."""
    world.configure(stream_deletes_messages=True)
    held(world)


def listed_late(world: World) -> None:
    """A job whose ACK leaves it to the stream's consumer to list it."""
    world.configure(stream_lists_completed=True)
    held(world)


def result(text: str) -> Scenario:
    """ACK with a result."""
    where = "item" if text is ITEM else "object"
    return Scenario(
        name=f"ack-with-a-result-in-an-{where}",
        before=lambda world: void(held(world)),
        play=lambda world: void(world.ack(FIRST, result={"text": text})),
        leaves_documents=True,
    )


def void(_: object) -> None:
    """Nothing."""


WORKING: Final = (
    Scenario(name="fetch", before=ready, play=lambda world: void(world.fetch())),
    Scenario(name="fetch-twice", before=ready, play=fetch_twice),
    Scenario(name="fetch-several", before=several, play=lambda world: void(world.fetch(count=3))),
    Scenario(name="fetch-retryable", before=retryable, play=lambda world: void(world.fetch())),
    Scenario(name="fetch-lapsed", before=lapsed, play=lambda world: void(world.fetch("w2"))),
    Scenario(name="fetch-expired", before=expired, play=lambda world: void(world.fetch())),
    Scenario(name="fetch-limited", before=two_limited, play=take_turns),
    Scenario(name="deliver", before=several, play=lambda world: void(world.deliver())),
    Scenario(
        name="deliver-failing",
        before=ready,
        play=lambda world: void(world.deliver(ending="fail")),
    ),
    Scenario(
        name="deliver-beating",
        before=ready,
        play=lambda world: void(world.deliver(ending="beat")),
    ),
    Scenario(name="deliver-limited", before=two_limited, play=lambda world: void(world.deliver())),
    Scenario(
        name="ack",
        before=lambda world: void(held(world)),
        play=lambda world: void(world.ack(FIRST)),
    ),
    Scenario(name="ack-leaving", before=leaving, play=lambda world: void(world.ack(FIRST))),
    Scenario(name="ack-listing", before=listed_late, play=lambda world: void(world.ack(FIRST))),
    result(ITEM),
    result(OBJECT),
    Scenario(name="ack-limited", before=limited, play=lambda world: void(world.ack(FIRST))),
    Scenario(
        name="fail",
        before=lambda world: void(held(world, retry=QUICK)),
        play=lambda world: void(world.fail(FIRST)),
    ),
    Scenario(
        name="fail-far",
        before=lambda world: void(held(world, retry={"initial_interval": "PT10M"})),
        play=lambda world: void(world.fail(FIRST)),
    ),
    Scenario(
        name="fail-for-good",
        before=lambda world: void(held(world, retry=ONCE, args=[OBJECT])),
        play=lambda world: void(world.fail(FIRST)),
    ),
    Scenario(
        name="fail-to-dead-letter",
        before=lambda world: void(held(world, retry=DEAD)),
        play=lambda world: void(world.fail(FIRST)),
    ),
    Scenario(
        name="fail-limited",
        before=limited,
        play=lambda world: void(
            world.fail(FIRST, details={"rate_limit_until": "2025-10-09T08:54:20Z"})
        ),
    ),
    Scenario(
        name="give-back",
        before=lambda world: void(held(world, retry=ONCE)),
        play=lambda world: void(world.give_back(FIRST)),
    ),
    Scenario(
        name="give-back-limited",
        before=limited,
        play=lambda world: void(world.give_back(FIRST)),
    ),
    Scenario(
        name="snooze",
        before=lambda world: void(held(world, retry=ONCE)),
        play=lambda world: void(world.give_back(FIRST, delay_ms=1000)),
    ),
    Scenario(
        name="snooze-far",
        before=lambda world: void(held(world, retry=ONCE)),
        play=lambda world: void(world.give_back(FIRST, delay_ms=120_000)),
    ),
    Scenario(
        name="snooze-limited",
        before=limited,
        play=lambda world: void(world.give_back(FIRST, delay_ms=1000)),
    ),
    Scenario(name="beat", before=lambda world: void(held(world)), play=beat),
    Scenario(name="beats", before=lambda world: void(held(world)), play=beats_and_ends),
    Scenario(name="beats-silent", before=lambda world: void(held(world)), play=beats),
    Scenario(
        name="checkpoints",
        before=lambda world: void(held(world)),
        play=checkpoints,
        leaves_documents=True,
    ),
    Scenario(
        name="progress",
        before=lambda world: void(held(world)),
        play=progress,
        leaves_documents=True,
    ),
)
