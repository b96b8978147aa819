"""Jobs and locks as tests set them up, and what is read and written of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.adapters.dynamodb.unique import UniqueJobs
from ojs_aws.domain.conflicts import NotAdmittedError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.batches import Admission, UniqueLock
from ojs_aws.domain.unique.keys import OnConflict, UniquePolicy
from ojs_aws.services.stored_jobs.change import JobChanger
from ojs_aws.services.unique import WantedJob
from ojs_aws.services.unique.admit import Uniqueness
from ojs_aws.testing.deployment import FakeClock
from tests.contract.test_job_store import NOW, a_job

KEY = "ab" * 32
BATCH = "batch-0"


def do_nothing() -> None:
    """Change nothing."""


def no_sequences() -> Any:
    """Say that a job of a sequence is not expected."""
    raise AssertionError


@dataclass
class Table:
    """Stands for the tables of jobs, locks and batches.

    :ivar committed: the batches that are committed; any other is given up when it is asked for.
    :ivar refusals: what meets the next admissions, and the next locks that are taken.
    :ivar meanwhile: happens when jobs of a committed batch are missing.
    """

    jobs: dict[str, JobRecord] = field(default_factory=dict)
    locks: dict[str, UniqueLock] = field(default_factory=dict)
    committed: set[str] = field(default_factory=set)
    refusals: list[NotAdmittedError] = field(default_factory=list)
    meanwhile: Callable[[], None] = do_nothing
    clock: FakeClock = field(default_factory=lambda: FakeClock(NOW))
    reads: list[str] = field(default_factory=list)
    looks: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)
    admissions: list[Admission] = field(default_factory=list)
    reserved: list[UniqueLock] = field(default_factory=list)

    @property
    def unique(self) -> Uniqueness:
        """The service over this table."""
        changer = JobChanger(cast("JobStore", self), self.clock, self.missing)
        return Uniqueness(cast("UniqueJobs", self), changer, self.decide, no_sequences)

    def put(self, *jobs: JobRecord) -> None:
        """Store jobs."""
        self.jobs |= {job.id: job for job in jobs}

    def lock_for(self, holder: JobRecord, **more: Any) -> UniqueLock:
        """Give the key to a job."""
        self.locks[KEY] = UniqueLock(key=KEY, job_id=holder.id, version="1", **more)
        return self.locks[KEY]

    # what the tables do
    def load(self, job_id: str) -> JobRecord | None:
        self.reads.append(job_id)
        return self.jobs.get(job_id)

    def fill(self, job: JobRecord) -> JobRecord:
        return job

    def insert(self, job: JobRecord) -> None:
        self.put(job)

    def lock(self, key: str) -> UniqueLock | None:
        self.looks.append(key)
        return self.locks.get(key)

    def admit(self, admissions: Sequence[Admission]) -> None:
        self._refuse()
        self.admissions += admissions
        for each in admissions:
            self.put(*(job for job in (each.job, each.after) if job is not None))
            if each.lock is not None:
                self.locks[each.lock.key] = each.lock

    def reserve(self, lock: UniqueLock, _seen: UniqueLock | None) -> UniqueLock:
        self._refuse()
        self.reserved.append(lock)
        return lock

    def _refuse(self) -> None:
        if self.refusals:
            raise self.refusals.pop(0)

    def decide(self, batch: str) -> bool:
        self.decisions.append(batch)
        return batch in self.committed

    def missing(self, _job_ids: Sequence[str]) -> dict[str, JobRecord]:
        self.meanwhile()
        return {}


def same(_wanted: JobRecord, stored: JobRecord) -> JobRecord:
    """The stored job, which came from the same envelope."""
    return stored


def policy_of(strategy: str = "reject", **more: object) -> UniquePolicy:
    """A policy over the type, or as given."""
    return replace(UniquePolicy(on_conflict=OnConflict(strategy)), **more)  # type: ignore[arg-type]


def wanted(number: int = 1, policy: UniquePolicy | None = None, **more: object) -> WantedJob:
    """A job that wants the one key."""
    return WantedJob(a_job(number, **{"unique_key": KEY, **more}), policy or policy_of())
