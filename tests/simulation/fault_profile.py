"""What goes wrong in a run, and how often; drawn again for each run, so that runs differ."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from enum import Enum

from tests.simulation.configs import (
    FUNCTIONS_ERRORS,
    NO_CONFIGS,
    TASKS_ERRORS,
    Configs,
    draw_config,
)


class Mishap(Enum):
    """What happens to one call."""

    FAILS = "is refused or throttled"
    ANSWER_LOST = "takes effect, and the answer is lost"
    LATE = "times out, and takes effect later"
    DIES_BEFORE = "the process dies before it"
    DIES_AFTER = "the process dies after it"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultProfile:
    """Rates from 0 to 1, and bounds in milliseconds.

    :ivar mishaps: of calls that meet a mishap.
    :ivar lags: of writes that the index shows late, and for how long at most.
    :ivar repeats: of messages that are delivered again although they are in somebody's hands.
    :ivar misses: of visible messages that a receive does not find.
    :ivar delays: of messages that come later than asked for.
    :ivar rewinds: of stream reads that begin a few records back.
    :ivar heals_by_messages: nobody polls after healing: only messages wake workers.
    :ivar transaction: jobs of a batch that fit one transaction; larger ones are staged.
    :ivar bound: how many jobs one of the queues may hold; 0 for any number.
    :ivar leaves_messages: processes whose ACK leaves its message to the stream's consumer: none,
        some of them (an upgrade is under way) or all.
    :ivar lists_late: the same for processes whose ACK leaves it to that consumer to list the job.
    :ivar lines: of both queues; 1: they are not wide.
    :ivar configs: of the bindings of functions and tasks.
    :ivar skew_ms: by how much the clock of a process differs at most.
    """

    mishaps: float = 0.0
    kinds: tuple[Mishap, ...] = tuple(Mishap)
    lags: float = 0.0
    lag_ms: int = 1
    repeats: float = 0.0
    misses: float = 0.0
    delays: float = 0.0
    rewinds: float = 0.0
    heals_by_messages: bool = False
    transaction: int = 100
    bound: int = 0
    leaves_messages: float = 0.0
    lists_late: float = 0.0
    lines: int = 1
    configs: Configs = NO_CONFIGS
    skew_ms: int = 0

    def healed(self) -> FaultProfile:
        """Nothing goes wrong any more; clocks stay as they are."""
        return replace(
            FaultProfile(skew_ms=self.skew_ms),
            heals_by_messages=self.heals_by_messages,
            transaction=self.transaction,
            bound=self.bound,
            leaves_messages=self.leaves_messages,
            lists_late=self.lists_late,
            lines=self.lines,
            configs=self.configs,
        )


def draw(chance: random.Random) -> FaultProfile:
    """The fault profile of a run: each trouble is absent, rare or frequent."""

    def rate(*choices: float) -> float:
        return chance.choice(choices)

    kinds = tuple(kind for kind in Mishap if chance.random() < 0.7) or tuple(Mishap)
    return replace(
        FaultProfile(),
        mishaps=rate(0.0, 0.01, 0.03, 0.1),
        kinds=kinds,
        lags=rate(0.0, 0.1, 0.5),
        lag_ms=chance.choice((300, 3_000, 20_000)),
        repeats=rate(0.0, 0.05, 0.3),
        misses=rate(0.0, 0.2, 0.5),
        delays=rate(0.0, 0.1, 0.4),
        rewinds=rate(0.0, 0.1, 0.4),
        transaction=chance.choice((100, 1)),
        heals_by_messages=chance.random() < 0.5,
        skew_ms=chance.choice((0, 200, 3_000)),
        bound=chance.choice((0, 0, 3, 10)),
        leaves_messages=rate(0.0, 0.5, 1.0),
        lists_late=rate(0.0, 0.5, 1.0),
        configs=Configs(draw_config(chance, FUNCTIONS_ERRORS), draw_config(chance, TASKS_ERRORS)),
    )
