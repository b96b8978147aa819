"""The simulation notices what is broken on purpose; ``make simulate`` tries the whole list."""

from __future__ import annotations

import pytest

from tests.simulation.breakages import MUTATIONS, Mutation
from tests.simulation.mutations import hunt, patched, unknown_names

pytestmark = pytest.mark.thorough

QUICK = ("ack-too-late", "two-under-one-key", "too-early", "uncounted", "batch-in-part")
"""Noticed within some hundred calls."""
LONGER = (
    "claim-anything",
    "ack-for-others",
    "place-kept",
    "beat-shortens",
    "given-all-the-same",
    "occurrence-twice",
    "settled-late",
    "invoked-twice",
    "suspended-tried",
    "head-backwards",
    "sequence-backwards",
    "binding-unbounded",
    "task-lost-counted",
    "task-stopped",
)
"""Noticed within some thousand: a second or more for each."""


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_what_is_broken_on_purpose_is_still_there(mutation: Mutation) -> None:
    """And is Python, with names that its module knows."""
    compile(patched(mutation), mutation.name, "exec")
    assert not unknown_names(mutation)


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in LONGER)]
)
def test_a_broken_promise_is_noticed(name: str) -> None:
    """Within few runs."""
    (mutation,) = (each for each in MUTATIONS if each.name == name)
    assert hunt(mutation, seed=1, most_steps=40_000).problem
