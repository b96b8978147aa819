"""Repairs what the table's stream should have done: lists completed jobs, moves workflows on.

Changes that nobody could handle for a day are lost to the stream. The table still says what the
jobs and workflows are. Nothing is decided here, and what is there already is left alone, so that
repeating all of it changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.lists import Between, JobList
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows.workflow import Workflow, WorkflowState

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.services.workflows.service import WorkflowService

SETTLING_MS: Final = 600_000
"""Jobs that were completed later than this ago are left to the stream."""

CHUNK: Final = 50_000
"""Jobs that are compared with the lists together."""

PAGE: Final = 1000

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
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
        return ListRepairReport(
            self.completed + other.completed,
            self.listed + other.listed,
            self.workflows + other.workflows,
            self.failed + other.failed,
        )


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
                report += self._workflow(each, is_dry=is_dry)
                continue
            chunk.append(each)
            if len(chunk) == CHUNK:
                report += self._jobs(chunk, is_dry=is_dry)
                chunk.clear()
        return report + self._jobs(chunk, is_dry=is_dry)

    # ------------------------------------------------------------------ jobs
    def _jobs(self, jobs: Sequence[JobRecord], *, is_dry: bool) -> ListRepairReport:
        now = self.clock.now()
        settled = [job for job in jobs if _is_to_be_listed(job, now)]
        missing: list[JobRecord] = []
        for queue in {job.queue for job in settled}:
            missing += self._missing(queue, [job for job in settled if job.queue == queue])
        if missing and not is_dry:
            self.store.list_completed(missing)
        return ListRepairReport(completed=len(settled), listed=len(missing))

    def _missing(self, queue: str, jobs: Sequence[JobRecord]) -> list[JobRecord]:
        """Return the jobs that the list of their queue does not have."""
        instants = [_completed(job) for job in jobs]
        between = Between(min(instants), max(instants))
        left = {(job.id, _completed(job)): job for job in jobs}
        cursor, is_begun = "", False
        while left and (cursor or not is_begun):
            is_begun = True
            page = self.store.listed(
                queue, JobList.COMPLETED, PAGE, cursor=cursor, newest_first=False, between=between
            )
            for row in page.jobs:
                left.pop((row.id, row.due), None)
            cursor = page.cursor
        return [*left.values()]

    # ------------------------------------------------------------------ workflows
    def _workflow(self, workflow: Workflow, *, is_dry: bool) -> ListRepairReport:
        if workflow.state not in {WorkflowState.RUNNING, WorkflowState.CANCELLED}:
            return ListRepairReport()
        try:
            if not is_dry:
                self._move_on(workflow)
        except OjsError:  # one workflow must not hold up the others
            _logger.exception("Could not move workflow %s on", workflow.id)
            return ListRepairReport(workflows=1, failed=1)
        return ListRepairReport(workflows=1)

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
