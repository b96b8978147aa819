"""Gives new jobs their positions in sequences, within the transaction that stores them."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Many
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ojs_aws.domain.conflicts import TransactionTooLargeError
from ojs_aws.domain.errors import TransactAction
from ojs_aws.domain.jobs.batches import MAX_ACTIONS, Admission
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.sequences import Enqueued, Sequence, enqueue, place_of, with_batches

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.sequences import Sequences


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
            key = place_of(each.job).key
            groups.setdefault((each.job.tenant, key), []).append(at)
    return groups


def _check_size(admissions: Many[Admission], enqueued: Many[Enqueued]) -> None:
    items = sum(
        sum(part is not None for part in (each.job, each.lock, each.after)) for each in admissions
    )
    needed = items + sum(1 + len(each.blocked) for each in enqueued)
    if needed > MAX_ACTIONS:
        raise TransactionTooLargeError(needed)
