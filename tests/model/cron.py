"""Keeps cron jobs and their alarms in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from ojs_aws.domain.cron.entry import CronEntry
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import StaleCronError
from ojs_aws.testing.deployment import FakeClock


@dataclass
class MemoryCron:
    """Keeps cron jobs in a dict; ``lagging`` names those that the index does not show."""

    entries: dict[str, CronEntry] = field(default_factory=dict)
    lagging: set[str] = field(default_factory=set)

    def load(self, name: str) -> CronEntry | None:
        """Read an entry."""
        return self.entries.get(name)

    def all(self) -> list[CronEntry]:
        """Return every entry."""
        return [self.entries[name] for name in sorted(self.entries)]

    def save(self, before: CronEntry | None, after: CronEntry) -> None:
        """Replace one version by the next."""
        self._check(after.name, before)
        self.entries[after.name] = after

    def delete(self, entry: CronEntry) -> None:
        """Remove an entry; one that is gone is no error."""
        if entry.name in self.entries:
            self._check(entry.name, entry)
            del self.entries[entry.name]

    def _check(self, name: str, before: CronEntry | None) -> None:
        current = self.entries.get(name)
        if _life_of(current) != _life_of(before):
            raise StaleCronError(current)

    def due(self, until: Instant, limit: int) -> list[tuple[str, Instant]]:
        """Return the entries that need attention."""
        moments = [(entry.attention_at, name) for name, entry in self.entries.items()]
        due = sorted((at, name) for at, name in moments if at is not None and at <= until)
        return [(name, at) for at, name in due if name not in self.lagging][:limit]


def _life_of(entry: CronEntry | None) -> tuple[int, Instant] | None:
    """Return what differs between an entry and one that is registered later under its name."""
    return None if entry is None else (entry.version, entry.created_at)


@dataclass
class MemoryAlarms:
    """Keeps alarms in a list, with the instants they ring at."""

    clock: FakeClock
    alarms: list[tuple[int, str]] = field(default_factory=list)

    def set(self, name: str, delay_s: int) -> None:
        """Note an alarm."""
        assert 0 <= delay_s <= 900
        self.alarms.append((self.clock.at + delay_s * 1000, name))

    def ringing(self) -> list[str]:
        """The alarms whose time has come; each rings once."""
        now = [name for at, name in self.alarms if at <= self.clock.at]
        self.alarms = [alarm for alarm in self.alarms if alarm[0] > self.clock.at]
        return now
