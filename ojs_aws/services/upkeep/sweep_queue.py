"""Sweeps one queue: sends messages for jobs due soon, settles overdue ones, resends lost messages.

Each part may be repeated or cut short: whatever it writes or sends is harmless the second time,
and the cursor moves only over jobs whose messages were sent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.lists import Head, ListedJob, Page
from ojs_aws.domain.jobs.ready_keys import ready_since
from ojs_aws.domain.queues import Message, QueueInfo
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.stored_jobs.change import JobChanger, JobErrors
from ojs_aws.services.stored_jobs.messages import JobMessages, message_of_row, seconds_until
from ojs_aws.services.upkeep.message_resend import MessageResend
from ojs_aws.topology import MAX_DELAY_S

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.registry import QueueRegistry

PAGE: Final = 100

INDEX_LAG_MS: Final = 60_000
"""A job may be missing from the index for so long after it was written."""

REACH_MS: Final = MAX_DELAY_S * 1000 - INDEX_LAG_MS
"""How far ahead messages are sent. A far job that is due this soon was stored at least
``INDEX_LAG_MS`` ago, so the cursor never passes one that the index does not show yet."""

MAX_ARMED: Final = 10_000
"""Messages sent per queue and tick; the cursor remembers where to go on."""

OVERDUE_PER_S: Final = 200
"""Jobs that were due before the sweep came to them are let loose at this rate."""

MAX_SETTLED: Final = 500
"""Jobs settled per queue and tick, the longest overdue first."""

MAX_FAILED: Final = 200
"""Jobs passed over per queue and tick, since they could not be written."""

SETTLE_AFTER_MS: Final = 5_000
"""Jobs due longer than this were not touched by a fetch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueReport:
    """Counts what the sweep did for a queue.

    :ivar armed: messages sent ahead of waiting jobs.
    :ivar settled: jobs moved by time.
    :ivar covered: messages sent again for ready jobs.
    :ivar lag_ms: how long the most overdue job without a message had been due.
    :ivar is_idle: nothing is ready, and nothing is due soon.
    :ivar oldest_ms: for how long the longest waiting job has been ready, of any priority; 0
        while the queue is paused.
    :ivar jobs_failed: jobs that could not be moved, and were passed over.
    """

    armed: int = 0
    settled: int = 0
    covered: int = 0
    lag_ms: int = 0
    is_idle: bool = False
    oldest_ms: int = 0
    jobs_failed: int = 0


@dataclass(frozen=True, slots=True)
class QueueSweep:
    """Sweeps one queue after another; several threads may share it.

    :ivar even: lets all lines of a wide queue say the same of it.
    """

    queues: QueueRegistry
    changer: JobChanger
    job_messages: JobMessages
    cover: MessageResend
    even: Callable[[str], None] = lambda _: None

    def __call__(
        self, info: QueueInfo, is_over: Callable[[], bool], sent: Collection[str] = ()
    ) -> QueueReport:
        """Sweep a queue.

        :param is_over: whether the time for it is up; asked after each page.
        :param sent: ids of jobs for which this tick has sent messages. SQS may not count these yet.
        """
        now = self.changer.clock.now()
        report = QueueReport()
        first = self.changer.store.due(info.name, Instant(0), _reach(now), 1).jobs
        if first:
            armed, lag_ms = self._arm(info, now, is_over)
            is_overdue = first[0].due <= now - SETTLE_AFTER_MS
            errors = JobErrors(is_over, MAX_FAILED)
            settled = self._settle(info.name, now, is_over, errors) if is_overdue else 0
            report = QueueReport(
                armed=armed, lag_ms=lag_ms, settled=settled, jobs_failed=len(errors.ids)
            )
        head = self.changer.store.head(info.name, PAGE)
        if head.is_uneven:
            self.even(info.name)
        return replace(
            report,
            covered=self.cover(info.name, head, now, sent),
            is_idle=not first and not head.jobs,
            oldest_ms=self._oldest_ms(info.name, head, now),
        )

    def _oldest_ms(self, queue: str, head: Head, now: Instant) -> int:
        """Return how long the oldest ready job has waited; 0 during a pause.

        Behind a head that is full of urgent jobs a lower priority may starve: that is asked for.
        """
        if head.is_paused:
            return 0
        since = min((ready_since(row.sort_key) for row in head.jobs), default=now)
        if len(head.jobs) >= PAGE:
            since = min(since, self.changer.store.oldest_ready(queue) or now)
        return max(0, now - since)

    # ------------------------------------------------------------------ what comes within reach
    def _arm(self, info: QueueInfo, now: Instant, is_over: Callable[[], bool]) -> tuple[int, int]:
        """Send the delayed messages of far jobs; return how many, and how late the first was."""
        since = Instant(0 if info.swept_until is None else info.swept_until + 1)
        cursor, armed, overdue, lag_ms = info.sweep_cursor, 0, 0, 0
        while armed < MAX_ARMED:
            page = self.changer.store.due(info.name, since, _reach(now), PAGE, cursor=cursor)
            far = [row for row in page.jobs if row.is_far]
            if far:
                lag_ms = max(lag_ms, now - far[0].due)
                delayed, overdue = delayed_messages(far, now, overdue)
                if not self.job_messages.send(info.name, delayed, now):
                    break
                armed += len(far)
            self._remember(info.name, page, now)
            cursor = page.cursor
            if not cursor or is_over():
                break
        return armed, lag_ms

    def _remember(self, queue: str, page: Page, now: Instant) -> None:
        """Move the cursor over a page; an empty page is cheaper to read again than to record.

        One in the middle may be empty, too: a query ends where it has read enough, not found.
        """
        if not page.jobs:
            return
        if page.cursor:
            self.queues.remember_sweep(queue, Instant(page.jobs[-1].due - 1), page.cursor)
        else:
            self.queues.remember_sweep(queue, _reach(now))

    # ------------------------------------------------------------------ what is overdue
    def _settle(
        self, queue: str, now: Instant, is_over: Callable[[], bool], errors: JobErrors
    ) -> int:
        """Move the jobs that have been due for a while, and count them.

        Nobody fetches them, or the worker and the message are both lost.
        """
        settled, looked_at, cursor = 0, 0, ""
        while looked_at < MAX_SETTLED:
            until = Instant(now - SETTLE_AFTER_MS)
            page = self.changer.store.due(queue, Instant(0), until, PAGE, cursor=cursor)
            looked_at += len(page.jobs)
            settled += self._settle_all(page.jobs, now, errors)
            cursor = page.cursor
            if not cursor or is_over():
                break
        return settled

    def _settle_all(self, rows: Sequence[ListedJob], now: Instant, errors: JobErrors) -> int:
        settled = 0
        states = {row.id: row.state for row in rows}
        for job_id, job in self.changer.settle_each([*states], now, errors.note):
            if job is None:
                continue
            settled += job.state is not states[job_id]
            if job.state is JobState.RETRYABLE:
                self.job_messages.send_for([job], now)
        return settled


def _reach(now: Instant) -> Instant:
    return Instant(now + REACH_MS)


def delayed_messages(
    rows: Iterable[ListedJob], now: Instant, overdue: int
) -> tuple[list[tuple[Message, int]], int]:
    """Return the messages of waiting jobs with their delays, after ``overdue`` jobs."""
    messages = []
    for row in rows:
        delay_s = seconds_until(row.due, now)
        if row.due <= now:
            delay_s, overdue = overdue // OVERDUE_PER_S, overdue + 1
        messages.append((message_of_row(row), delay_s))
    return messages, overdue
