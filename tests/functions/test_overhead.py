"""What the handlers add to their AWS calls, counted by the interpreter: no clock, no noise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from benchmarks.overhead import instructions_of, steps_of

CHECKOUT: Final = Path(__file__).resolve().parents[2]


def test_handlers_stay_within_their_budget() -> None:
    """In a process of its own: what other tests leave, such as loggers, would count, too."""
    command = [sys.executable, "-m", "benchmarks.overhead", "--rounds", "1"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_counted_is_the_same_each_time() -> None:
    """And one more instruction is one more, so that a regression cannot hide in noise."""

    def little() -> None:
        for at in range(100):
            abs(at)

    def more() -> None:
        for at in range(101):
            abs(at)

    assert {instructions_of(little) for _ in range(3)} == {instructions_of(little)}
    assert instructions_of(more) > instructions_of(little)
    assert steps_of(more) == steps_of(little) + 1
