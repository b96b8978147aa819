"""Sends messages again for jobs that have been ready for long.

SQS does not say whose messages it holds, only how many. So the sweep compares numbers, and sends no
more than are missing: a message too many costs an invocation each time it comes back.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.conflicts import QueueMissingError
from ojs_aws.domain.jobs.lists import Head, ListedJob
from ojs_aws.domain.jobs.ready_keys import limit_of, ready_since, tenant_in
from ojs_aws.domain.queues import Backlog
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.limits.check import LimitedTypes
from ojs_aws.services.stored_jobs.messages import (
    MAX_HIDE_S,
    JobMessages,
    count_covered,
    message_of_row,
)

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.adapters.dynamodb.queues.registry import QueueRegistry
    from ojs_aws.adapters.sqs import MessageQueue

UNCOVERED_AFTER_MS: Final = 60_000
"""Jobs ready longer than this may have lost their message."""

AGAIN_AFTER_MS: Final = 110_000
"""When a message is sent again for the same job at the earliest; doubled with each further one."""

LONGEST_AGAIN_MS: Final = 3_600_000

PAGE: Final = 100
"""Rows of the waiting list that are counted."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """Says how long nothing is sent for a job after its last message."""

    until: Instant
    pause_ms: int


@dataclass(frozen=True, slots=True)
class MessageResend:
    """Sends messages for ready jobs of one queue after another; several threads may share it."""

    store: JobStore
    messages: MessageQueue
    queues: QueueRegistry
    job_messages: JobMessages
    limited_types: LimitedTypes
    _sent: dict[str, dict[str, _Sent]] = field(default_factory=dict)

    def __call__(self, queue: str, head: Head, now: Instant, sent: Collection[str] = ()) -> int:
        """Send messages for jobs that have been ready for long; return how many.

        Without a limit, a visible message is enough: it brings a worker to the first of them.
        Delayed messages and those in somebody's hands say nothing of these jobs. Where a limit
        makes jobs wait, their messages are set aside, hidden or delayed: so all of them count.

        :param sent: ids of jobs that got a message just now, and so are left out.
        """
        late = [
            row
            for row in head.jobs
            if now - ready_since(row.sort_key) > UNCOVERED_AFTER_MS and row.id not in sent
        ]
        if not late or head.is_paused:
            self._sent.pop(queue, None)
            return 0
        try:
            there = self.messages.backlog(queue)
        except QueueMissingError:
            self.queues.ensure(queue, now)
            there = Backlog()
        if self._is_limited(queue, head, late, there):
            late = late[: self._missing(queue, len(late), there, now)]
        elif there.visible:
            return 0
        else:
            late = self._not_sent_lately(queue, late, now)
        messages = [(message_of_row(row, row.sort_key), 0) for row in late]
        if not messages or not self.job_messages.send(queue, messages, now):
            return 0
        self._note(queue, late, now)
        return len(late)

    def _is_limited(
        self, queue: str, head: Head, late: Sequence[ListedJob], there: Backlog
    ) -> bool:
        """Return whether a limit may make these jobs wait.

        Limits of job types and tenants cost a read; it is not needed where a message is visible.
        """
        if head.limit or any(limit_of(row.sort_key) for row in late):
            return True
        if there.visible or not there.total:
            return False
        limiting = self.limited_types.check(queue)
        return any(limiting.keys_of("", row.type, tenant_in(row.sort_key)) for row in late)

    def _missing(self, queue: str, late: int, there: Backlog, now: Instant) -> int:
        """Return how many jobs of a limited queue have no message.

        There are also messages of jobs under way, and of those that are due within SQS's reach.
        These jobs are read only where it matters.
        """
        missing = late - there.total
        if -PAGE < missing <= 0:
            until = Instant(now + MAX_HIDE_S * 1000)
            missing += count_covered(self.store.due(queue, Instant(0), until, PAGE).jobs, now)
        return max(0, missing)

    def _not_sent_lately(
        self, queue: str, late: Sequence[ListedJob], now: Instant
    ) -> list[ListedJob]:
        """Return the jobs for which this process sent nothing recently.

        A worker that fails at its start takes messages and hides them for long; one more each
        minute would multiply them.
        """
        sent = self._sent.get(queue, {})
        return [row for row in late if row.id not in sent or sent[row.id].until <= now]

    def _note(self, queue: str, rows: Sequence[ListedJob], now: Instant) -> None:
        before = self._sent.get(queue, {})
        kept = {job_id: each for job_id, each in before.items() if each.until > now}
        for row in rows:
            last = before.get(row.id)
            pause = AGAIN_AFTER_MS if last is None else min(2 * last.pause_ms, LONGEST_AGAIN_MS)
            kept[row.id] = _Sent(Instant(now + pause), pause)
        self._sent[queue] = kept
