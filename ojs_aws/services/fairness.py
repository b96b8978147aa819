"""Gives jobs of fair queues their virtual starts: their places in the ready list.

Each entry into the list moves the job's key on by one conditional update; jobs of one key that
enter together take one for all of them. A write of the job that is lost afterwards has moved its
key on in vain: the key waits for one turn more, and nobody else is harmed.

A job is never lost for want of a place: where its key cannot be moved on, it starts at the head.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.fairness import (
    Charge,
    FairKey,
    begun_at,
    cost_ns,
    empty_ns,
    head_ns,
    lead_ns,
    placed_at,
    starts_of,
)
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.job_policies import FairShare
from ojs_aws.domain.jobs.ready_keys import line_of
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.fairness import FairKeys

HEAD_MS: Final = 200
"""For so long a process goes by the head of a list that it has read (milliseconds)."""

HEAD_STARTS: Final = 50
"""And for so many jobs."""

TRIES: Final = 4
"""Updates of a key, which others may move on at the same time."""

MAX_KEPT: Final = 10_000
"""Lists, and keys, that a process remembers."""

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Head:
    """Holds where a list was in virtual time (nanoseconds), and how long that serves."""

    at: int
    until: Instant
    starts_left: int = HEAD_STARTS - 1


@dataclass(frozen=True, slots=True)
class FairPlaces:
    """Gives jobs their virtual starts; keeps what this process has seen of lists and keys."""

    keys: Callable[[], FairKeys]
    clock: Clock
    _heads: dict[tuple[str, int], _Head] = field(default_factory=dict)
    _lasts: dict[FairKey, int] = field(default_factory=dict)

    def place(self, record: JobRecord) -> JobRecord:
        """Return an available job with its virtual start: one update, and at times a query."""
        return self.place_all([record])[0]

    def place_all(self, records: Sequence[JobRecord]) -> list[JobRecord]:
        """Return jobs with their virtual starts; those that are not available stay as they are.

        Makes one update for each key, or each cost of a key, and at times a query for each list.
        """
        groups: dict[tuple[str, int, str, float], list[int]] = {}
        for at, record in enumerate(records):
            if record.state is JobState.AVAILABLE:
                share = record.fairness or FairShare()
                line = line_of(record.queue, record.shard)
                own = (line, record.priority, share.key, share.rate)
                groups.setdefault(own, []).append(at)
        placed = [*records]
        for (line, priority, key, rate), positions in groups.items():
            cost = cost_ns(rate)
            start = self._start(line, priority, key, cost * len(positions), lead_ns(rate))
            starts = starts_of(start, cost, len(positions))
            for at, each in zip(positions, starts, strict=True):
                placed[at] = placed_at(records[at], each)
        return placed

    def place_again(self, record: JobRecord) -> JobRecord:
        """Return a job that had a virtual start before it had to wait: never before the head.

        It was charged for then. Makes a query at times.
        """
        share = record.fairness
        if record.state is not JobState.AVAILABLE or share is None:
            return record
        if not share.start:
            return self.place(record)
        line = line_of(record.queue, record.shard)
        return placed_at(record, max(share.start, self._head(line, record.priority)))

    def _start(self, line: str, priority: int, key: str, cost: int, lead: int) -> int:
        """Move a key on, and return where its first job starts."""
        at = self._head(line, priority)
        name, charge = FairKey(line, priority, key), Charge(at, cost, lead)
        try:
            start = self._charged(name, charge)
        except OjsError:
            _logger.warning("Could not move fairness key '%s' of %s on", key, line, exc_info=True)
            return at
        if len(self._lasts) >= MAX_KEPT:
            self._lasts.clear()
        self._lasts[name] = start + start % 2 + cost
        return start

    def _charged(self, name: FairKey, charge: Charge) -> int:
        """Move a key on by the form of the update that is likely to fit; then by the other one."""
        keys, now = self.keys(), self.clock.now()
        is_ahead = self._lasts.get(name, 0) >= charge.at
        for _ in range(TRIES):
            if is_ahead:
                start = keys.move_on(name, charge, now)
                if start is not None:
                    return start
            elif keys.begin(name, charge, now):
                return begun_at(charge.at)
            is_ahead = not is_ahead
        return charge.at

    def _head(self, line: str, priority: int) -> int:
        """Return where a list is in virtual time: at its first job; empty ones are at the clock."""
        now = self.clock.now()
        head = self._heads.get((line, priority))
        if head is not None and now < head.until and head.starts_left > 0:
            head.starts_left -= 1
            return head.at
        try:
            first = self.keys().first(line, priority)
        except OjsError:
            _logger.warning("Could not read the head of %s", line, exc_info=True)
            return head.at if head is not None else empty_ns(now)
        at = head_ns(first) if first else empty_ns(now)
        if len(self._heads) >= MAX_KEPT:
            self._heads.clear()
        self._heads[line, priority] = _Head(at, Instant(now + HEAD_MS))
        return at
