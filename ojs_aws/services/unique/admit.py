"""Admits jobs under uniqueness keys (unique jobs, sections 5 to 9).

A key has a lock, which names the job that was admitted last. Whether that job keeps a newcomer
out follows from the job itself, read consistently, and the newcomer's policy; so a lock needs no
release, and none can leak. Each outcome is one transaction that insists on the lock as it was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.conflicts import NotAdmittedError, TransactionTooLargeError
from ojs_aws.domain.errors import NotFoundError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import deadlines, lifecycle
from ojs_aws.domain.jobs.batches import MAX_ACTIONS, Admission, UniqueLock
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.unique.keys import OnConflict, UniquePolicy, keeps_out
from ojs_aws.services.stored_jobs.change import JobChanger
from ojs_aws.services.unique import (
    Admitted,
    Same,
    UniqueEntry,
    WantedJob,
    brought,
    check_whole,
    contended,
    entries_of,
    fresh,
    naming,
    outcomes,
    rejected,
    until_of,
)

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.unique import UniqueJobs
    from ojs_aws.services.sequences.enqueue import SequenceEnqueue

MAX_LOOKS: Final = 16
"""How often a request looks again because others want the same key at the same time."""


@dataclass(frozen=True, slots=True)
class Uniqueness:
    """Stores jobs, some of them under uniqueness keys, all or none.

    :ivar decide: whether a large batch, which took locks, is committed; from then on it is, or it
        never will be.
    :ivar sequences: gives jobs their positions in sequences; made with the first of them.
    """

    jobs: UniqueJobs
    changer: JobChanger
    decide: Callable[[str], bool]
    sequences: Callable[[], SequenceEnqueue]

    def admit(self, wanted: Sequence[WantedJob], same: Same) -> list[Admitted]:
        """Store the jobs that no other job keeps out.

        :returns: what became of each, in order.
        :raises DuplicateError: a job has a duplicate and its policy says to reject it, or its id is
            another job's; nothing is stored.
        :raises TransactionTooLargeError: one transaction cannot hold all writes.
        :raises BackendUnavailableError: too many others wanted the same keys.
        """
        entries = entries_of(wanted)
        for _ in range(MAX_LOOKS):
            positions = [at for at, entry in enumerate(entries) if entry.admission is not None]
            admissions = [entry.admission for entry in entries if entry.admission is not None]
            _check_size(admissions)
            if not admissions:
                return outcomes(entries)
            try:
                self._store(entries, positions, admissions)
            except NotAdmittedError as refused:
                existing = {positions[at]: job for at, job in refused.existing.items()}
                locks = {positions[at]: lock for at, lock in refused.locks.items()}
                self._settle_own(entries, existing, same)
                self._look(entries, positions, locks, same)
                check_whole(entries)
            else:
                return outcomes(entries)
        raise contended()

    def _store(
        self,
        entries: Sequence[UniqueEntry],
        positions: Sequence[int],
        admissions: Sequence[Admission],
    ) -> None:
        """Store jobs by one transaction, those of sequences at their positions.

        :raises NotAdmittedError: something is not as it was seen; nothing was stored.
        """
        if not any(each.job and each.job.sequence for each in admissions):
            self.jobs.admit(admissions)
            return
        placed, others = self.sequences().placed(admissions)
        self.jobs.admit(placed, others)
        for at, each in zip(positions, placed, strict=True):
            if each.job is not None:
                entries[at].let = replace(entries[at].let, record=each.job)

    def admission(self, wanted: WantedJob, same: Same) -> tuple[Admitted, Admission | None]:
        """Return how a job would be admitted now; nothing is stored.

        :returns: what would become of it, and what is to be written for that, if anything.
        :raises DuplicateError: as :meth:`admit`.
        """
        entry = UniqueEntry(wanted, None, Admitted(record=wanted.record))
        if wanted.policy is None:
            fresh(entry, None)
        else:
            self.decide_on(entry, self.jobs.lock(wanted.record.unique_key), same)
        return entry.let, entry.admission

    def _settle_own(
        self, entries: Sequence[UniqueEntry], existing: dict[int, JobRecord], same: Same
    ) -> None:
        """Settle jobs that are stored already, by this very request or by another one."""
        for at, job in existing.items():
            with naming(entries, at):
                entries[at].let = Admitted(record=same(entries[at].wanted.record, job))
                entries[at].admission = None

    def _look(
        self,
        entries: Sequence[UniqueEntry],
        positions: Sequence[int],
        locks: dict[int, UniqueLock],
        same: Same,
    ) -> None:
        """Decide how jobs get past the locks that they met.

        :param locks: none when it is not known what was met: then all are read.
        """
        for at in positions:
            entry = entries[at]
            if entry.admission is None or entry.admission.lock is None:
                continue
            if not locks:
                with naming(entries, at):
                    self.decide_on(entry, self.jobs.lock(entry.admission.lock.key), same)
            elif at in locks:
                with naming(entries, at):
                    self.decide_on(entry, locks[at], same)

    def decide_on(self, entry: UniqueEntry, lock: UniqueLock | None, same: Same) -> None:
        """Decide on a job by the present lock of its key."""
        record, policy = entry.wanted.record, entry.wanted.policy
        assert policy is not None  # noqa: S101 - no other job has a lock
        now = self.changer.clock.now()
        lock, holder = self._held(lock)
        entry.holder_id = holder.id if holder else ""
        if lock is None or holder is None:
            fresh(entry, lock)
        elif holder.id == record.id:
            entry.let, entry.admission = Admitted(record=same(record, holder)), None
        elif lock.applied_id == record.id:
            entry.let = Admitted(record=self.changer.store.fill(holder), is_update=True)
            entry.admission = None
        elif (current := self.blocker(entry.wanted, holder, now)) is None:
            fresh(entry, lock)
        elif policy.on_conflict is OnConflict.REJECT:
            raise rejected(record, current)
        elif policy.on_conflict is OnConflict.IGNORE:
            entry.let = Admitted(record=self.changer.store.fill(current), is_duplicate=True)
            entry.admission = None
        else:
            self.replace_holder(entry, lock, current, max(now, deadlines.last_change(current)))

    def blocker(
        self, wanted: WantedJob, holder: JobRecord, now: Instant, *, asked_at: Instant | None = None
    ) -> JobRecord | None:
        """Return the holder of a key as of now if that job's policy keeps a job out.

        :param asked_at: when the job was enqueued, if that was before: what a period is held to.
        """
        policy = wanted.policy
        assert policy is not None  # noqa: S101 - no other job has a lock
        if _is_elsewhere(policy, wanted.record, holder):
            return None
        current = self._settled(holder, now)
        at = now if asked_at is None else asked_at
        return current if keeps_out(policy, current, at) else None

    def _settled(self, holder: JobRecord, now: Instant) -> JobRecord:
        """Return the holder as of now; due transitions are written before it admits others.

        Else a claim that is still on its way could begin it beside the job that took its place.
        """
        try:
            return self.changer.settled(holder, now)
        except NotFoundError:
            return deadlines.settle(holder, now)

    def _held(self, lock: UniqueLock | None) -> tuple[UniqueLock | None, JobRecord | None]:
        """Return a lock as it applies now, and the job that has it.

        A lock that was taken by a batch which is not committed counts as before, and the batch
        must not be committed any more. So does one of a committed batch that has no such job:
        another copy of the request took the lock, and the one that was committed did without.

        :raises BackendUnavailableError: others change the lock all the time.
        """
        for _ in range(MAX_LOOKS):
            if lock is None:
                return None, None
            holder = self.changer.store.load(lock.job_id)
            if not lock.batch or (holder is not None and not lock.is_brought):
                return lock, holder
            if self.decide(lock.batch):
                self.changer.missing([lock.applied_id or lock.job_id])
                now = self.jobs.lock(lock.key)
                if now is None or now.version != lock.version:
                    lock = now
                    continue
                holder = self.changer.store.load(lock.job_id)
            if holder is None and lock.previous:
                holder = self.changer.store.load(lock.previous)
            return replace(lock, applied_id=""), holder
        raise contended()

    def holder(self, key: str) -> JobRecord | None:
        """Return the job that was last admitted under a key, with its documents."""
        held = self._held(self.jobs.lock(key))[1] if key else None
        return None if held is None else self.changer.store.fill(held)

    def replace_holder(
        self, entry: UniqueEntry, lock: UniqueLock, holder: JobRecord, now: Instant
    ) -> None:
        """Put a job in the place of the one that holds its lock."""
        policy = entry.wanted.policy
        keeps_schedule = policy and policy.on_conflict is OnConflict.REPLACE_EXCEPT_SCHEDULE
        if keeps_schedule and holder.state is JobState.SCHEDULED:
            self.bring(entry, lock, holder)
        elif holder.state.is_terminal:  # there is nothing left to cancel
            fresh(entry, lock)
        else:
            fresh(entry, lock, holder, lifecycle.cancel(holder, now))

    def bring(self, entry: UniqueEntry, lock: UniqueLock, holder: JobRecord) -> Admission:
        """Put a job's arguments and metadata into the scheduled job, which keeps the rest.

        :returns: what to write.
        """
        whole = self.changer.store.fill(replace(holder, checkpoint=None))
        after = brought(holder, whole.document, entry.wanted.record)
        entry.let = Admitted(record=after, is_update=True)
        entry.admission = Admission(
            lock=UniqueLock(
                key=lock.key,
                job_id=holder.id,
                until=until_of(holder, entry.wanted.policy),
                applied_id=entry.wanted.record.id,
            ),
            seen=lock,
            before=holder,
            after=after,
        )
        return entry.admission


def _is_elsewhere(policy: UniquePolicy, record: JobRecord, holder: JobRecord) -> bool:
    """Return whether an operator moved the holder out of the queue in its key.

    Where the queue counts, the holder is no duplicate any more. It may also be in a queue that
    the newcomer's credentials must not touch.
    """
    return "queue" in policy.keys and holder.queue != record.queue


def _check_size(admissions: Sequence[Admission]) -> None:
    actions = sum(
        sum(part is not None for part in (each.job, each.lock, each.after)) for each in admissions
    )
    if actions > MAX_ACTIONS:
        raise TransactionTooLargeError(actions)
