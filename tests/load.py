"""Limits of what tests wait for, on a machine of any load.

A test that waits for another process or thread needs a limit, or it would hang when that never
comes. The limit is no claim about speed: nothing that works comes near it, on a busy machine
either. Claims about speed are made of counted calls, of CPU time, or of a clock that the test
moves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

HUNG_S: Final = 300.0
"""After that long (seconds), what a test waits for will never come."""


def wait_until(condition: Callable[[], bool], what: str = "it") -> None:
    """Wait for what another thread or process does.

    :raises AssertionError: it will never come.
    """
    give_up_at = time.monotonic() + HUNG_S
    while not condition():
        assert time.monotonic() < give_up_at, f"{what} did not happen in {HUNG_S:.0f} s"
        time.sleep(0.005)
