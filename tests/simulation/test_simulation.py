"""Checks the promises in every fault profile (docs/simulation.md); see also ``make simulate``."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.simulation.fault_profile import draw
from tests.simulation.healing import Healing
from tests.simulation.search import WEIGHTS, Search, drawn, play, read, text_of
from tests.simulation.simulation import Action, Simulation
from tests.simulation.users import Users

SEEDS = st.integers(0, 2**32 - 1)
CHANCE = st.randoms(use_true_random=False)
BEGINS = [kind for kind in WEIGHTS if kind not in {"resume", "late", "die", "wait"}]


@pytest.mark.parametrize(
    ("seed", "calls"),
    [
        pytest.param(3, 2_000, id="3"),
        pytest.param(1, 20_000, id="1", marks=pytest.mark.slow),
        pytest.param(2, 20_000, id="2", marks=pytest.mark.slow),
    ],
)
def test_every_promise_is_kept_in_seeded_runs(seed: int, calls: int) -> None:
    """Promises 1, 2, 3 and 6, for thousands of calls with all kinds of faults."""
    searching = Search(seed)
    for _ in searching.go(calls):
        pass
    assert [outcome.problem for _, outcome in searching.failed] == []
    assert searching.runs > calls / 4_000


@pytest.mark.parametrize(
    ("lines", "calls"),
    [
        pytest.param(4, 3_000, id="4"),
        pytest.param(4, 20_000, id="4 for long", marks=pytest.mark.slow),
        pytest.param(16, 20_000, id="16", marks=pytest.mark.slow),
    ],
)
def test_every_promise_is_kept_by_wide_queues(lines: int, calls: int) -> None:
    """While operators spread the jobs over more lines and over fewer."""
    searching = Search(11, lines=lines)
    for _ in searching.go(calls):
        pass
    assert [outcome.problem for _, outcome in searching.failed] == []


def test_a_run_repeats_exactly() -> None:
    """Or a failing seed would be worth nothing."""
    one, two = (play(drawn("7/7", 120), is_traced=True) for _ in range(2))
    assert one == two
    assert one.steps > 50


def test_actions_can_be_written_down_and_read_again() -> None:
    """What a failing run prints is what plays it again."""
    actions = drawn("1/1").actions
    assert read(text_of(actions)) == actions


class Promises(RuleBasedStateMachine):
    """The same actions in an order that Hypothesis chooses, and shortens where one fails."""

    def __init__(self) -> None:
        super().__init__()
        self.sim: Simulation | None = None

    @initialize(chance=CHANCE)
    def begin(self, chance: object) -> None:
        self.sim = Simulation(draw(chance))  # type: ignore[arg-type]
        self.sim.__enter__()
        self.users = Users(self.sim)

    @rule(kind=st.sampled_from(BEGINS), seed=SEEDS)
    def somebody_asks(self, kind: str, seed: int) -> None:
        self.users.act(Action(kind, seed))

    @precondition(lambda self: self.sim is not None and self.sim.running)
    @rule(seed=SEEDS)
    def a_request_goes_on(self, seed: int) -> None:
        self.users.act(Action("resume", seed))

    @precondition(lambda self: self.sim is not None and self.sim.running)
    @rule(seed=SEEDS)
    def a_process_dies(self, seed: int) -> None:
        self.users.act(Action("die", seed))

    @rule(seed=SEEDS)
    def a_late_call_takes_effect(self, seed: int) -> None:
        self.users.act(Action("late", seed))

    @rule(seed=SEEDS)
    def time_passes(self, seed: int) -> None:
        self.users.act(Action("wait", seed))

    def teardown(self) -> None:
        """The world heals, and everything ends."""
        if self.sim is None:
            return
        try:
            Healing(self.users).heal()
        finally:
            self.sim.__exit__()


Promises.TestCase.settings = settings(
    max_examples=12,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
TestPromises = Promises.TestCase
