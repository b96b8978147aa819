"""Gives new jobs their positions in sequences, within the transaction that stores them."""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ojs_aws.domain.errors import TransactAction
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.sequences import Enqueued, enqueue, place_of, too_many
from ojs_aws.domain.unique.locks import MAX_ACTIONS, Admission

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.sequences import Sequences


@dataclass(frozen=True, slots=True)
class SequenceEnqueue:
    """Reads the sequences of new jobs, and places the jobs in them; writes nothing."""

    sequences: Sequences
    clock: Clock

    def placed(self, admissions: Many[Admission]) -> tuple[list[Admission], list[TransactAction]]:
        """Return admissions with their jobs at positions, and what is to be written for that.

        Makes one consistent read for each sequence.

        :raises PayloadTooLargeError: one transaction cannot hold all writes.
        """
        found = [*admissions]
        enqueued: list[Enqueued] = []
        for (tenant, key), positions in _by_sequence(admissions).items():
            jobs = [job for at in positions if (job := found[at].job) is not None]
            seen = self.sequences.load(tenant, key)
            placed, change = enqueue(jobs, seen, self.clock.now())
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
        raise too_many(needed, MAX_ACTIONS)
