"""Limits of tenants, set for each of them or for all: what they refuse, and what they hold back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from tests.faults.running import Scenario
from tests.faults.scenarios.pushing import TENANT, batch, envelopes
from tests.faults.world import World

EACH: Final = json.dumps({"max_concurrency": 1, "max_queue_depth": 50})
FEW: Final = json.dumps({"max_queue_depth": 1})
REFUSED: Final = "01990000-0000-7000-8000-0000000000fe"


def crowded(world: World) -> None:
    """Three jobs of a tenant, and one of another."""
    for _ in range(3):
        world.push(**TENANT)
    world.push(meta={"tenant_id": "beta"})
    world.flow()


def in_turn(world: World) -> None:
    """Fetch what may run, and end it, twice: the tenant's jobs have to wait for each other."""
    for worker in ("w1", "w2"):
        for job in world.fetch(worker, 4):
            world.ack(job["id"], worker)


def running(world: World) -> None:
    """A job of a tenant runs, and another one was passed by: an event says so."""
    crowded(world)
    world.fetch("w1", 1)
    world.fetch("w2", 4)


def refused(world: World) -> None:
    """A job too much; its client does not come back."""
    body = {"type": "demo.echo", "args": [], "id": REFUSED, **TENANT}
    world.ask("POST", "/jobs", body, kind="push", tries=1, ok=(429,))


def is_not_there(world: World) -> None:
    """A refused job was never stored."""
    if REFUSED in world.jobs:
        world.breach("a job that was refused is there")


def one(world: World) -> None:
    """A job of a tenant that may have one."""
    world.push(**TENANT)
    world.flow()


def suspended(world: World) -> None:
    """A tenant with a job, suspended; it goes on when all heals.

    The process has read nothing yet: one that has goes by that while nothing can be read.
    """
    one(world)
    world.ask("POST", "/admin/tenants/acme/suspend")
    world.start()


def resumed(world: World) -> None:
    """The tenant goes on."""
    world.ask("POST", "/admin/tenants/acme/resume")


def flow(world: World) -> None:
    """The stream's consumer."""
    world.flow()


def scenario(name: str, play: Callable[[World], None], limits: str, **more: Any) -> Scenario:
    """One where each tenant has limits."""
    return Scenario(name=f"tenants-{name}", play=play, settings={"tenant_limits": limits}, **more)


TENANTS: Final = (
    scenario("each-push", lambda world: world.pushes(**TENANT), EACH),
    scenario("each-batch", lambda world: batch(world, envelopes(3, **TENANT)), EACH),
    scenario("each-in-turn", in_turn, EACH, before=crowded),
    scenario("each-exceeded-event", flow, EACH, before=running),
    scenario("each-refused", refused, FEW, before=one, check=is_not_there),
    scenario("suspended-refuses", refused, "", before=suspended, then=resumed, check=is_not_there),
)
