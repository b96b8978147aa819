"""Moves sequences on: gives the next job its turn when the one before has ended.

A look reads the sequence, its head and its first blocked job consistently, and makes one step by
one write that insists on what was read. The turn of a job and the removal of its row are one
transaction, so that whatever repeats, comes late or comes at the same time finds the step made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import NotFoundError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.job_policies import OnDiscard
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.sequences import (
    BlockedJob,
    Sequence,
    cancelled,
    is_over,
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

    def advance(self, tenant: str, key: str, *, passes: str = "") -> bool:
        """Give the next job of a sequence its turn if the head has ended.

        Repeating it changes nothing.

        :param passes: a discarded job that counts as completed here, whatever its choice.
        :returns: False if there is more to do: then call again.
        """
        most = 1
        for _ in range(MAX_LOOKS):
            seen, rows = self.sequences.look(tenant, key, most)
            if seen is None:
                return True
            named = [seen.job_id, *(row.job_id for row in rows)]
            jobs = self.changer.find_many([each for each in named if each])
            head = jobs.get(seen.job_id)
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
                self._cancel(seen, rows, jobs)
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
            job = self._settled(jobs.get(row.job_id))
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

    def _settled(self, job: JobRecord | None) -> JobRecord | None:
        """Return a job as of now: one that has expired is discarded."""
        try:
            return None if job is None else self.changer.settled(job, self._now())
        except NotFoundError:
            return None

    def _cancel(
        self, seen: Sequence, rows: Many[BlockedJob], jobs: Mapping[str, JobRecord]
    ) -> None:
        """Cancel blocked jobs in their order, as far as nothing else has changed the sequence."""
        for row in rows:
            job = self._settled(jobs.get(row.job_id))
            if job is None or job.state.is_terminal:
                self.sequences.forget(seen.tenant, seen.key, row)
                continue
            now = self._after(job)
            if not self.sequences.cancel(seen, row, (job, cancelled(job, now)), now):
                return
            seen = replace(seen, version=seen.version + 1)
