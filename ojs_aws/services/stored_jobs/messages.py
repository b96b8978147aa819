"""Sends and deletes the messages that let jobs run.

The item is the truth and is always written first. A message that cannot be sent costs time, not
the job: pollers find ready jobs without one, and the sweep sends missing ones again. So failures
here, whatever their cause, are logged and never undo or deny what has been committed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.conflicts import QueueMissingError
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import JobRecord, JobState, is_blocked
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.jobs.lists import ListedJob
from ojs_aws.domain.queues import Message, ReceivedMessage
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import MAX_DELAY_S, MAX_RECEIVE_COUNT

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.registry import QueueRegistry
    from ojs_aws.adapters.sqs import MessageQueue

MAX_HIDE_S: Final = 43_200

MAX_ASIDE_S: Final = 60
"""Longest wait for which a message is hidden rather than sent again (seconds)."""

MAX_HIDDEN: Final = 60_000
"""Messages of a queue beyond which none is hidden because of a limit: half of what SQS allows."""

MAX_RECEIVED: Final = MAX_RECEIVE_COUNT // 2

STILL_HELD_MS: Final = 5_000
"""How long a reservation must last from now on so that its message is certain to be hidden: clocks
differ by less, and a message is hidden a moment before its reservation is written."""

_logger = logging.getLogger(__name__)


def message_of(job: JobRecord) -> Message:
    """Return the message that lets a job run; it names the sort key if the job has one."""
    is_ready = job.state is JobState.AVAILABLE
    return Message(
        job.id,
        job.ready_key if is_ready else "",
        job.timeout_ms,
        job.visibility_timeout_ms,
        job.shard,
    )


def message_of_row(row: ListedJob, sort_key: str = "") -> Message:
    """Return the message of a listed job, with its sort key if it has one."""
    return Message(row.id, sort_key, row.timeout_ms, row.visibility_timeout_ms, row.shard)


def count_covered(rows: Iterable[ListedJob], now: Instant) -> int:
    """Count the waiting jobs that have a message: active ones, and those due within SQS's delay."""
    reach = Instant(now + MAX_DELAY_S * 1000)
    return sum(not row.is_far or row.due <= reach for row in rows)


def seconds_until(due: Instant, now: Instant) -> int:
    """Return whole seconds from now to an instant, rounded up so that nothing comes early."""
    return max(0, -((now - due) // 1000))


@dataclass(frozen=True, slots=True)
class JobMessages:
    """Keeps messages for jobs.

    :ivar wide: names of wide queues. Who polls such a queue sees a job that waits for a limit only
        if a message brings it there.
    """

    messages: MessageQueue
    queues: QueueRegistry
    wide: Collection[str] = ()

    def send_for(self, jobs: Sequence[JobRecord], now: Instant) -> None:
        """Send the message of each job that can run now or within SQS's longest delay."""
        by_queue: dict[str, list[tuple[Message, int]]] = {}
        for job in jobs:
            delay = self._delay(job, now)
            if delay is not None:
                by_queue.setdefault(job.queue, []).append((message_of(job), delay))
            elif not job.state.is_terminal:
                self._note(job.queue, now)
        for queue, messages in by_queue.items():
            self.send(queue, messages, now)

    def send_late(self, job: JobRecord, now: Instant) -> bool:
        """Send the message of a job stored earlier by a process that could not send it.

        Beyond SQS's reach the sweep does it; what is within it now, the sweep may have passed.

        :returns: False when it is not certain to be sent: then again.
        """
        due = deadlines.next_due(job) if job.state is JobState.SCHEDULED else now
        if job.state.is_terminal or due is None:
            return True
        delay = seconds_until(due, now)
        if job.state is JobState.PENDING or delay > MAX_DELAY_S:
            return self._note(job.queue, now)
        return self.send(job.queue, [(message_of(job), delay)], now)

    def _delay(self, job: JobRecord, now: Instant) -> int | None:
        """Return the seconds until the job may run, or None if no message is due yet."""
        if job.state is JobState.AVAILABLE:
            return 0
        if is_blocked(job) or job.state not in {JobState.SCHEDULED, JobState.RETRYABLE}:
            return None
        due = deadlines.next_due(job)
        if due is None or deadlines.wait_ms(job) > MAX_DELAY_S * 1000:
            return None  # the sweep arms it, once
        return min(seconds_until(due, now), MAX_DELAY_S)

    def _note(self, queue: str, now: Instant) -> bool:
        """Register a queue for the sweep: its jobs have no message yet."""
        try:
            self.queues.note(queue, now)
        except Exception:  # whatever it was, the job is written
            _logger.exception("Could not register queue %s", queue)
            return False
        return True

    def send(self, queue: str, messages: Sequence[tuple[Message, int]], now: Instant) -> bool:
        """Send messages with their delays in seconds; return False if that is uncertain."""
        try:
            try:
                self._deliver(queue, messages)
            except QueueMissingError:
                self.queues.ensure(queue, now)
                self._deliver(queue, messages)
        except Exception:
            _logger.exception("Could not send %d messages to queue %s", len(messages), queue)
            self._note(queue, now)  # the sweep sends them, if it knows of the queue
            return False
        return True

    def _deliver(self, queue: str, messages: Sequence[tuple[Message, int]]) -> None:
        if len(messages) == 1:
            self.messages.send(queue, *messages[0])
        else:
            self.messages.send_all(queue, messages)

    def delete_for(self, job: JobRecord) -> None:
        """Delete the message under which the job was reserved."""
        if job.reservation and job.reservation.message_handle:
            self.discard(job.queue, [job.reservation.message_handle])

    def end_reservation(self, job: JobRecord, now: Instant) -> None:
        """Delete the message of a job that was cancelled; wake who waits for its slots elsewhere.

        Who polls a queue with one line sees without a message that a slot is free.

        :param job: as it was before.
        """
        self.delete_for(job)
        if job.queue in self.wide:
            self.pass_on(job, now)

    def delete_left(
        self,
        jobs: Iterable[JobRecord],
        now: Instant,
        has_time: Callable[[], bool] = lambda: True,
    ) -> None:
        """Delete the messages of jobs that were completed a while ago, by their reservations.

        Another worker may have received a message whose reservation ends about now, for another
        job, and SQS may still delete it by its old handle. So this leaves such messages alone.

        :param has_time: whether the messages of another queue may be deleted.
        """
        by_queue: dict[str, list[str]] = {}
        for job in jobs:
            held = job.reservation
            if held and held.message_handle and now + STILL_HELD_MS <= held.due_at:
                by_queue.setdefault(job.queue, []).append(held.message_handle)
        for queue, handles in by_queue.items():
            if not has_time():
                return
            self.discard(queue, handles)

    def discard(self, queue: str, handles: Sequence[str]) -> None:
        """Delete messages; one that remains is recognised as stray when it comes back."""
        if handles:
            try:
                self.messages.delete(queue, handles)
            except Exception:  # whatever it was, the job is written
                _logger.warning(
                    "Could not delete %d messages of queue %s", len(handles), queue, exc_info=True
                )

    def reject(self, queue: str, body: str) -> bool:
        """Send an unreadable body to the dead-letter queue; return False if it must stay."""
        try:
            self.messages.reject(queue, body)
        except (OjsError, QueueMissingError):
            _logger.warning("An unreadable message stays in queue %s", queue, exc_info=True)
            return False
        return True

    def hide(self, queue: str, handles: Sequence[tuple[str, int]]) -> bool:
        """Hide messages for this many seconds; return False if that is uncertain."""
        if not handles:
            return True
        bounded = [(handle, min(max(seconds, 0), MAX_HIDE_S)) for handle, seconds in handles]
        try:
            self.messages.hide(queue, bounded)
        except Exception:  # whatever it was, the job is written
            _logger.warning(
                "Could not hide %d messages of queue %s", len(handles), queue, exc_info=True
            )
            return False
        return True

    def waiting(self, queue: str) -> int:
        """Return about how many messages a queue has, hidden ones included; 0 if unknown."""
        try:
            return self.messages.backlog(queue).total
        except (OjsError, QueueMissingError):
            _logger.warning("Could not count the messages of queue %s", queue)
            return 0

    def set_aside(
        self,
        queue: str,
        messages: Sequence[tuple[ReceivedMessage, int]],
        now: Instant,
        *,
        can_hide: bool = True,
    ) -> frozenset[str]:
        """Hide messages for many seconds; there may be many messages.

        Short waits hide a message. For long ones, and for messages that were received often, a
        new one is sent in its place: hidden messages count against SQS's limit of 120,000 in
        flight, and what was received too often counts as unreadable.

        :param can_hide: whether messages may be hidden at all: not where there are too many.
        :returns: handles of the messages that are still there.
        """
        brief = [can_hide and _is_short(each, seconds) for each, seconds in messages]
        short = [
            (each.handle, seconds)
            for (each, seconds), is_brief in zip(messages, brief, strict=True)
            if is_brief
        ]
        long = [each for each, is_brief in zip(messages, brief, strict=True) if not is_brief]
        self.hide(queue, short)
        resent = [(each.message, min(seconds, MAX_DELAY_S)) for each, seconds in long]
        if long and self.send(queue, resent, now):
            self.discard(queue, [each.handle for each, _ in long])
            return frozenset(handle for handle, _ in short)
        self.hide(queue, [(each.handle, seconds) for each, seconds in long])
        return frozenset(each.handle for each, _ in messages)

    def pass_on(self, job: JobRecord, now: Instant) -> None:
        """Wake a worker for jobs that wait for the slots of an ended job.

        The message names the job that is over, so it is deleted where nobody waits.
        """
        if job.reservation is not None and any(
            _may_wait(job, key) for key in job.reservation.slots
        ):
            self.send(job.queue, [(replace(message_of(job), sort_key=""), 0)], now)


def _is_short(received: ReceivedMessage, seconds: int) -> bool:
    return seconds <= MAX_ASIDE_S and received.receive_count < MAX_RECEIVED


def _may_wait(job: JobRecord, key: str) -> bool:
    """Return whether others may wait for a slot; a slot in a window is never given back."""
    own = job.limit
    return own is None or own.key != key or own.concurrency is not None
