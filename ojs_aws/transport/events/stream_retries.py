"""Decides why and for how long records of the stream come again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.errors import OjsError

MAX_TRIES: Final = 5
"""Tries of a record that our own code or a hook fails on; then it is set aside."""

PATIENCE: Final = 50
"""Tries of a record that AWS does not take, with a pause after each: about ten minutes."""

LONGEST_OUTAGE_MS: Final = 2 * 3_600_000
"""Age of a record until which it is not set aside if AWS took no other one of its batch either."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Says why a record failed, and after how many tries it is set aside.

    :ivar is_refused: whether AWS refused it, which is mostly an outage, and passes.
    :ivar is_outage: whether AWS refused all others, too: then its age counts as well.
    """

    reason: str
    tries: int = MAX_TRIES
    is_refused: bool = False
    is_outage: bool = False

    def is_over(self, tries: int, age_ms: int) -> bool:
        """Return whether a record has been tried for long enough."""
        return tries >= self.tries and not (self.is_outage and age_ms < LONGEST_OUTAGE_MS)


Failed = dict[str, Trouble | None]
"""Records that must come again, by number; None for one that only waits for an earlier one."""


def refused(reason: str, *, is_outage: bool = False) -> Trouble:
    """Return the trouble of a record that AWS did not take."""
    return Trouble(reason, PATIENCE, is_refused=True, is_outage=is_outage)


def trouble_of(problem: Exception) -> Trouble:
    """Return the kind of an error: errors of AWS pass, errors of ours do not."""
    return refused(repr(problem)) if isinstance(problem, OjsError) else Trouble(repr(problem))
