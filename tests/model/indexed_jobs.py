"""Keeps jobs in memory with an index that costs no more when there are many jobs."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ojs_aws.domain.job import JobRecord
from ojs_aws.ports import JobList, ListedJob
from ojs_aws.testing.clock import FakeClock
from tests.model.item_writes import Watched
from tests.model.jobs import MemoryStore
from tests.model.rows import list_of, row_of, row_place

Where = tuple[str, JobList]


@dataclass
class IndexedStore(MemoryStore):
    """Keeps jobs with an index that is updated by each write, and that may lag behind it.

    :ivar lag: for how many milliseconds the index does not show the write that is being made.
    """

    clock: FakeClock = field(default_factory=FakeClock)
    changed: Callable[[str, Any, Any], None] = lambda *_: None
    lag: Callable[[], int] = lambda: 0
    _lists: dict[Where, dict[str, ListedJob]] = field(default_factory=dict)
    _sorted: dict[Where, list[ListedJob]] = field(default_factory=dict)
    _where: dict[str, Where] = field(default_factory=dict)
    _late: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        jobs: Watched[JobRecord] = Watched(self._written)
        self.jobs = jobs

    def _written(self, job_id: str, before: JobRecord | None, after: JobRecord | None) -> None:
        self.changed(job_id, before, after)
        if job_id in self._late:
            return
        lag = self.lag()
        if lag:
            self._late[job_id] = self.clock.at + lag
        else:
            self._show(job_id)

    def _show(self, job_id: str) -> None:
        """Update one job's row."""
        was = self._where.pop(job_id, None)
        if was is not None:
            row = self._lists[was].pop(job_id)
            if rows := self._sorted.get(was):
                del rows[bisect_left(rows, row_place(row), key=row_place)]
        job = self.jobs.get(job_id)
        if job is None or not self.is_listed(job):
            return
        name, key = list_of(job)
        where = job.queue, name
        self._where[job_id] = where
        self._lists.setdefault(where, {})[job_id] = row = row_of(job, key)
        if where in self._sorted:
            insort(self._sorted[where], row, key=row_place)

    def list_completed(self, jobs: Sequence[JobRecord]) -> None:
        """List completed jobs."""
        MemoryStore.list_completed(self, jobs)
        for job in jobs:
            if job.id not in self._late:
                self._show(job.id)

    def clear(self) -> None:
        """Remove every job, and what claims took; nobody learns of it."""
        dict.clear(self.jobs)
        for kept in (
            self._lists,
            self._sorted,
            self._where,
            self._late,
            self.buckets,
            self.completed,
        ):
            kept.clear()

    def catch_up(self) -> None:
        """Show every write in the index."""
        late, self._late = self._late, {}
        for job_id in late:
            self._show(job_id)

    @property
    def is_late(self) -> bool:
        """Return whether the index does not show some write yet."""
        return bool(self._late)

    def _rows(self, queue: str, name: JobList) -> list[ListedJob]:
        for job_id in [key for key, until in self._late.items() if until <= self.clock.at]:
            del self._late[job_id]
            self._show(job_id)
        where = queue, name
        if where not in self._sorted:
            self._sorted[where] = sorted(self._lists.get(where, {}).values(), key=row_place)
        return self._sorted[where]
