"""Repairs after a restore: sends a message for every job, and moves workflows on.

A table that was restored from a backup says what the jobs are; SQS is not part of any backup. The
sweep alone would bring every job back, a hundred a minute and queue. This does it at once, page by
page: a request does a bounded part and its cursor goes on. Nothing is decided here, so repeating
all of it is harmless: a message too many finds nothing to run, and is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.jobs.lists import JobList, ListedJob, Page
from ojs_aws.domain.queues.state import QueueInfo
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows.workflow import WorkflowState
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
class _Step:
    """Says where a request begins: a list of a queue; without a queue, the workflows."""

    queue: str
    part: str
    cursor: str = ""

    def __str__(self) -> str:
        return _SEPARATOR.join((self.queue, self.part, self.cursor))


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
        step = self._begin(cursor, sorted(infos))
        report = RepairReport()
        for _ in range(MAX_PAGES):
            if step.part == _WORKFLOWS:
                following = self._workflows(step, report, is_dry=is_dry)
            elif step.part == JobList.READY:
                following = self._ready(step, infos[step.queue], report, is_dry=is_dry)
            else:
                following = self._waiting(step, infos[step.queue], report, is_dry=is_dry)
            if following is None:
                following = _after(step, sorted(infos))
                if step.part == JobList.WAITING:
                    report.queues.append(step.queue)
            if following is None:
                return report
            step = following
        report.cursor = str(step)
        return report

    def _begin(self, cursor: str, names: Sequence[str]) -> _Step:
        if not cursor:
            return _Step(names[0], JobList.READY) if names else _Step("", _WORKFLOWS)
        queue, part, rest = [*cursor.split(_SEPARATOR, 2), "", ""][:3]
        is_known = part == _WORKFLOWS and not queue
        is_known |= part in {JobList.READY, JobList.WAITING} and queue in names
        if not is_known:
            message = "The 'cursor' attribute is not one that this server gave out."
            hint = "Pass 'next_cursor' of the answer before as it is, or begin without one."
            raise field_error("cursor", message, hint)
        return _Step(queue, part, rest)

    # ------------------------------------------------------------------ jobs
    def _ready(
        self, step: _Step, info: QueueInfo, report: RepairReport, *, is_dry: bool
    ) -> _Step | None:
        page = self.store.listed(
            step.queue, JobList.READY, PAGE, cursor=step.cursor, newest_first=False
        )
        if info.paused_at is not None:
            report.paused += len(page.jobs)
            return _next(step, page)
        messages = [(message_of_row(row, row.sort_key), 0) for row in page.jobs]
        report.ready += len(messages)
        if messages and not is_dry:
            is_sent = self.job_messages.send(step.queue, messages, self.clock.now())
            self._check(step, is_sent=is_sent)
        return _next(step, page)

    def _waiting(
        self, step: _Step, info: QueueInfo, report: RepairReport, *, is_dry: bool
    ) -> _Step | None:
        """Return what is due within SQS's delay, reservations from before the restore included."""
        now = self.clock.now()
        until = Instant(now + MAX_DELAY_S * 1000)
        page = self.store.due(step.queue, Instant(0), until, PAGE, cursor=step.cursor)
        rows = [row for row in page.jobs if not _is_left_to_sweep(row, info)]
        messages, _ = delayed_messages(rows, now, 0)
        report.waiting += len(messages)
        if messages and not is_dry:
            self._check(step, is_sent=self.job_messages.send(step.queue, messages, now))
        return _next(step, page)

    def _check(self, step: _Step, *, is_sent: bool) -> None:
        if not is_sent:
            raise BackendError(
                f"The messages of queue '{step.queue}' could not be sent.",
                hint="Repeat the request with the same cursor.",
            )

    # ------------------------------------------------------------------ workflows
    def _workflows(self, step: _Step, report: RepairReport, *, is_dry: bool) -> _Step | None:
        """Read each running workflow, which takes over jobs that have ended."""
        service = self.workflows()
        page = service.list(WorkflowState.RUNNING, WORKFLOWS_PAGE, step.cursor)
        report.workflows += len(page.workflows)
        if not is_dry:
            for workflow in page.workflows:
                service.get(workflow.id)
                service.workflow_advance.advance(workflow.id)
        return _Step("", _WORKFLOWS, page.cursor) if page.cursor else None


def _is_left_to_sweep(row: ListedJob, info: QueueInfo) -> bool:
    """Return whether the sweep has not reached a far job yet, and will send its message."""
    return row.is_far and row.due > (info.swept_until or 0)


def _next(step: _Step, page: Page) -> _Step | None:
    return _Step(step.queue, step.part, page.cursor) if page.cursor else None


def _after(step: _Step, names: Sequence[str]) -> _Step | None:
    """Return the part that follows the last page of one; None at the end."""
    if step.part == _WORKFLOWS:
        return None
    if step.part == JobList.READY:
        return _Step(step.queue, JobList.WAITING)
    later = [name for name in names if name > step.queue]
    return _Step(later[0], JobList.READY) if later else _Step("", _WORKFLOWS)
