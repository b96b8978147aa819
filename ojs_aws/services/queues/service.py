"""Lists, pauses and resumes queues for operators (HTTP binding, section 11).

A queue exists from its first use on, or because it is declared. What is known of it stands in one
item; while the queue is paused that item is the first row of its ready list, so that FETCH learns
of it from what it reads anyway.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.attributes import check_queue, not_found
from ojs_aws.domain.conflicts import QueueMissingError
from ojs_aws.domain.credentials import Actor, stored_actor
from ojs_aws.domain.errors import NotFoundError, OjsError
from ojs_aws.domain.jobs.lists import JobList, ListedJob
from ojs_aws.domain.queues import QueueInfo, Triggers
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.stored_jobs import ListStop
from ojs_aws.services.stored_jobs.messages import (
    MAX_HIDE_S,
    JobMessages,
    count_covered,
    message_of_row,
)

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.adapters.dynamodb.queues.line_marks import LineMarks
    from ojs_aws.adapters.dynamodb.queues.registry import QueueRegistry
    from ojs_aws.adapters.sqs import MessageQueue

MAX_WOKEN: Final = 1000
"""Jobs for which a resume sends messages; the sweep goes on where there are more."""

MOST_PER_JOB: Final = 4
"""Messages of a queue for each ready job, hidden and delayed ones included, but not those of jobs
that wait, beyond which none is sent for a resume or a changed limit. Else each change would add as
many as there are jobs."""

PAGE: Final = 100

FRESH_MS: Final = 600_000
"""Triggers of a queue that was paused so lately are looked at by each sweep."""

LOOK_EVERY_MIN: Final = 10
"""And later once in so many minutes."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Queues:
    """Lists, pauses and resumes queues.

    :ivar declared: names of the queues that exist from the beginning.
    :ivar allow_undeclared: whether a queue may come to be at its first use.
    :ivar lines: how many lines each wide queue may have jobs in.
    :ivar marks: lets all lines of a queue say the same of it; None where no queue is wide.
    """

    registry: QueueRegistry
    store: JobStore
    messages: MessageQueue
    job_messages: JobMessages
    triggers: Callable[[], Triggers]
    clock: Clock
    declared: frozenset[str]
    allow_undeclared: bool
    lines: Mapping[str, int] = field(default_factory=dict)
    marks: Callable[[], LineMarks] | None = None

    def list(self) -> list[QueueInfo]:
        """Return every queue that is declared or was used, by name."""
        return self.registry.all()

    def get(self, name: str) -> QueueInfo:
        """Return one queue.

        :raises NotFoundError: it is neither declared nor was it ever used.
        """
        info = self.registry.load(check_queue(name))
        if info is None:
            raise _unknown(name)
        return info

    def pause(self, name: str, by: Actor | None = None) -> QueueInfo:
        """Stop fetches from a queue; jobs may still be enqueued, and active ones continue.

        Lambda triggers are switched off, so that no message invokes a worker for nothing. Where
        that fails, the workers themselves set the messages aside. A queue that was never used
        may be paused before it is.

        :param by: who does it.
        :returns: the queue after it; one that was paused already keeps the time, and by whom.
        :raises NotFoundError: the queue is not declared, and undeclared ones are not allowed.
        """
        self.check(name)
        running = self._running(name)
        now = self.clock.now()
        info = self.registry.pause(name, running, now, stored_actor(by, now))
        self.copy_marks(name)
        if running:
            self._switch_off(name, running)
        return info

    def copy_marks(self, name: str) -> None:
        """Let each line of a wide queue say what the first one says of it; no call for others."""
        if name in self.lines and self.marks is not None:
            self.marks().copy(name)

    def check(self, name: str) -> None:
        """Refuse a name that no queue can have.

        :raises NotFoundError: the queue is not declared, and undeclared ones are not allowed.
        """
        check_queue(name)
        if not self.allow_undeclared and name not in self.declared:
            raise _unknown(name)

    def resume(self, name: str, by: Actor | None = None) -> Instant:
        """Let workers fetch again, and wake those that wait for messages.

        Of a queue that is not paused, all triggers that are off are switched on: after a restore
        of the table, nobody knows of a later pause that switched them off.

        :param by: who does it.
        :returns: when it was resumed.
        :raises NotFoundError: it is neither declared nor was it ever used.
        :raises BackendError: the triggers of a queue that is not paused could not be switched on.
        """
        now = self.clock.now()
        before = self.registry.resume(check_queue(name), stored_actor(by, now))
        self.copy_marks(name)
        if before is None:
            if name not in self.declared:
                raise _unknown(name)
        elif before.triggers or before.paused_at is not None:
            if before.triggers:
                self.finish_resume(before)
            self.wake(name)  # functions hide messages, too: those that were invoked meanwhile
            return now
        triggers = self.triggers()
        triggers.switch(triggers.stopped(name), is_on=True)
        return now

    def finish(self, info: QueueInfo) -> None:
        """Switch the triggers of a queue as its state demands; for the sweep.

        What a pause or a resume left in its middle is ended by it, and a trigger that is deployed
        while its queue is paused is switched off.
        """
        if info.paused_at is not None:
            self._finish_pause(info, info.paused_at)
        elif info.triggers:
            self.finish_resume(info)

    def _finish_pause(self, info: QueueInfo, paused_at: Instant) -> None:
        now = self.clock.now()
        is_due = zlib.crc32(info.name.encode()) % LOOK_EVERY_MIN == now // 60_000 % LOOK_EVERY_MIN
        if now - paused_at > FRESH_MS and not is_due:
            return
        running = self._running(info.name)
        if not running:
            return
        try:
            is_noted = self.registry.note_triggers(info.name, running)
        except OjsError:  # nothing may be switched off that nobody will switch on
            _logger.warning("Could not note the triggers of queue %s", info.name, exc_info=True)
            return
        if is_noted:
            self._switch_off(info.name, running)

    def _switch_off(self, name: str, ids: Sequence[str]) -> None:
        """Switch triggers off, and on again if somebody resumed the queue meanwhile.

        That resume may have switched them on before this switched them off.
        """
        self._switch(ids, is_on=False)
        try:
            info = self.registry.load(name)
        except OjsError:
            _logger.warning("Could not look at queue %s again", name, exc_info=True)
            return
        if info is None or info.paused_at is None:
            self._switch(ids, is_on=True)

    def finish_resume(self, info: QueueInfo) -> None:
        """Switch on the triggers that a pause switched off; the sweep does so, too.

        So they come back even if a resume ended in its middle.
        """
        if self._switch(info.triggers, is_on=True):
            try:
                self.registry.forget_triggers(info.name)
            except OjsError:
                _logger.warning("Could not note that queue %s runs", info.name, exc_info=True)

    def _running(self, name: str) -> Sequence[str]:
        try:
            return self.triggers().running(name)
        except OjsError:
            _logger.warning("Could not find the triggers of queue %s", name, exc_info=True)
            return []

    def _switch(self, ids: Sequence[str], *, is_on: bool) -> bool:
        try:
            self.triggers().switch(ids, is_on=is_on)
        except OjsError:
            _logger.warning("Could not switch triggers", exc_info=True)
            return False
        return True

    def wake(self, name: str) -> None:
        """Send messages for ready jobs whose own are hidden, by a pause or because of a limit.

        A message too many finds nothing to run and is deleted.
        """
        now = self.clock.now()
        try:
            rows = self._ready(name)
            missing = self._missing(name, len(rows), now) if rows else 0
        except OjsError:
            _logger.warning("Could not wake queue %s; the sweep will", name, exc_info=True)
            return
        if missing > 0:
            messages = [(message_of_row(row, row.sort_key), 0) for row in rows[:missing]]
            self.job_messages.send(name, messages, now)

    def _missing(self, name: str, ready: int, now: Instant) -> int:
        """Return how many of the ready jobs need a message.

        The messages of waiting jobs are not theirs; those jobs are read where that matters. For all
        of them where there is no SQS queue: sending makes it. So it is after a restore, for queues
        that were made at their first use.
        """
        try:
            there = self.messages.backlog(name)
        except QueueMissingError:
            return ready
        missing = ready - there.visible
        if ready >= MAX_WOKEN:  # there are more jobs than were read
            return missing
        room = MOST_PER_JOB * ready - there.total
        if missing > 0 and room < missing:
            room += self._count_messages(name, now)
        return min(missing, room)

    def _count_messages(self, name: str, now: Instant) -> int:
        """Count the messages of waiting jobs, up to a maximum."""
        covered, cursor = 0, ""
        until = Instant(now + MAX_HIDE_S * 1000)
        for _ in range(MAX_WOKEN // PAGE):
            page = self.store.due(name, Instant(0), until, PAGE, cursor=cursor)
            covered += count_covered(page.jobs, now)
            cursor = page.cursor
            if not cursor:
                break
        return covered

    def _ready(self, name: str) -> Sequence[ListedJob]:
        """Return the first ready jobs, up to a maximum."""
        pages = ListStop(name, JobList.READY).pages(self.store, most=MAX_WOKEN, newest_first=False)
        return [row for page in pages for row in page.jobs]


def _unknown(name: str) -> NotFoundError:
    hint = "A queue exists once a job was pushed to it, or when it is declared (OJS_QUEUES)."
    return not_found("queue", name, f"There is no queue '{name}'.", hint, queue=name)
