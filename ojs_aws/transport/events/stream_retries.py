"""Decides why and for how long records of the stream come again."""

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
    """Says why a record failed, and after how many tries it is set aside."""

    reason: str
    tries: int


Failed = dict[str, Trouble | None]
"""Records that must come again, by number; None for one that only waits for an earlier one."""


def trouble_of(problem: Exception) -> Trouble:
    """Return the kind of an error: errors of AWS pass, errors of ours do not."""
    return Trouble(repr(problem), PATIENCE if isinstance(problem, OjsError) else MAX_TRIES)
