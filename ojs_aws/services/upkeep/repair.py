"""Repairs what SQS or the stream lost: sends messages, lists completed jobs, moves workflows on.

A table that was restored from a backup says what the jobs are; SQS is not part of any backup. The
sweep alone would bring every job back, a hundred a minute and queue. A repair does it at once, page
by page: a request does a bounded part and its cursor goes on. A message too many finds nothing to
run, and is deleted. Changes that nobody could handle for a day are lost to the stream; the table
still says what should have followed from them. What is there already is left alone, so
repeating all of it is harmless.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.errors import BackendError, OjsError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.lists import Between, JobList, ListedJob
from ojs_aws.domain.queues import Message, QueueInfo
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows.workflow import Workflow, WorkflowState
from ojs_aws.services.stored_jobs import ListStop
from ojs_aws.services.stored_jobs.messages import JobMessages, message_of_row
from ojs_aws.services.upkeep.sweep_queue import delayed_messages
from ojs_aws.topology import MAX_DELAY_S

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.adapters.dynamodb.queues.registry import QueueRegistry
    from ojs_aws.services.workflows.service import WorkflowService

PAGE: Final = 100
MAX_PAGES: Final = 10
"""Pages of one request: a thousand messages at most, well inside the gateway's 30 seconds."""

WORKFLOWS_PAGE: Final = 10
"""Workflows of one page: each is read with its jobs."""

_SEPARATOR: Final = "|"
_WORKFLOWS: Final = "workflows"

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class RepairReport:
    """Counts what one request did, or would do.

    :ivar queues: queues of which it did the last page.
    :ivar ready: messages for jobs that may run now.
    :ivar waiting: delayed messages for jobs that are due within 15 minutes; the sweep sends those
        of later ones when they come within reach.
    :ivar paused: ready jobs of paused queues, which get their messages when the queue is resumed.
    :ivar workflows: workflows that were moved on as far as their jobs have come.
    :ivar cursor: where to go on; empty when all is done.
    """

    queues: list[str] = field(default_factory=list)
    ready: int = 0
    waiting: int = 0
    paused: int = 0
    workflows: int = 0
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Repair:
    """Sends the messages that SQS lost, and does what the stream had not done before the backup."""

    queues: QueueRegistry
    store: JobStore
    job_messages: JobMessages
    clock: Clock
    workflows: Callable[[], WorkflowService]

    def __call__(self, cursor: str = "", *, is_dry: bool = False) -> RepairReport:
        """Repair the next part.

        :param cursor: of the request before; empty to begin.
        :param is_dry: only count.
        :raises InvalidRequestError: a cursor that this did not give out.
        :raises BackendError: messages could not be sent; the same request goes on from there.
        """
        infos = {info.name: info for info in self.queues.all()}
        lists = (JobList.READY, JobList.WAITING)
        parts = [*((name, each) for name in sorted(infos) for each in lists), ("", _WORKFLOWS)]
        at, page = _place(cursor, parts)
        report = RepairReport()
        for _ in range(MAX_PAGES):
            queue, part = parts[at]
            if part == _WORKFLOWS:
                page = self._workflows(page, report, is_dry=is_dry)
            elif part == JobList.READY:
                page = self._ready(infos[queue], page, report, is_dry=is_dry)
            else:
                page = self._waiting(infos[queue], page, report, is_dry=is_dry)
            if page:
                continue
            if part == JobList.WAITING:
                report.queues.append(queue)
            at += 1
            if at == len(parts):
                return report
        report.cursor = _SEPARATOR.join((*parts[at], page))
        return report

    def _ready(self, info: QueueInfo, cursor: str, report: RepairReport, *, is_dry: bool) -> str:
        """Send the messages of a page of ready jobs; return where the next one begins."""
        queue = info.name
        page = self.store.listed(queue, JobList.READY, PAGE, cursor=cursor, newest_first=False)
        if info.paused_at is not None:
            report.paused += len(page.jobs)
            return page.cursor
        messages = [(message_of_row(row, row.sort_key), 0) for row in page.jobs]
        report.ready += len(messages)
        if not is_dry:
            self._send(queue, messages, self.clock.now())
        return page.cursor

    def _waiting(self, info: QueueInfo, cursor: str, report: RepairReport, *, is_dry: bool) -> str:
        """Send what is due within SQS's delay, reservations from before the restore included."""
        now = self.clock.now()
        until = Instant(now + MAX_DELAY_S * 1000)
        page = self.store.due(info.name, Instant(0), until, PAGE, cursor=cursor)
        rows = [row for row in page.jobs if not _is_left_to_sweep(row, info)]
        messages, _ = delayed_messages(rows, now, 0)
        report.waiting += len(messages)
        if not is_dry:
            self._send(info.name, messages, now)
        return page.cursor

    def _send(self, queue: str, messages: Sequence[tuple[Message, int]], now: Instant) -> None:
        if messages and not self.job_messages.send(queue, messages, now):
            raise BackendError(
                f"The messages of queue '{queue}' could not be sent.",
                hint="Repeat the request with the same cursor.",
            )

    def _workflows(self, cursor: str, report: RepairReport, *, is_dry: bool) -> str:
        """Read each running workflow, which takes over jobs that have ended."""
        service = self.workflows()
        page = service.list(WorkflowState.RUNNING, WORKFLOWS_PAGE, cursor)
        for workflow in page.workflows:
            try:
                if not is_dry:
                    service.get(workflow.id)
                    service.workflow_advance.advance(workflow.id)
                report.workflows += 1
            except OjsError as problem:
                if problem.retryable:  # so the request may be repeated, with the same cursor
                    raise
                _logger.exception("Could not move workflow %s on", workflow.id)
        return page.cursor


def _is_left_to_sweep(row: ListedJob, info: QueueInfo) -> bool:
    """Return whether the sweep has not reached a far job yet, and will send its message."""
    return row.is_far and row.due > (info.swept_until or 0)


def _place(cursor: str, parts: Sequence[tuple[str, str]]) -> tuple[int, str]:
    """Return at which part a request begins, and at which page of it.

    :raises InvalidRequestError: not a cursor that this server gave out.
    """
    if not cursor:
        return 0, ""
    queue, part, page = [*cursor.split(_SEPARATOR, 2), "", ""][:3]
    if (queue, part) not in parts:
        message = "The 'cursor' attribute is not one that this server gave out."
        hint = "Pass 'next_cursor' of the answer before as it is, or begin without one."
        raise field_error("cursor", message, hint)
    return parts.index((queue, part)), page


SETTLING_MS: Final = 600_000
"""Jobs that were completed less than this time ago are left to the stream."""

CHUNK: Final = 50_000
"""Jobs that one pass compares with the lists."""

COMPARED: Final = 1000
"""Rows of a list that it reads for a page."""


@dataclass(slots=True)
class ListRepairReport:
    """Counts what a repair found, and did or would do.

    :ivar completed: completed jobs that the stream is to list.
    :ivar listed: how many of them no list had.
    :ivar workflows: running and cancelled workflows, which were moved on as far as their jobs are.
    :ivar failed: how many of these could not be.
    """

    completed: int = 0
    listed: int = 0
    workflows: int = 0
    failed: int = 0

    def __add__(self, other: ListRepairReport) -> ListRepairReport:
        """Return the sum of two reports."""
        both = zip(astuple(self), astuple(other), strict=True)
        return ListRepairReport(*map(sum, both))


@dataclass(frozen=True, slots=True)
class ListRepair:
    """Compares jobs and workflows of the table with what should have followed from them."""

    store: JobStore
    clock: Clock
    workflows: Callable[[], WorkflowService]

    def __call__(
        self, found: Iterable[JobRecord | Workflow], *, is_dry: bool = False
    ) -> ListRepairReport:
        """Repair a part of the table; other parts may be repaired at the same time.

        :param found: completed jobs that have no row, and workflows.
        :param is_dry: only count.
        :raises BackendError: a call failed; the whole may be repeated.
        """
        report, chunk = ListRepairReport(), list[JobRecord]()
        for each in found:
            if isinstance(each, Workflow):
                self._workflow(each, report, is_dry=is_dry)
            else:
                chunk.append(each)
            if len(chunk) == CHUNK:
                self._jobs(chunk, report, is_dry=is_dry)
                chunk.clear()
        self._jobs(chunk, report, is_dry=is_dry)
        return report

    def _jobs(self, jobs: Sequence[JobRecord], report: ListRepairReport, *, is_dry: bool) -> None:
        now = self.clock.now()
        settled = [job for job in jobs if _is_to_be_listed(job, now)]
        missing: list[JobRecord] = []
        for queue in {job.queue for job in settled}:
            missing += self._missing(queue, [job for job in settled if job.queue == queue])
        if missing and not is_dry:
            self.store.list_completed(missing)
        report.completed += len(settled)
        report.listed += len(missing)

    def _missing(self, queue: str, jobs: Sequence[JobRecord]) -> list[JobRecord]:
        """Return the jobs that the list of their queue does not have."""
        left = {(job.id, _completed(job)): job for job in jobs}
        instants = [at for _, at in left]
        listed = ListStop(queue, JobList.COMPLETED, Between(min(instants), max(instants)))
        for page in listed.pages(self.store, size=lambda _: COMPARED, newest_first=False):
            for row in page.jobs:
                left.pop((row.id, row.due), None)
            if not left:
                break
        return [*left.values()]

    def _workflow(self, workflow: Workflow, report: ListRepairReport, *, is_dry: bool) -> None:
        if workflow.state not in {WorkflowState.RUNNING, WorkflowState.CANCELLED}:
            return
        report.workflows += 1
        try:
            if not is_dry:
                self._move_on(workflow)
        except OjsError:  # one workflow must not hold up the others
            _logger.exception("Could not move workflow %s on", workflow.id)
            report.failed += 1

    def _move_on(self, workflow: Workflow) -> None:
        """Take over the jobs that have ended; cancel those of a cancelled workflow."""
        service = self.workflows()
        advance = service.workflow_advance
        service.get(workflow.id)
        current = advance.advance(workflow.id)
        while current is not None and current.state is WorkflowState.CANCELLED:
            after = advance.cancel_jobs(current)
            if after is current:
                return
            current = after


def _is_to_be_listed(job: JobRecord, now: Instant) -> bool:
    """Return whether a list must have the job: it is neither quite new nor expired."""
    is_kept = job.kept_until is None or job.kept_until > now
    return job.is_listing_left and is_kept and _completed(job) <= now - SETTLING_MS


def _completed(job: JobRecord) -> Instant:
    return job.completed_at or Instant(0)
