"""Checks every promise after each fault in each AWS call of each operation.

By default some faults, drawn by a seed: `make test` plays one of each fourth scenario, and
`make test-slow` two of each. OJS_FAULTS=all plays all of them, which takes half an hour;
OJS_FAULTS_SEED draws others. `python -m tests.faults` says more.
"""

from __future__ import annotations

import os
import zlib
from typing import Final

import pytest

from tests.faults.running import Scenario, broken_by, some, without_faults
from tests.faults.scenarios import SCENARIOS

LONG: Final = 300
"""Of scenarios with more faults, which have hundreds of jobs, one fault is played each time."""

IS_ALL: Final = os.environ.get("OJS_FAULTS") == "all"
SEED: Final = int(os.environ.get("OJS_FAULTS_SEED", "1"))


@pytest.mark.parametrize(
    ("scenario", "most"),
    [
        *(pytest.param(each, 1, id=f"{each.name}-1") for each in SCENARIOS[::4]),
        *(pytest.param(each, 2, id=f"{each.name}-2", marks=pytest.mark.slow) for each in SCENARIOS),
    ],
)
def test_no_single_fault_breaks_a_promise(scenario: Scenario, most: int) -> None:
    """Promises 1 to 6, and nothing is left behind."""
    wanted, faults = without_faults(scenario)
    seed = SEED + zlib.crc32(scenario.name.encode())
    played = some(faults, 0 if IS_ALL else 1 if len(faults) > LONG else most, seed)
    print(f"{scenario.name}: {len(played)} of {len(faults)} faults; OJS_FAULTS=all for the others")
    broken = {str(fault): found for fault in played if (found := [*broken_by(fault, wanted)])}
    assert broken == {}
