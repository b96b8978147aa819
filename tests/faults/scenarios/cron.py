"""Cron jobs: registered, fired, changed, removed."""

from __future__ import annotations

from typing import Any, Final

from tests.faults.running import Scenario
from tests.faults.world import World

HOURLY: Final = {"name": "report", "cron": "0 * * * *", "type": "demo.report", "args": [1]}


def register(world: World, **more: Any) -> None:
    """Register it."""
    world.ask("POST", "/cron", {**HOURLY, **more})
    world.flow()


def due(world: World, **more: Any) -> None:
    """One that is due."""
    register(world, **more)
    world.clock.advance(s=3600)


def fire(world: World) -> None:
    """The tick."""
    world.tick()
    world.ring()


def stop(world: World) -> None:
    """It would fire for ever."""
    world.stop_cron("report")


def overlapping(world: World, policy: str) -> None:
    """One whose last run has a worker still when the next is due."""
    register(world, cron="* * * * *", overlap_policy=policy)
    world.clock.advance(s=60)
    world.tick()
    world.flow()
    world.fetch(hold_s=600)
    world.flow()
    world.clock.advance(s=60)


def cancelling(world: World) -> None:
    """One whose last run is to be cancelled by the next."""
    overlapping(world, "cancel_previous")


def queued(world: World) -> None:
    """One whose next run waits for the last."""
    overlapping(world, "enqueue")


def queued_on(world: World) -> None:
    """The next run begins when the last has ended."""
    world.tick()
    for job in [*world.jobs.values()]:
        if job.reservation is not None:
            world.ack(job.id)
    world.flow()
    world.ring()


def trigger(world: World) -> None:
    """Now."""
    world.ask("POST", "/cron/report/trigger", kind="cron", then=(409,))


def remove(world: World) -> None:
    """Never again."""
    world.ask("DELETE", "/cron/report", kind="cron", then=(404,))


CRON: Final = (
    Scenario(name="cron-register", play=lambda world: world.registers(HOURLY)),
    Scenario(name="cron-fire", before=due, play=fire, then=stop),
    Scenario(name="cron-cancel-previous", before=cancelling, play=fire, then=stop),
    Scenario(name="cron-queue", before=queued, play=queued_on, then=stop),
    Scenario(name="cron-trigger", before=register, play=trigger, then=stop, repeats=True),
    Scenario(name="cron-remove", before=register, play=remove),
)
