"""Fair queues: a job's place is given, or not, and the job is never lost for want of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tests.faults.running import Scenario
from tests.faults.scenarios.parts import FIRST, QUICK, held
from tests.faults.scenarios.pushing import batch, envelopes
from tests.faults.world import World

A: Final[dict[str, Any]] = {"fairness": {"key": "a"}}
B: Final[dict[str, Any]] = {"fairness": {"key": "b", "weight": 2}}


def flooded(world: World) -> None:
    """A queue in which some jobs of a key wait."""
    for _ in range(3):
        world.push(**A)
    world.flow()


def due(world: World) -> None:
    """And one of another key that has become due."""
    flooded(world)
    world.push(**B, scheduled_at="+PT10S")
    world.flow()
    world.clock.advance(s=11)


def lapsed(world: World) -> None:
    """A job with a place whose worker fell silent."""
    held(world, **A, retry=QUICK)
    world.clock.advance(s=31)


def waiting(world: World) -> None:
    """A job that waits for a retry."""
    held(world, **A, retry=QUICK)
    world.fail(FIRST)
    world.flow()
    world.clock.advance(s=5)


def learning(world: World) -> None:
    """Jobs of a queue that learns what starts cost have run, and nobody has counted them yet."""
    config = {"fairness": {"cost": "run_time"}}
    world.ask("PUT", "/queues/default/config", config)
    world.flow()
    for _ in range(2):
        world.push(**A)
    for job in world.fetch(count=2):
        world.ack(job["id"])


def flow(world: World) -> None:
    """The stream's consumer, which learns; then a job that costs what was learnt."""
    world.flow()
    world.clock.advance(s=6)
    world.push(**B)


def fetches(world: World) -> None:
    """Fetch twice."""
    for worker in ("w1", "w2"):
        world.fetch(worker)


def scenario(name: str, play: Callable[[World], None], **more: Any) -> Scenario:
    """One in a fair queue."""
    return Scenario(name=f"fair-{name}", play=play, **more)


FAIRNESS: Final = (
    scenario("begins", lambda world: world.pushes(**A)),
    scenario("goes-on", lambda world: world.pushes(**B), before=flooded),
    scenario("batch", lambda world: batch(world, envelopes(3, **A)), before=flooded),
    scenario("learns", flow, before=learning),
    scenario("due", fetches, before=due),
    scenario("lapsed", fetches, before=lapsed),
    scenario("retried", fetches, before=waiting),
)
