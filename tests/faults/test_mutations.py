"""What is broken on purpose is noticed; OJS_FAULTS=all tries the whole list."""

from __future__ import annotations

import os
from typing import Final

import pytest

from tests.faults.mutations import BREAKAGES, Breakage, noticed
from tests.simulation.mutations import patched

QUICK: Final = ("own-write-unknown", "not-sent-again", "lost-update", "announced-though-refused")
TRIED: Final = [
    each
    for each in BREAKAGES
    if os.environ.get("OJS_FAULTS") == "all" or each.mutation.name in QUICK
]


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda each: each.mutation.name)
def test_what_is_broken_here_is_still_there(breakage: Breakage) -> None:
    """And is Python."""
    compile(patched(breakage.mutation), breakage.mutation.name, "exec")


@pytest.mark.slow
@pytest.mark.parametrize("breakage", TRIED, ids=lambda each: each.mutation.name)
def test_a_breakage_is_noticed(breakage: Breakage) -> None:
    """By a fault in the scenario that is about it."""
    found = noticed(breakage)
    print(found)
    assert found
