"""The simulation notices what is broken on purpose; ``make simulate`` tries the whole list."""

from __future__ import annotations

import pytest

from tests.simulation.breakages import MUTATIONS, Mutation
from tests.simulation.mutations import hunt, patched, unknown_names

pytestmark = pytest.mark.thorough

QUICK = ("ack-too-late", "two-under-one-key", "too-early", "uncounted", "batch-in-part")
"""Noticed within some hundred calls."""
LONGER = {
    "claim-anything": 0,
    "ack-for-others": 3,
    "place-kept": 0,
    "beat-shortens": 0,
    "given-all-the-same": 0,
    "occurrence-twice": 0,
    "settled-late": 272,
    "invoked-twice": 7,
    "suspended-tried": 3,
    "head-backwards": 0,
    "sequence-backwards": 1,
    "binding-unbounded": 2,
    "task-lost-counted": 1,
    "task-stopped": 0,
}
"""Noticed within some thousand, from none; each by the run at which its search begins, and if the
code has changed since then, by one of the next."""


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_what_is_broken_on_purpose_is_still_there(mutation: Mutation) -> None:
    """And is Python, with names that its module knows."""
    compile(patched(mutation), mutation.name, "exec")
    assert not unknown_names(mutation)


@pytest.mark.parametrize(
    ("name", "first_run"),
    [
        *((name, 0) for name in QUICK),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in LONGER.items()),
    ],
)
def test_a_broken_promise_is_noticed(name: str, first_run: int) -> None:
    """Within few runs."""
    (mutation,) = (each for each in MUTATIONS if each.name == name)
    assert hunt(mutation, seed=1, most_steps=40_000, first_run=first_run).problem
