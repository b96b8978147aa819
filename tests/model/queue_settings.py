"""Keeps the settings, depths and tallies of queues in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ojs_aws.domain.limits.rules import LimitScope, queue_key
from ojs_aws.domain.queues.config import read_config
from ojs_aws.domain.queues.tallies import QueueTotals, StreamLag, Tally
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import (
    Depth,
    LimitChange,
    Pressure,
    QueueIsFullError,
    QueueSettings,
    QueueState,
    StaleSettingsError,
)
from tests.model import MemoryLimits, MemoryStore


@dataclass
class MemorySettings:
    """Keeps settings in a dict."""

    store: MemoryStore
    kept: dict[str, QueueSettings] = field(default_factory=dict)

    def load(self, queues: Sequence[str]) -> dict[str, QueueSettings]:
        """Return those that there are."""
        return {queue: self.kept[queue] for queue in queues if queue in self.kept}

    def all(self) -> list[QueueSettings]:
        """Return all of them."""
        return [self.kept[queue] for queue in sorted(self.kept)]

    def save(
        self, before: QueueSettings, after: QueueSettings, limit: LimitChange | None = None
    ) -> None:
        """Replace them, if they are what was read."""
        found = self.kept.get(after.queue)
        if (found.revision if found else 0) != before.revision:
            raise StaleSettingsError
        self.kept[after.queue] = after
        visibility_ms = read_config(after.members).visibility_timeout_ms
        if visibility_ms is None or after.state is QueueState.DELETED:
            self.store.queue_visibility.pop(after.queue, None)
        else:
            self.store.queue_visibility[after.queue] = visibility_ms
        if limit is not None:
            limits = MemoryLimits(self.store)
            key, scope = queue_key(after.queue), LimitScope(queue=after.queue)
            if limit.policy is None:
                limits.lift(key, scope, Instant(1))
            else:
                limits.override(key, scope, limit.policy, None, Instant(1))


@dataclass
class MemoryDepths:
    """Keeps counts of jobs in a dict."""

    store: MemoryStore
    depths: dict[str, Depth] = field(default_factory=dict)

    def take(self, queue: str, count: int, bound: int) -> int:
        """Count, unless it is full."""
        now = self.depths.get(queue, Depth(0))
        if now.jobs + count > bound:
            raise QueueIsFullError(now.jobs)
        self.depths[queue] = Depth(now.jobs + count, now.version + 1)
        return now.jobs + count

    def add(self, queue: str, amount: int) -> int | None:
        """Count, whatever the bound."""
        now = self.depths.get(queue)
        if now is None:
            return None
        self.depths[queue] = Depth(now.jobs + amount, now.version + 1)
        return now.jobs + amount

    def load(self, queue: str) -> Depth | None:
        """Return what is counted."""
        return self.depths.get(queue)

    def correct(self, queue: str, jobs: int, seen: Depth | None) -> bool:
        """Set it, if it is what was seen."""
        if self.depths.get(queue) != seen:
            return False
        self.depths[queue] = Depth(jobs, seen.version + 1 if seen else 1)
        return True

    def forget(self, queue: str) -> None:
        """Stop counting."""
        self.depths.pop(queue, None)

    def count(self, queue: str, most: int) -> int:
        """Count by looking at every job."""
        jobs = self.store.jobs.values()
        return min(most, sum(job.queue == queue and not job.state.is_terminal for job in jobs))


@dataclass
class MemoryPressures:
    """Keeps what is to be reported, by queue."""

    reports: dict[str, Pressure] = field(default_factory=dict)

    def warn(self, pressure: Pressure) -> None:
        """Keep it."""
        before = self.reports.get(pressure.queue)
        rejected = before.rejected if before else 0
        self.reports[pressure.queue] = replace(pressure, rejected=rejected)

    def reject(self, pressure: Pressure) -> None:
        """Add to it."""
        before = self.reports.get(pressure.queue)
        self.reports[pressure.queue] = replace(
            pressure,
            is_warned=bool(before and before.is_warned),
            rejected=pressure.rejected + (before.rejected if before else 0),
        )


@dataclass
class MemoryTallies:
    """Keeps counters by queue and minute, each with the token of what was added last."""

    kept: dict[tuple[str, Instant], tuple[Tally, str]] = field(default_factory=dict)
    held: dict[str, QueueTotals] = field(default_factory=dict)

    def add(
        self, queue: str, minute: Instant, tally: Tally, token: str, lag: StreamLag | None = None
    ) -> bool:
        """Add, unless it was added last."""
        found, last = self.kept.get((queue, minute), (Tally(), ""))
        if last == token:
            return False
        found.merge(replace(tally, held=Counter()))
        self.kept[queue, minute] = (found, token)
        old = self.load(queue)
        jobs = {**old.jobs, **{k: old.jobs.get(k, 0) + each for k, each in tally.held.items()}}
        if old.minute is None or old.minute < minute:
            past, today = old.before(minute)
            windows = old.windows_before(minute)
            old = replace(old, minute=minute, past=past, today=today, windows=windows)
        newest, version = self.kept[queue, old.minute or minute]
        seen = old.lag if lag is None else lag
        self.held[queue] = replace(old, jobs=jobs, tally=newest, version=version, lag=seen)
        return True

    def read(self, queue: str, since: Instant, until: Instant) -> list[tuple[Instant, Tally]]:
        """Return those of a time range."""
        return [
            (minute, tally)
            for (name, minute), (tally, _) in sorted(self.kept.items(), key=lambda each: each[0])
            if name == queue and since <= minute <= until and tally
        ]

    def totals(self) -> dict[str, QueueTotals]:
        """Return all of them."""
        return dict(self.held)

    def load(self, queue: str) -> QueueTotals:
        """Return those of one queue."""
        return self.held.get(queue, QueueTotals())

    def correct(
        self,
        queue: str,
        seen: QueueTotals,
        changes: Mapping[str, int],
        at: Instant,
        at_least: Collection[str],
    ) -> bool:
        """Add, unless somebody was faster."""
        now = self.load(queue)
        if now.counted_at != seen.counted_at:
            return False
        if seen.counted_at is not None and (now.minute, now.version) != (seen.minute, seen.version):
            return False
        jobs = {**now.jobs, **{k: now.jobs.get(k, 0) + each for k, each in changes.items()}}
        self.held[queue] = replace(now, jobs=jobs, counted_at=at, at_least=frozenset(at_least))
        return True
