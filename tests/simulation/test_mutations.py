"""The simulation notices what is broken on purpose; ``make simulate`` tries the whole list."""

from __future__ import annotations

import pytest

from tests.simulation.breakages import MUTATIONS, Mutation
from tests.simulation.mutations import hunt, patched, unknown_names

QUICK = (
    "claim-anything",
    "ack-for-others",
    "ack-too-late",
    "place-kept",
    "two-under-one-key",
    "too-early",
    "uncounted",
    "beat-shortens",
    "given-all-the-same",
    "occurrence-twice",
    "batch-in-part",
    "settled-late",
    "invoked-twice",
)
"""Noticed within some hundred calls, or a few thousand."""


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_what_is_broken_on_purpose_is_still_there(mutation: Mutation) -> None:
    """And is Python, with names that its module knows."""
    compile(patched(mutation), mutation.name, "exec")
    assert not unknown_names(mutation)


@pytest.mark.parametrize("name", QUICK)
def test_a_broken_promise_is_noticed(name: str) -> None:
    """Within few runs."""
    (mutation,) = (each for each in MUTATIONS if each.name == name)
    assert hunt(mutation, seed=1, most_steps=40_000).problem
