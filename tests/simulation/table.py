"""The model's table as a simulation needs it: every commit is seen, and the index lags."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import deadlines
from ojs_aws.ports import JobList, ListedJob
from ojs_aws.topology import MAX_DELAY_S
from tests.simulation.memory import FakeClock, MemoryStore, list_of, row_place

V = TypeVar("V")


class Watched(dict[str, V]):
    """Items by key; each write is reported with the item before and after it."""

    def __init__(self, told: Callable[[str, V | None, V | None], None]) -> None:
        super().__init__()
        self._told = told

    def __setitem__(self, key: str, value: V) -> None:
        before = self.get(key)
        super().__setitem__(key, value)
        self._told(key, before, value)

    def __delitem__(self, key: str) -> None:
        before = self[key]
        super().__delitem__(key)
        self._told(key, before, None)

    def __ior__(self, other: Any) -> Watched[V]:  # type: ignore[override,misc]
        for key, value in other.items():
            self[key] = value
        return self

    def setdefault(self, key: str, default: V) -> V:
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str, default: Any = None) -> Any:
        value = self.get(key, default)
        if key in self:
            del self[key]
        return value


Where = tuple[str, JobList]


@dataclass
class SimulatedStore(MemoryStore):
    """Jobs with an index that is kept rather than made again, and that may lag behind each write.

    :ivar lag: for how many milliseconds the index does not show the write that is being made.
    """

    clock: FakeClock = field(default_factory=FakeClock)
    told: Callable[[str, Any, Any], None] = lambda *_: None
    lag: Callable[[], int] = lambda: 0
    _lists: dict[Where, dict[str, ListedJob]] = field(default_factory=dict)
    _sorted: dict[Where, list[ListedJob]] = field(default_factory=dict)
    _where: dict[str, Where] = field(default_factory=dict)
    _late: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        jobs: Watched[JobRecord] = Watched(self._written)
        self.jobs = jobs

    def _written(self, job_id: str, before: JobRecord | None, after: JobRecord | None) -> None:
        self.told(job_id, before, after)
        if job_id in self._late:
            return
        lag = self.lag()
        if lag:
            self._late[job_id] = self.clock.at + lag
        else:
            self._show(job_id)

    def _show(self, job_id: str) -> None:
        """Bring one job's row up to date."""
        was = self._where.pop(job_id, None)
        if was is not None:
            del self._lists[was][job_id]
            self._sorted.pop(was, None)
        job = self.jobs.get(job_id)
        if job is None:
            return
        name, key = list_of(job)
        where = job.queue, name
        self._where[job_id] = where
        self._lists.setdefault(where, {})[job_id] = ListedJob(
            is_far=deadlines.wait_ms(job) > MAX_DELAY_S * 1000,
            id=job.id,
            queue=job.queue,
            sort_key=key,
            state=job.state,
            type=job.type,
            timeout_ms=job.timeout_ms,
            visibility_timeout_ms=job.visibility_timeout_ms,
            # A claim writes the key without having read the job.
            priority=None if job.state is JobState.ACTIVE else job.priority,
        )
        self._sorted.pop(where, None)

    def catch_up(self) -> None:
        """Show everything."""
        late, self._late = self._late, {}
        for job_id in late:
            self._show(job_id)

    @property
    def is_late(self) -> bool:
        """Whether some write is not shown yet."""
        return bool(self._late)

    def _rows(self, queue: str, name: JobList) -> list[ListedJob]:
        for job_id in [key for key, until in self._late.items() if until <= self.clock.at]:
            del self._late[job_id]
            self._show(job_id)
        where = queue, name
        if where not in self._sorted:
            self._sorted[where] = sorted(self._lists.get(where, {}).values(), key=row_place)
        return self._sorted[where]
