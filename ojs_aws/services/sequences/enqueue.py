"""Gives new jobs their positions in sequences: those of one transaction, or of a large batch.

Before a large batch is committed, each of its sequences names it (decision 127). Whoever enqueues a
job there later reads that, and puts the batch's jobs of the sequence there first, if it is
committed. The write that puts the last of them there ends it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Sequence as Many
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from ojs_aws.domain.conflicts import LogLostError, NotAdmittedError, TransactionTooLargeError
from ojs_aws.domain.errors import BackendUnavailableError, TransactAction
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.batches import MAX_ACTIONS, Admission, OpenBatch, StagedJob, StoredJob
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.sequences import (
    Enqueued,
    Sequence,
    actions_of,
    announced,
    enqueue,
    place_of,
    with_batches,
)

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.batches import Batches
    from ojs_aws.adapters.dynamodb.sequences import Sequences
    from ojs_aws.adapters.dynamodb.unique import UniqueJobs

MAX_LOOKS: Final = 16
"""How often a sequence is read again because others change it at the same time."""

Place: TypeAlias = Callable[[Many[StagedJob], OpenBatch], object]
"""Puts jobs of a committed batch into their places, and sends their messages."""

_logger: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SequenceEnqueue:
    """Reads the sequences of new jobs, and places the jobs in them; writes nothing.

    :ivar settle: puts the jobs of committed batches that a sequence names there first; returns
        False if there are none.
    """

    sequences: Sequences
    clock: Clock
    settle: Callable[[Sequence], bool]

    def settled(self, keys: Many[tuple[str, str]]) -> dict[tuple[str, str], Sequence]:
        """Read sequences once the jobs of committed batches are there; without idle ones.

        Makes one consistent read, or a batch read for each hundred.
        """
        found = self.sequences.load_all(keys)
        again = [key for key, seen in found.items() if seen.batches and self.settle(seen)]
        for key in again:
            del found[key]
        return found | self.settled(again) if again else found

    def placed(
        self, admissions: Many[Admission], *, batch: str = "", last: Many[str] = ()
    ) -> tuple[list[Admission], list[TransactAction]]:
        """Return admissions with their jobs at positions, and what is to be written for that.

        Makes the reads of :meth:`settled`.

        :param batch: the committed batch whose jobs they are, if it is a large one.
        :param last: ids of jobs that are the last ones of their sequences in that batch.
        :raises TransactionTooLargeError: one transaction cannot hold all writes.
        """
        found = [*admissions]
        enqueued: list[Enqueued] = []
        groups = _by_sequence(admissions)
        load = self.sequences.load_all if batch else self.settled
        known = load([*groups])
        for sequence, positions in groups.items():
            jobs = [job for at in positions if (job := found[at].job) is not None]
            placed, change = enqueue(jobs, known.get(sequence), self.clock.now())
            if any(job.id in last for job in jobs):
                names = {*change.after.batches} - {batch}
                change = replace(change, after=with_batches(change.after, names))
            enqueued.append(change)
            for at, job in zip(positions, placed, strict=True):
                found[at] = replace(found[at], job=job)
        _check_size(found, enqueued)
        return found, [part for each in enqueued for part in self.sequences.enqueuing(each)]


def _by_sequence(admissions: Many[Admission]) -> dict[tuple[str, str], list[int]]:
    groups: dict[tuple[str, str], list[int]] = {}
    for at, each in enumerate(admissions):
        if each.job is not None and each.job.sequence is not None:
            groups.setdefault(_sequence_of(each.job), []).append(at)
    return groups


def _check_size(admissions: Many[Admission], enqueued: Many[Enqueued]) -> None:
    items = sum(
        sum(part is not None for part in (each.job, each.lock, each.after)) for each in admissions
    )
    needed = items + sum(1 + len(each.blocked) for each in enqueued)
    if needed > MAX_ACTIONS:
        raise TransactionTooLargeError(needed)


@dataclass(frozen=True, slots=True)
class SequenceBatches:
    """Puts jobs of large batches into their sequences, in their order.

    :ivar sequence_enqueue: gives jobs their positions.
    :ivar jobs: stores jobs with what goes with them.
    """

    sequences: Sequences
    sequence_enqueue: SequenceEnqueue
    jobs: UniqueJobs
    clock: Clock

    def announce(self, batch_id: str, staged: Many[StagedJob]) -> list[StagedJob]:
        """Let the sequences of jobs name the batch that will be committed.

        Makes a batch read for a hundred sequences, and a write for each.

        :returns: the jobs, and which of them are the last ones of their sequences.
        :raises BackendUnavailableError: a sequence was changed by others all the time.
        """
        found = [*staged]
        keys: dict[tuple[str, str], int] = {}
        for at, each in enumerate(staged):
            if each.record.sequence is not None:
                keys[_sequence_of(each.record)] = at
        for at in keys.values():
            found[at] = replace(found[at], is_last=True)
        left = [*keys]
        for _ in range(MAX_LOOKS):
            known = self.sequence_enqueue.settled(left)
            left = [each for each in left if not self._name(each, known.get(each), batch_id)]
            if not left:
                return found
        raise _contended()

    def _name(self, of: tuple[str, str], seen: Sequence | None, batch_id: str) -> bool:
        if seen is not None and batch_id in seen.batches:
            return True
        after = announced(of[1], of[0], seen, batch_id, self.clock.now())
        return self.sequences.name_batches(seen, after)

    def place(self, staged: Many[StagedJob], batch_id: str) -> dict[str, StoredJob]:
        """Put jobs of a committed batch into their sequences; those that are there are left.

        Makes a transaction for at most forty-nine jobs, and the reads of their sequences.

        :returns: what became of each, by id.
        :raises BackendUnavailableError: others changed the sequences all the time.
        """
        placed: dict[str, StoredJob] = {}
        for chunk in _chunks(staged):
            placed |= self._store(chunk, batch_id)
        return placed

    def _store(self, chunk: Many[StagedJob], batch_id: str) -> dict[str, StoredJob]:
        """Put jobs into their sequences by one transaction."""
        left, placed = [*chunk], dict[str, StoredJob]()
        for _ in range(MAX_LOOKS):
            admissions = [Admission(job=each.record) for each in left]
            last = [each.record.id for each in left if each.is_last]
            found, others = self.sequence_enqueue.placed(admissions, batch=batch_id, last=last)
            try:
                self.jobs.admit(found, others)
            except NotAdmittedError:
                there = self.jobs.store.load_many([each.record.id for each in left])
                placed |= {job_id: StoredJob(job) for job_id, job in there.items()}
                left = [each for each in left if each.record.id not in there]
                if not left:
                    return placed
                continue
            jobs = [each.job for each in found if each.job is not None]
            return placed | {job.id: StoredJob(job) for job in jobs}
        raise _contended()

    def settle(self, seen: Sequence, log: Batches, place: Place) -> bool:
        """Put the jobs of committed batches that a sequence names there.

        A batch that is not decided yet comes at the same time as whoever asks: either may be first.
        After an hour it is given up, so that no sequence names it for ever. If its process should
        be alive, it begins again.

        :returns: whether the sequence may have changed.
        """
        decided = {each for each in seen.batches if log.decided(each) is not None}
        if seen.has_dead_batches(now := self.clock.now()):
            for batch_id in {*seen.batches} - decided:
                log.decide(batch_id, None, now)
            decided = {*seen.batches}
        if not decided:
            return False
        for batch in log.open():
            if batch.id in decided:
                try:
                    place_all_of((seen.tenant, seen.key), batch, log, place)
                except LogLostError:  # the sweep gives the batch up
                    _logger.warning("Batch %s has lost a part of its log", batch.id, exc_info=True)
        found = self.sequences.load(seen.tenant, seen.key)
        if found is not None and decided & {*found.batches}:  # nothing of them is to come
            self.sequences.name_batches(found, with_batches(found, {*found.batches} - decided))
        return True


def place_all_of(sequence: tuple[str, str], batch: OpenBatch, log: Batches, place: Place) -> None:
    """Put all jobs of a committed batch into one sequence, as far as they are not there.

    Makes a read for each part that is not in its place as a whole, and the calls of ``place``.
    """
    for number in range(log.done(batch), len(batch.sizes)):
        part = [each for each in log.part(batch, number) if each.record.sequence is not None]
        place([each for each in part if _sequence_of(each.record) == sequence], batch)


def _sequence_of(job: JobRecord) -> tuple[str, str]:
    return job.tenant, place_of(job).key


def _chunks(staged: Iterable[StagedJob]) -> Iterator[list[StagedJob]]:
    """Yield jobs in their order, as many as one transaction holds."""
    chunk: list[StagedJob] = []
    for each in staged:
        jobs = [job.record for job in (*chunk, each)]
        if len(jobs) + actions_of(jobs) > MAX_ACTIONS:
            yield chunk
            chunk = []
        chunk.append(each)
    if chunk:
        yield chunk


def _contended() -> BackendUnavailableError:
    """Return the error of a request that always lost to others."""
    return BackendUnavailableError(
        "Too many requests change the same sequence at once.", hint="Repeat the request."
    )
