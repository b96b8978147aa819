"""Remembers what a consumer did while its process lives; losing it repeats work, never events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

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
