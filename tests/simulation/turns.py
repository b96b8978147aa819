"""What is promised of sequences: one job has the turn, and none before it is left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ojs_aws.domain.job import JobRecord


def out_of_turn(job: JobRecord, jobs: Iterable[JobRecord]) -> Iterator[str]:
    """What is wrong with the turn of a job that has been written."""
    place = job.sequence
    if place is None or place.is_blocked or job.state.is_terminal:
        return
    for other in jobs:
        theirs = other.sequence
        if theirs is None or other.id == job.id or other.state.is_terminal:
            continue
        if (theirs.key, other.tenant) != (place.key, job.tenant):
            continue
        if not theirs.is_blocked:
            yield f"has the turn of sequence {place.key}, and so has {other.id[-4:]}"
        elif theirs.position < place.position:
            yield f"has the turn of sequence {place.key} before {other.id[-4:]}"


@dataclass
class EnqueueOrder:
    """Which jobs of sequences were answered for before another one was asked for.

    :ivar keys: of the jobs that were asked for, by id.
    :ivar earlier: the jobs of the same key that must be stored before a job.
    :ivar stored: the jobs that were ever stored.
    """

    promised: set[str]
    keys: dict[str, str] = field(default_factory=dict)
    earlier: dict[str, frozenset[str]] = field(default_factory=dict)
    stored: set[str] = field(default_factory=set)

    def asks(self, key: str, job_ids: Iterable[str]) -> None:
        """A client asks for jobs of a sequence."""
        before = frozenset(each for each in self.promised if self.keys.get(each) == key)
        for job_id in job_ids:
            self.keys[job_id], self.earlier[job_id] = key, before

    def overtaken_by(self, job_id: str) -> list[str]:
        """Note that a job was stored; the jobs that it has overtaken by that."""
        self.stored.add(job_id)
        return sorted(self.earlier.get(job_id, frozenset()) - self.stored)


def is_released(before: JobRecord, after: JobRecord) -> bool:
    """Whether a change gave a blocked job its turn."""
    return (
        before.sequence is not None
        and before.sequence.is_blocked
        and after.sequence is not None
        and not after.sequence.is_blocked
    )
