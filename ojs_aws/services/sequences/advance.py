"""Moves sequences on: gives the next job its turn when the one before has ended.

A look reads the sequence, its head and its first blocked job consistently, and makes one step by
one write that insists on what was read. The turn of a job and the removal of its row are one
transaction, so that whatever repeats, comes late or comes at the same time finds the step made.
So every record of the stream may come twice, late, or together with others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import NotFoundError
from ojs_aws.domain.job import JobRecord, is_blocked
from ojs_aws.domain.job_policies import OnDiscard
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.sequences import (
    BlockedJob,
    Sequence,
    cancelled,
    is_over,
    place_of,
    released,
    what_follows,
)
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.sequences import Sequences
    from ojs_aws.services.stored_jobs.change import JobChanger
    from ojs_aws.services.stored_jobs.messages import JobMessages

MAX_LOOKS: Final = 40
"""Looks of one call; whoever called goes on with what is left."""

FURTHER: Final = 24
"""Blocked jobs that a look reads after the first one was not enough."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SequenceAdvance:
    """Moves sequences on.

    :ivar settle: puts the jobs of committed batches that a sequence names there; returns False if
        there are none.
    """

    sequences: Sequences
    changer: JobChanger
    job_messages: JobMessages
    settle: Callable[[Sequence], bool]

    def advance(
        self,
        tenant: str,
        key: str,
        *,
        passes: str = "",
        has_time: Callable[[], bool] = lambda: True,
    ) -> bool:
        """Give the next job of a sequence its turn if the head has ended.

        Repeating it changes nothing.

        :param passes: a discarded job that counts as completed here, whatever its choice.
        :param has_time: whether there is time for another step; the first one is always made.
        :returns: False if there is more to do: then call again.
        """
        most = 1
        for look in range(MAX_LOOKS):
            if look and not has_time():
                return False
            seen, rows = self.sequences.look(tenant, key, most)
            if seen is None:
                return True
            named = [seen.job_id, *(row.job_id for row in rows)]
            jobs = self.changer.find_many([each for each in named if each])
            head = self.settled(jobs.get(seen.job_id))
            if not is_over(head):
                self._send_again(head)
                return True
            choice = OnDiscard.SKIP if passes == seen.job_id else what_follows(head)
            if choice is OnDiscard.STOP:
                if seen.stopped_at is not None or self.sequences.stop(seen, self._now()):
                    return True
            elif choice is OnDiscard.CANCEL and seen.batches and self.settle(seen):
                pass  # jobs of a batch were put behind it; they are cancelled, too
            elif choice is OnDiscard.CANCEL and rows:
                self._cancel(seen, rows, jobs, has_time)
            elif self._go_on(seen, rows, jobs, is_all=len(rows) < most):
                return True
            most = FURTHER
        return False

    def _now(self) -> Instant:
        return self.changer.clock.now()

    def _after(self, job: JobRecord) -> Instant:
        """Return the present instant; that of a job's last change, by a clock ahead, if later."""
        return max(self._now(), deadlines.last_change(job))

    def _send_again(self, head: JobRecord | None) -> None:
        """Send the message of a head that has not begun: who gave it the turn may have died."""
        if head is not None and not head.attempt:
            self.job_messages.send_for([head], self._now())

    def _go_on(
        self,
        seen: Sequence,
        rows: Many[BlockedJob],
        jobs: Mapping[str, JobRecord],
        *,
        is_all: bool,
    ) -> bool:
        """Make one step; return True if the sequence has a head now, or is gone."""
        ended: list[BlockedJob] = []
        for row in rows:
            job = self.settled(jobs.get(row.job_id))
            if job is None or job.state.is_terminal:
                ended.append(row)
                continue
            now = self._after(job)
            after = released(job, now, self.changer.clock.order())
            after = self.changer.placed_again(after)
            if not self.sequences.hand_over(seen, ended, row, (job, after), now):
                return False
            self.job_messages.send_for([after], self._now())
            return True
        for row in ended:
            self.sequences.forget(seen.tenant, seen.key, row)
        return is_all and self._end(seen)

    def _end(self, seen: Sequence) -> bool:
        """End a sequence without jobs, or leave it idle where jobs of a batch may come."""
        if not seen.batches:
            return self.sequences.end(seen)
        return not seen.job_id or self.sequences.leave_idle(seen, self._now())

    def settled(self, job: JobRecord | None) -> JobRecord | None:
        """Return a job as of now: one that has expired is discarded."""
        try:
            return None if job is None else self.changer.settled(job, self._now())
        except NotFoundError:
            return None

    def _cancel(
        self,
        seen: Sequence,
        rows: Many[BlockedJob],
        jobs: Mapping[str, JobRecord],
        has_time: Callable[[], bool],
    ) -> None:
        """Cancel blocked jobs in their order while there is time and nothing else changes them."""
        for row in rows:
            if row is not rows[0] and not has_time():
                return
            job = self.settled(jobs.get(row.job_id))
            if job is None or job.state.is_terminal:
                self.sequences.forget(seen.tenant, seen.key, row)
                continue
            now = self._after(job)
            if not self.sequences.cancel(seen, row, (job, cancelled(job, now)), now):
                return
            seen = replace(seen, version=seen.version + 1)


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
    changes: Many[tuple[str, SequenceStage]],
    has_time: Callable[[], bool] = lambda: True,
) -> dict[str, Exception | None]:
    """Apply changes to sequences, those of one sequence together.

    :param sequence_advance: makes the service; not called when there is nothing to do.
    :param changes: each with its number.
    :param has_time: whether another sequence, or another step of one, may be begun.
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
            is_done = _follow_one(sequence_advance(), stage, has_time)
        except Exception as problem:  # one sequence must not hold up the others
            _logger.exception("Could not move sequence %s on", stage.key)
            failed.update(dict.fromkeys(numbers, problem))
        else:
            if not is_done:
                failed.update(dict.fromkeys(numbers))
    return failed


def _follow_one(
    sequence_advance: SequenceAdvance, stage: SequenceStage, has_time: Callable[[], bool]
) -> bool:
    if stage.ended is None:
        return sequence_advance.advance(stage.tenant, stage.key, has_time=has_time)
    sequence_advance.sequences.forget(stage.tenant, stage.key, stage.ended)
    return True
