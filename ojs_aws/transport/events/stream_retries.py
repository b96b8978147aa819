"""Why records of the stream come again, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.errors import OjsError

MAX_TRIES: Final = 5
"""Tries of a record that our own code or a hook fails on; then it is set aside."""

PATIENCE: Final = 50
"""Tries of a record that AWS does not take: that is mostly an outage, and passes."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a record failed, and after how many tries it is set aside."""

    reason: str
    tries: int


Failed = dict[str, Trouble | None]
"""Records that must come again, by number; None for one that only waits for an earlier one."""


def trouble_of(problem: Exception) -> Trouble:
    """AWS's trouble passes, ours does not."""
    return Trouble(repr(problem), PATIENCE if isinstance(problem, OjsError) else MAX_TRIES)
