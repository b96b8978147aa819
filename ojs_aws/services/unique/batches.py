"""Admits unique jobs in batches too large for one transaction (unique jobs, section 9).

Each lock is taken before the batch is committed, and says so: it counts if the batch is committed,
and as it was before if not. Whoever wants the key meanwhile has that decided first, so that a
batch never commits over a lock that it has lost. What a job does to the one that holds its key is
done after the commit, when it is put into its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ojs_aws.domain.attributes import at_index
from ojs_aws.domain.conflicts import AlreadyStoredError, BatchDecidedError, NotAdmittedError
from ojs_aws.domain.errors import BackendError, DuplicateError, OjsError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import deadlines, lifecycle
from ojs_aws.domain.jobs.batches import Admission, StagedJob, StoredJob, UniqueLock
from ojs_aws.domain.json_text import ANY_DEPTH, decode, stored_texts
from ojs_aws.domain.runtime import Parallel
from ojs_aws.domain.unique.keys import OnConflict, UniquePolicy, parse_unique_policy
from ojs_aws.services.unique import (
    Admitted,
    Same,
    UniqueEntry,
    WantedJob,
    check_whole,
    contended,
    entries_of,
    fresh,
    outcomes,
)
from ojs_aws.services.unique.admit import MAX_LOOKS, Uniqueness


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """Holds what to store for a batch, and what then happens to each of its jobs."""

    entries: Sequence[UniqueEntry]

    @property
    def staged(self) -> list[StagedJob]:
        """Return the jobs to store."""
        return [
            StagedJob(entry.wanted.record, replaces=entry.replaces)
            for entry in self.entries
            if entry.admission is not None
        ]

    def lets(self, placed: dict[str, StoredJob]) -> list[Admitted]:
        """Return what happened to each job, in order.

        :param placed: jobs that are in their places; the others will be.
        :raises DuplicateError: an id was taken, by somebody else's job, while the batch was being
            committed; the others are stored.
        """
        for index, entry in enumerate(self.entries):
            there = placed.get(entry.wanted.record.id)
            if there is None or there.record is None:
                continue
            if there.is_update:
                entry.let = Admitted(record=there.record, is_update=True)
            elif not is_own(there.record, entry.wanted.record):
                raise DuplicateError(
                    f"Job at index {index}: another job took the id '{there.record.id}' meanwhile.",
                    details={
                        "index": index,
                        "existing_job_id": there.record.id,
                        "stored_job_ids": [
                            staged.record.id
                            for staged in self.staged
                            if staged.record.id != there.record.id
                        ],
                    },
                    hint="The other jobs of the batch are stored; give this one another id.",
                    existing=(there.record.queue, there.record.type, there.record.tenant),
                )
            elif entry.admission is not None:
                record = there.record if there.record.sequence else entry.wanted.record
                entry.let = Admitted(record=record, is_new=True)
        return outcomes(self.entries)


@dataclass(frozen=True, slots=True)
class KeyReservation:
    """Takes the locks of a batch that is not committed yet.

    :ivar is_decided: whether another copy of the request committed the batch, or it was given up.
    """

    unique: Uniqueness
    batch_id: str
    same: Same
    is_decided: Callable[[], bool]

    def plan(self, wanted: Sequence[WantedJob], parallel: Parallel) -> BatchPlan:
        """Decide what happens to the jobs, and take the locks of those that are admitted.

        :raises DuplicateError: one is kept out and its policy says to reject it; the index in the
            details. What was taken for the others is of no effect.
        :raises BatchDecidedError: it is too late to take locks for the batch.
        """
        entries = entries_of(wanted)
        locked = [
            (index, entry)
            for index, entry in enumerate(entries)
            if entry.admission is not None and entry.admission.lock is not None
        ]

        def reserve(each: tuple[int, UniqueEntry]) -> OjsError | None:
            index, entry = each
            try:
                with at_index(index):
                    self._reserve(entry)
            except OjsError as problem:
                return problem
            return None

        # BatchDecidedError passes through and comes first: in a batch that is decided, the other
        # errors may be about its own jobs.
        problems = [problem for problem in parallel.each(reserve, locked) if problem is not None]
        if problems:
            raise problems[0]
        check_whole(entries)
        return BatchPlan(entries)

    def _reserve(self, entry: UniqueEntry) -> None:
        """Take one job's lock, as its policy allows."""
        for _ in range(MAX_LOOKS):
            admission = entry.admission
            if admission is None or admission.lock is None:
                return
            lock = replace(
                admission.lock,
                batch=self.batch_id,
                previous=entry.holder_id,
                until=None if admission.seen else admission.lock.until,
            )
            try:
                self.unique.jobs.reserve(lock, admission.seen)
            except NotAdmittedError as refused:
                self._look(entry, refused.locks[0])
            else:
                entry.replaces = admission.before is not None
                return
            if entry.replaces:
                return
        raise contended()

    def _look(self, entry: UniqueEntry, found: UniqueLock) -> None:
        """Decide how a job gets past the lock that it met."""
        record = entry.wanted.record
        if found.batch == self.batch_id and record.id in {found.job_id, found.applied_id}:
            # Taken by this very request, sent before. Whether the job does anything to the one
            # that held the key is decided when it is put into its place.
            entry.replaces = True
            fresh(entry, found)
            return
        self.unique.decide_on(entry, found, self.same)
        # Another copy of this request may have committed the batch, and the holder have taken the
        # key since: a lock of a committed batch would count in the place of the holder's. Asked
        # after the lock was read: whoever commits it later has taken this lock from the holder.
        if entry.admission is not None and entry.holder_id and self.is_decided():
            raise BatchDecidedError


def take_place(unique: Uniqueness, record: JobRecord, batch_id: str) -> StoredJob:
    """Let a job of a committed batch replace, or change, the one that holds its key.

    Takes effect once, however often it is called: the job, or the lock, shows that it was done.

    :raises BackendError: too many others change the same jobs.
    """
    for _ in range(MAX_LOOKS):
        stored = unique.changer.store.load(record.id)
        lock = unique.jobs.lock(record.unique_key)
        if stored is not None:
            return StoredJob(stored)
        if lock is None or lock.batch != batch_id:
            return _applied(unique, record, lock)
        entry = UniqueEntry(WantedJob(record, _policy(record)), None, Admitted(record=record))
        admission = _replacing(unique, entry, lock)
        try:
            _store(unique, admission)
        except (NotAdmittedError, AlreadyStoredError):
            continue
        replaced = admission.before if entry.let.is_new else None
        return StoredJob(entry.let.record, is_update=entry.let.is_update, replaced=replaced)
    raise BackendError("Too many requests change the same jobs.", hint="Repeat the request.")


def _replacing(unique: Uniqueness, entry: UniqueEntry, lock: UniqueLock) -> Admission:
    """Return what to write so that a job replaces the one that held its lock.

    The policy is asked again, since it may leave the holder alone: another copy of the request may
    have taken the lock, or the holder have changed. The job itself is stored in any case.
    """
    now, wanted = unique.changer.clock.now(), entry.wanted
    held = unique.changer.store.load(lock.previous) if lock.previous else None
    asked_at = wanted.record.created_at
    holder = held and unique.blocker(wanted, held, now, asked_at=asked_at)
    if holder is None or holder.state.is_terminal or not _is_replacing(wanted.policy):
        admission = fresh(entry, lock)
    elif lock.is_brought and holder.state is JobState.SCHEDULED:
        admission = unique.bring(entry, lock, holder)
    else:
        cancelled = lifecycle.cancel(holder, max(now, deadlines.last_change(holder)))
        admission = fresh(entry, lock, holder, cancelled)
    if lock.job_id == wanted.record.id:
        return replace(admission, lock=None, seen=None)
    return admission


def _is_replacing(policy: UniquePolicy | None) -> bool:
    """Return whether a job replaces the one that keeps it out."""
    return policy is not None and policy.on_conflict not in {OnConflict.REJECT, OnConflict.IGNORE}


def _store(unique: Uniqueness, admission: Admission) -> None:
    if admission.job is not None and admission.lock is None and admission.before is None:
        unique.changer.store.insert(admission.job)
    else:
        unique.jobs.admit([admission])


def _applied(unique: Uniqueness, record: JobRecord, lock: UniqueLock | None) -> StoredJob:
    """Return what happened to a job whose lock no longer belongs to its batch."""
    if lock is not None and lock.applied_id == record.id:
        holder = unique.changer.store.load(lock.job_id)
        return StoredJob(holder and unique.changer.store.fill(holder), is_update=True)
    return StoredJob(None)


def is_own(stored: JobRecord, record: JobRecord) -> bool:
    """Return whether a stored job came from exactly this record of a log.

    A job of a sequence gets another order when it has its turn.
    """
    is_same_order = stored.order == record.order or record.sequence is not None
    return is_same_order and stored.created_at == record.created_at


def _policy(record: JobRecord) -> UniquePolicy:
    """Return the policy of a job whose envelope is valid."""
    if not isinstance(record.document, str):  # pragma: no cover - a log holds whole documents
        raise TypeError("the document of a log's job is a text")
    policy = stored_texts(record.document)["unique"]
    return parse_unique_policy(decode(policy, max_depth=ANY_DEPTH))
