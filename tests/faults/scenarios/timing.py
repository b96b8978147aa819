"""What time does, written down by the tick."""

from __future__ import annotations

from typing import Final

from tests.faults.running import Scenario
from tests.faults.scenarios.parts import ALONE, FIRST, OBJECT, ONCE, QUICK, dead, held
from tests.faults.world import World


def far(world: World) -> None:
    """Jobs that come within SQS's reach."""
    for number in range(12):
        world.push(scheduled_at=f"+PT{20 + number}M")
    world.flow()
    world.clock.advance(s=1000)


def retryable(world: World) -> None:
    """A retry that was due for long."""
    held(world, retry=QUICK)
    world.fail(FIRST)
    world.flow()
    world.clock.advance(s=120)


def lapsed(world: World) -> None:
    """Reservations that ended, of a job that may be tried again and of one that may not."""
    held(world, retry=QUICK, rate_limit=ALONE)
    held(world, retry=ONCE)
    world.clock.advance(s=120)


def overrun(world: World) -> None:
    """A job whose own timeout is over, while its reservation is not."""
    world.push(timeout=10, retry=QUICK)
    world.fetch()
    world.flow()
    world.clock.advance(s=17)


def expired(world: World) -> None:
    """Jobs that nobody wanted in time."""
    world.push(expires_at="+PT5S", args=[OBJECT])
    world.push(expires_at="+PT5S", scheduled_at="+PT1H")
    world.flow()
    world.clock.advance(s=120)


def uncovered(world: World) -> None:
    """Ready jobs whose messages are lost."""
    for _ in range(3):
        world.push()
    world.flow()
    world.lose_messages()
    world.clock.advance(s=120)


def abandoned(world: World) -> None:
    """A large batch whose process died when it was committed."""
    from tests.faults.scenarios.pushing import envelopes

    world.die_at("TransactWriteItems")
    world.ask("POST", "/jobs/batch", {"jobs": envelopes(103)}, kind="push", tries=1)
    world.clock.advance(s=120)


def ticks(world: World) -> None:
    """The timer, twice."""
    for _ in range(2):
        world.tick()
        world.clock.advance(s=60)


def elsewhere(world: World) -> None:
    """Ready jobs of two queues that nobody declared, whose messages are lost."""
    for queue in ("one", "two"):
        world.push(queue=queue)
    world.flow()
    world.lose_messages()
    world.clock.advance(s=120)


def dead_letters(world: World) -> None:
    """Dead letters that a rule replays."""
    for number in range(2):
        dead(world, args=[number])


def a_round(world: World) -> None:
    """The timer, when rules look again."""
    world.clock.advance(s=300)
    world.tick()
    world.flow()


def two_rounds(world: World) -> None:
    """Run the tick twice more: the second time finds what the first one left."""
    for _ in range(2):
        a_round(world)


TIMING: Final = (
    *(
        Scenario(
            name=f"tick-{before.__name__}",
            before=before,
            play=ticks,
            queues=("one", "two") if before is elsewhere else ("default",),
        )
        for before in (far, retryable, lapsed, overrun, expired, uncovered, elsewhere, abandoned)
    ),
    Scenario(
        name="tick-dead-letters",
        before=dead_letters,
        play=a_round,
        then=two_rounds,
        settings={"dead_letter_replay": '[{"name": "all", "delay": "PT1M", "max_replays": 1}]'},
    ),
)
