"""What is promised of sequences: one job has the turn, and none before it is left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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


def is_released(before: JobRecord, after: JobRecord) -> bool:
    """Whether a change gave a blocked job its turn."""
    return (
        before.sequence is not None
        and before.sequence.is_blocked
        and after.sequence is not None
        and not after.sequence.is_blocked
    )
