"""Keeps the locks of unique jobs in memory."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ojs_aws.domain.job import JobRecord
from ojs_aws.ports import Admission, NotAdmittedError, TransactAction, UniqueLock
from tests.model.jobs import MemoryStore


@dataclass
class MemoryUniqueJobs:
    """Locks in a dict, beside the jobs of a store. Safe to call from many threads."""

    store: MemoryStore
    locks: dict[str, UniqueLock] = field(default_factory=dict)
    _versions: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _mutex: threading.Lock = field(default_factory=threading.Lock)

    def admit(self, admissions: Sequence[Admission]) -> None:
        """Store jobs, take locks and replace jobs, all or none."""
        with self._mutex:
            jobs = self.store.jobs
            existing: dict[int, JobRecord] = {}
            locks: dict[int, UniqueLock] = {}
            is_stale = False
            for at, each in enumerate(admissions):
                if each.job is not None and each.job.id in jobs:
                    existing[at] = jobs[each.job.id]
                found = self.locks.get(each.lock.key) if each.lock else None
                if found is not None and found != each.seen:
                    locks[at] = found
                if each.before is not None:
                    is_stale |= not self.store.is_as_read(each.before)
            if existing or locks or is_stale:
                raise NotAdmittedError(existing, locks)
            for each in admissions:
                if each.job is not None:
                    self.store.put(each.job)
                if each.after is not None:
                    self.store.release(jobs[each.after.id], each.after)
                    self.store.put(each.after)
                if each.lock is not None:
                    version = str(next(self._versions))
                    self.locks[each.lock.key] = replace(each.lock, version=version)

    def actions(self, admission: Admission) -> list[TransactAction]:
        """The admission itself: whoever has it may commit it by :meth:`admit`."""
        return [{"Admission": admission}]

    def reserve(self, lock: UniqueLock, seen: UniqueLock | None) -> UniqueLock:
        """Take a lock."""
        with self._mutex:
            found = self.locks.get(lock.key)
            if found is not None and found != seen:
                raise NotAdmittedError({}, {0: found})
            self.locks[lock.key] = replace(lock, version=str(next(self._versions)))
            return self.locks[lock.key]

    def lock(self, key: str) -> UniqueLock | None:
        """Read a lock."""
        return self.locks.get(key)

    def forget(self, key: str, job_id: str) -> None:
        """Remove the lock of a job that is gone."""
        with self._mutex:
            lock = self.locks.get(key)
            if lock is not None and lock.job_id == job_id:
                del self.locks[key]
