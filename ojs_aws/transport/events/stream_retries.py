"""Decides why and how long records of the stream come again, and remembers what was done."""

from __future__ import annotations

from collections.abc import Iterable
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


MAX_REMEMBERED: Final = 20_000


class Recent:
    """Holds a set that forgets its oldest members beyond a maximum."""

    def __init__(self, size: int = MAX_REMEMBERED) -> None:
        """Start empty."""
        self._members: dict[str, None] = {}
        self._size = size

    def __contains__(self, member: str) -> bool:
        """Return whether a member is remembered."""
        return member in self._members

    def update(self, members: Iterable[str]) -> None:
        """Remember members."""
        self._members |= dict.fromkeys(members)
        while len(self._members) > self._size:
            del self._members[next(iter(self._members))]

    def forget(self, member: str) -> None:
        """Forget a member."""
        self._members.pop(member, None)


class Memory:
    """Remembers how far events and messages have got, and how often records were tried."""

    def __init__(self) -> None:
        """Start empty."""
        self.sent = Recent()
        self.logged = Recent()
        self.announced = Recent()
        self.hooked = Recent()
        self.given_up = Recent()
        self.counted = Recent()
        self.tallied = Recent()
        self.deleted = Recent()
        self.listed = Recent()
        self._tries: dict[str, int] = {}

    def tried(self, number: str) -> int:
        """Count a failed try of a record; return how many there were."""
        if len(self._tries) > MAX_REMEMBERED:
            self._tries.clear()
        self._tries[number] = self._tries.get(number, 0) + 1
        return self._tries[number]

    def begin_again(self, number: str) -> None:
        """Treat a record as never tried; how far its events got is kept."""
        self.given_up.forget(number)
        self._tries.pop(number, None)
