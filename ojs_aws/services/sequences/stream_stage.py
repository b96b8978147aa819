"""Applies committed changes to sequences: a stage of the stream's consumer.

Every record may come twice, late, or together with others: doing it again changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ojs_aws.domain.job import JobRecord, is_blocked
from ojs_aws.domain.job_policies import OnDiscard
from ojs_aws.domain.sequences import BlockedJob, place_of, what_follows

if TYPE_CHECKING:
    from ojs_aws.services.sequences.advance import SequenceAdvance

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceStage:
    """Holds what one change means for a sequence.

    :ivar ended: the blocked job that has ended; None where the head may have.
    """

    tenant: str
    key: str
    ended: BlockedJob | None = None


def sequence_stage(before: JobRecord | None, after: JobRecord | None) -> SequenceStage | None:
    """Return what a change of a job that is part of a sequence means for it; None for nothing."""
    job = after or before
    if job is None or job.sequence is None:
        return None
    place = place_of(job)
    stage = SequenceStage(tenant=job.tenant, key=place.key)
    if before is None:
        return stage if place.checks else None
    if is_blocked(before):
        if after is not None and not (after.state.is_terminal and is_blocked(after)):
            return None  # its turn has come, or the sequence was cancelled: then its row is gone
        row = BlockedJob(place.position, job.id)
        return SequenceStage(tenant=job.tenant, key=place.key, ended=row)
    if after is not None:
        return stage if after.state.is_terminal and not before.state.is_terminal else None
    # A removed job that had ended matters only where the sequence is stopped on it.
    is_stop = what_follows(before) is OnDiscard.STOP
    return stage if is_stop or not before.state.is_terminal else None


def follow(
    sequence_advance: Callable[[], SequenceAdvance],
    changes: Sequence[tuple[str, SequenceStage]],
    has_time: Callable[[], bool] = lambda: True,
) -> dict[str, Exception | None]:
    """Apply changes to sequences, those of one sequence together.

    :param sequence_advance: makes the service; not called when there is nothing to do.
    :param changes: each with its number.
    :param has_time: whether another sequence may be begun.
    :returns: the numbers of those that must be done again, and why; None where more is to be done.
    """
    failed: dict[str, Exception | None] = {}
    groups: dict[SequenceStage, list[str]] = {}
    for number, stage in changes:
        groups.setdefault(stage, []).append(number)
    for stage, numbers in groups.items():
        if not has_time():
            failed.update(dict.fromkeys(numbers))
            continue
        try:
            is_done = _follow_one(sequence_advance(), stage)
        except Exception as problem:  # one sequence must not hold up the others
            _logger.exception("Could not move sequence %s on", stage.key)
            failed.update(dict.fromkeys(numbers, problem))
        else:
            if not is_done:
                failed.update(dict.fromkeys(numbers))
    return failed


def _follow_one(sequence_advance: SequenceAdvance, stage: SequenceStage) -> bool:
    if stage.ended is None:
        return sequence_advance.advance(stage.tenant, stage.key)
    sequence_advance.sequences.forget(stage.tenant, stage.key, stage.ended)
    return True
