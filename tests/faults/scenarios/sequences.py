"""Sequences: begun, continued by the stream, stopped, skipped and cancelled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tests.faults.running import Scenario
from tests.faults.scenarios.parts import DEAD, ITEM, ONCE
from tests.faults.scenarios.pushing import BY_TYPE, batch, envelopes
from tests.faults.world import World

KEY: Final = "order-4711"
KEYS: Final = (KEY, *(f"{KEY}-{number}" for number in range(9)))
LARGE: Final = [
    each if number % 25 == 24 else {**each, "sequence": KEYS[number % 10]}
    for number, each in enumerate(envelopes(50))
]
"""More than a transaction: sequences whose jobs take turns, and two jobs beside them."""


def begun(world: World, on_discard: str = "stop", count: int = 3, **more: Any) -> list[str]:
    """Enqueue jobs of a sequence."""
    sequence = {"key": KEY, "on_discard": on_discard}
    return [world.push(sequence=sequence, retry=DEAD, **more) for _ in range(count)]


def ended(count: int = 3) -> Callable[[World], None]:
    """A sequence whose head has been completed, and nobody has seen that."""

    def before(world: World) -> None:
        begun(world, count=count)
        world.flow()
        [head] = world.fetch("w1", 10)
        world.ack(head["id"])

    return before


def failed(on_discard: str) -> Callable[[World], None]:
    """One whose head has been discarded, likewise."""

    def before(world: World) -> None:
        world.kept["head"] = begun(world, on_discard)[0]
        world.flow()
        [head] = world.fetch("w1", 10)
        world.fail(head["id"])

    return before


def stopped(world: World) -> None:
    """One that is stopped."""
    failed("stop")(world)
    world.flow()


def retry(world: World) -> None:
    """Retry the dead letter that a sequence is stopped on."""
    path = f"/dead-letter/{world.kept['head']}/retry"
    world.ask("POST", path, kind="retry", then=(409,))


def cancel(number: int) -> Callable[[World], None]:
    """Cancel a job of the sequence."""

    def play(world: World) -> None:
        path = f"/jobs/{world.kept['ids'][number]}"
        world.ask("DELETE", path, kind="cancel", then=(409,))
        world.flow()

    return play


def abandoned(world: World) -> None:
    """A sequence with a large batch behind its head, whose process died when it was committed."""
    begun(world, count=1)
    world.flow()
    world.die_at("TransactWriteItems")
    world.ask("POST", "/jobs/batch", {"jobs": LARGE}, kind="push", tries=1)


def known(world: World) -> None:
    """A sequence of which the ids are known."""
    world.kept["ids"] = begun(world)
    world.flow()


def passed_over(world: World) -> None:
    """An idle one, of which a job expired while others were before it."""
    begun(world, count=1)
    world.kept["head"] = world.push(sequence=KEY, retry=ONCE, expires_at="+PT10S")
    world.flow()
    [first] = world.fetch("w1", 1)
    world.clock.advance(s=11)
    world.ack(first["id"])
    world.flow()


def is_idle(world: World) -> None:
    """Nothing is left of the sequence."""
    for key in KEYS:
        seen, rows = world.backend.stores.sequences().look("", key, 10)
        if rows or (seen is not None and seen.job_id):  # one that is idle expires
            world.breach(f"the sequence has left {seen} and {rows}")


def scenario(name: str, play: Callable[[World], None], **more: Any) -> Scenario:
    """One after which the sequence is idle."""
    return Scenario(name=f"sequence-{name}", play=play, check=is_idle, **more)


SEQUENCES: Final = (
    scenario("goes-on", lambda world: world.flow(), before=ended()),
    scenario("ends", lambda world: world.flow(), before=ended(1)),
    scenario("begins", lambda world: world.pushes(sequence=KEY, args=[ITEM], retry=ONCE)),
    scenario(
        "grows",
        lambda world: world.pushes(sequence=KEY, scheduled_at="+PT2M"),
        before=lambda world: [begun(world, count=1), world.flow()][1],
    ),
    scenario("large-batch", lambda world: batch(world, LARGE)),
    scenario(
        "large-batch-abandoned",
        lambda world: world.pushes(sequence=KEY, args=[ITEM]),
        before=abandoned,
    ),
    scenario("batch", lambda world: batch(world, envelopes(3, sequence=KEY))),
    scenario(
        "unique",
        lambda world: world.pushes(
            sequence=KEY, unique={**BY_TYPE, "on_conflict": "replace"}, retry=ONCE
        ),
        before=lambda world: begun(world, unique=BY_TYPE, count=1) and None,
    ),
    scenario("skips", lambda world: world.flow(), before=failed("skip")),
    scenario("cancels", lambda world: world.flow(), before=failed("cancel")),
    scenario("stops", lambda world: world.flow(), before=failed("stop"), then=retry),
    scenario("is-retried", retry, before=stopped),
    scenario("passed-over-is-retried", retry, before=passed_over, then=lambda world: world.flow()),
    scenario("head-cancelled", cancel(0), before=known),
    scenario("blocked-cancelled", cancel(1), before=known),
)
