"""Runs of the simulation: drawn from seeds, repeated, and made as short as they still fail."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from tests.simulation.fault_profile import FaultProfile, draw
from tests.simulation.healing import Healing
from tests.simulation.simulation import Action, Simulation
from tests.simulation.users import Users

ACTIONS: Final = 400
"""Actions of one run; the world is made again for the next."""

WEIGHTS: Final = {
    "push": 8,
    "batch": 2,
    "pending": 1,
    "unique": 4,
    "sequence": 3,
    "fair": 3,
    "workflow": 3,
    "cancel_workflow": 0.3,
    "cron": 0.5,
    "stop_cron": 0.3,
    "fetch": 12,
    "lambda": 6,
    "dispatch": 12,
    "invoke": 9,
    "settle": 12,
    "spoil_function": 0.5,
    "dispatch_task": 14,
    "task_runs": 12,
    "task_reports": 4,
    "settle_task": 9,
    "sweep_tasks": 6,
    "suspend": 0.7,
    "finish": 14,
    "resend": 3,
    "beat": 8,
    "worker_dies": 1,
    "cancel": 1.5,
    "activate": 1,
    "info": 1,
    "retry": 1,
    "pause": 0.5,
    "delete": 0.3,
    "purge": 0.3,
    "bulk": 1,
    "reprioritise": 0.7,
    "settings": 0.7,
    "drain": 0.4,
    "delete_queue": 0.1,
    "save": 2,
    "transact": 1,
    "repeat": 4,
    "tick": 5,
    "alarm": 3,
    "stream": 10,
    "resume": 30,
    "die": 1,
    "late": 3,
    "wait": 14,
    "quiet": 0.3,
}
"""How often what is done; most of the time, what has begun goes on."""

TASKS_ALONE: Final = 0.3
"""In how many runs nearly all jobs are run by tasks: these take longer than what else runs jobs."""
BINDINGS_ALONE: Final = 0.15
"""In how many others nearly all that is done concerns bindings, so that bounded ones are full."""
OF_BINDINGS: Final = frozenset(
    {
        *("push", "dispatch", "invoke", "settle", "dispatch_task", "task_runs", "task_reports"),
        *("settle_task", "sweep_tasks", "suspend", "resume", "late", "die", "wait", "tick"),
    }
)


@dataclass(frozen=True, slots=True)
class Run:
    """A run that repeats exactly.

    :ivar name: its seed, for people.
    """

    name: str
    profile: FaultProfile
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run.

    :ivar steps: calls that the services made.
    :ivar problem: the promise that was broken, or the error that nobody expected; empty for none.
    """

    steps: int
    problem: str = ""
    done: int = 0
    trace: tuple[str, ...] = ()


def drawn(seed: str, count: int = ACTIONS, lines: int = 1) -> Run:
    """The run of a seed; each does some things more, and others less, than the average.

    :param lines: of wide queues, which operators spread over more lines and fewer.
    """
    chance = random.Random(seed)
    profile = replace(draw(chance), lines=lines)
    weights = {kind: weight * chance.choice((0.2, 1, 1, 3)) for kind, weight in WEIGHTS.items()}
    alone = chance.random()
    if alone < TASKS_ALONE:
        weights |= {kind: weights[kind] / 10 for kind in ("fetch", "lambda", "dispatch")}
    elif alone < TASKS_ALONE + BINDINGS_ALONE:
        weights |= {kind: weights[kind] / 10 for kind in WEIGHTS.keys() - OF_BINDINGS}
    if lines > 1:
        weights["settings"] *= 6
    kinds = chance.choices([*weights], [*weights.values()], k=count)
    if lines > 1:
        kinds = ["settings", *["resume"] * 9] * 4 + kinds
    return Run(seed, profile, tuple(Action(kind, chance.getrandbits(32)) for kind in kinds))


def play(run: Run, *, is_traced: bool = False) -> Outcome:
    """Do the actions, heal, and check."""
    done, problem = 0, ""
    sim = Simulation(run.profile, is_traced=is_traced)
    try:
        with sim:
            users = Users(sim)
            for action in run.actions:
                users.act(action)
                done += 1
            Healing(users).heal()
    except Exception as broken:  # noqa: BLE001 - whatever it is, it is the outcome
        problem = f"{type(broken).__name__}: {broken}"
    return Outcome(sim.steps, problem, done, tuple(sim.trace))


def kind_of(problem: str) -> str:
    """A problem without the numbers in it, so that it is known again in a shorter run."""
    words = problem.partition("; by")[0].split()
    return " ".join(word for word in words[:14] if not any(c.isdigit() for c in word))


def shortest(run: Run, outcome: Outcome, progress: Callable[[int], None] = lambda _: None) -> Run:
    """The same failure with as few actions as can be found by leaving some out."""
    wanted = kind_of(outcome.problem)

    def fails(actions: Sequence[Action]) -> bool:
        found = play(Run(run.name, run.profile, tuple(actions)))
        return bool(found.problem) and kind_of(found.problem) == wanted

    actions = [*run.actions[: outcome.done + 1]]
    size = max(1, len(actions) // 2)
    while True:
        at = 0
        while at < len(actions):
            fewer = [*actions[:at], *actions[at + size :]]
            if fails(fewer):
                actions = fewer
            else:
                at += size
            progress(len(actions))
        if size == 1:
            return Run(run.name, run.profile, tuple(actions))
        size //= 2


@dataclass
class Search:
    """Runs one after another, until one fails or enough steps are made."""

    seed: int = 1
    actions: int = ACTIONS
    lines: int = 1
    steps: int = 0
    runs: int = 0
    failed: list[tuple[Run, Outcome]] = field(default_factory=list)

    def go(self, most_steps: int) -> Iterator[int]:
        """Yields the steps so far after each run; ends with the first failure."""
        while self.steps < most_steps and not self.failed:
            run = drawn(f"{self.seed}/{self.runs}", self.actions, self.lines)
            outcome = play(run)
            self.runs += 1
            self.steps += outcome.steps
            if outcome.problem:
                self.failed.append((run, outcome))
            yield self.steps


def text_of(actions: Iterable[Action]) -> str:
    """Actions as text, to be played again."""
    return " ".join(map(str, actions))


def read(text: str) -> tuple[Action, ...]:
    """Actions from their text."""
    parts = (part.partition(":") for part in text.split())
    return tuple(Action(kind, int(seed)) for kind, _, seed in parts)
