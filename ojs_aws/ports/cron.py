"""Declares the store of cron jobs, and what wakes the tick for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from ojs_aws.domain.cron.entry import CronEntry


class StaleCronError(Exception):
    """Reports that the cron job changed between the read and a conditional write.

    :ivar current: the entry as the write found it, or None when there is none.
    """

    def __init__(self, current: CronEntry | None) -> None:
        """Keep what the write found."""
        super().__init__("the cron job has changed")
        self.current = current


class CronEntries(Protocol):
    """Stores cron jobs. Each write is one conditional write, recognised when repeated."""

    def load(self, name: str) -> CronEntry | None:
        """Read an entry, strongly consistent."""

    def all(self) -> list[CronEntry]:
        """Return every entry, by name."""

    def save(self, before: CronEntry | None, after: CronEntry) -> None:
        """Replace one version of an entry by the next, or store a new one.

        :raises StaleCronError: the stored entry is no longer ``before``.
        """

    def delete(self, entry: CronEntry) -> None:
        """Remove an entry.

        :raises StaleCronError: the stored entry is no longer this one.
        """

    def due(self, until: Instant, limit: int) -> list[tuple[str, Instant]]:
        """Return entries that need attention before an instant, and since when; may lag."""


class CronAlarms(Protocol):
    """Wakes the tick at a second, so that a cron job does not wait for the next minute."""

    def set(self, name: str, delay_s: int) -> None:
        """Wake the tick for an entry in 0 to 900 seconds, at least once if alarms are deployed."""
