"""Which completed jobs a repair lists, and which workflows it moves on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.lists import Between, Page
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows.workflow import WorkflowState
from ojs_aws.services.upkeep.repair import SETTLING_MS, ListRepair, ListRepairReport
from ojs_aws.testing.deployment import FakeClock
from tests.contract.test_job_store import NOW, a_job
from tests.unit.services.jobs.fetch.scripted import row_of
from tests.unit.services.workflows.test_seen_pages import a_workflow

LONG_AGO = Instant(NOW - 10 * SETTLING_MS)


def completed(number: int = 1, at: Instant = LONG_AGO, **more: Any) -> JobRecord:
    """A completed job that the stream was to list."""
    given = {"is_listing_left": True, **more}
    return a_job(number, state=JobState.COMPLETED, completed_at=at, **given)


@dataclass
class Lists:
    """Completed jobs that are listed, in pages of one; notes what is read and listed."""

    there: list[JobRecord] = field(default_factory=list)
    ranges: list[tuple[str, Between]] = field(default_factory=list)
    listings: list[list[str]] = field(default_factory=list)

    def listed(self, queue: str, *_: Any, cursor: str, between: Between, **__: Any) -> Page:
        self.ranges.append((queue, between))
        at = int(cursor or 0)
        rows = [replace(row_of(job), sort_key=str(job.completed_at)) for job in self.there]
        return Page(tuple(rows[at : at + 1]), str(at + 1) if at + 1 < len(rows) else "")

    def list_completed(self, jobs: Sequence[JobRecord]) -> None:
        self.listings.append([job.id for job in jobs])


def repaired(lists: Lists, *jobs: JobRecord, is_dry: bool = False) -> ListRepairReport:
    repair = ListRepair(cast("JobStore", lists), FakeClock(NOW), cast("Any", None))
    return repair(jobs, is_dry=is_dry)


@pytest.mark.parametrize(
    ("job", "counts"),
    [
        (completed(), True),
        (completed(is_listing_left=False), False),
        (completed(at=Instant(NOW - SETTLING_MS)), True),
        (completed(at=Instant(NOW - SETTLING_MS + 1)), False),
        (completed(kept_until=Instant(NOW + 1)), True),
        (completed(kept_until=NOW), False),
    ],
)
def test_a_job_is_to_be_listed_once_the_stream_had_its_time(job: JobRecord, counts: bool) -> None:
    """Until its retention is over."""
    lists = Lists()
    assert repaired(lists, job) == ListRepairReport(completed=counts, listed=counts)
    assert lists.listings == ([[job.id]] if counts else [])


@pytest.mark.parametrize("is_dry", [True, False])
def test_the_jobs_that_no_list_has_are_listed(is_dry: bool) -> None:
    """Whatever page of the list has the others; a dry run counts them."""
    early, late = Instant(LONG_AGO - 5), Instant(LONG_AGO + 5)
    first, missing, last = completed(1, early), completed(2), completed(3, late)
    lists = Lists([first, last])
    found = repaired(lists, first, missing, last, is_dry=is_dry)
    assert found == ListRepairReport(completed=3, listed=1)
    assert lists.listings == ([] if is_dry else [[missing.id]])
    assert lists.ranges == [("default", Between(early, late))] * 2


def test_where_all_are_listed_nothing_is_written() -> None:
    lists = Lists([completed()])
    assert repaired(lists, completed()) == ListRepairReport(completed=1)
    assert lists.listings == []


def test_a_list_is_read_no_further_once_all_jobs_are_found() -> None:
    """It may have millions of rows, of which only those of the chunk are kept."""
    lists = Lists([completed(1), completed(2), completed(3)])
    assert repaired(lists, completed(1)).listed == 0
    assert len(lists.ranges) == 1


def test_each_queue_has_its_own_list() -> None:
    lists = Lists()
    other = completed(2, Instant(LONG_AGO + 5), queue="other")
    assert repaired(lists, completed(), other).listed == 2
    assert {*lists.ranges} == {
        ("default", Between(LONG_AGO, LONG_AGO)),
        ("other", Between(Instant(LONG_AGO + 5), Instant(LONG_AGO + 5))),
    }


@pytest.mark.parametrize(
    ("state", "is_dry", "portions", "calls"),
    [
        (WorkflowState.RUNNING, False, 0, ["get", "advance"]),
        (WorkflowState.CANCELLED, False, 1, ["get", "advance", "cancel"]),
        (WorkflowState.CANCELLED, False, 3, ["get", "advance", "cancel", "cancel", "cancel"]),
        (WorkflowState.RUNNING, True, 0, []),
        (WorkflowState.COMPLETED, False, 0, []),
        (WorkflowState.FAILED, False, 0, []),
    ],
)
def test_workflows_that_may_go_on_are_moved_on(
    state: WorkflowState, is_dry: bool, portions: int, calls: list[str]
) -> None:
    """One that is cancelled until all its jobs are, portion by portion."""
    made: list[str] = []
    workflow = replace(a_workflow("w"), state=state)
    left = iter([replace(workflow, version=number) for number in range(2, portions + 1)])

    def cancel_jobs(current: Any) -> Any:
        made.append("cancel")
        return next(left, current)

    def advance(_: str) -> Any:
        made.append("advance")
        return workflow

    service = SimpleNamespace(
        get=lambda _: made.append("get"),
        workflow_advance=SimpleNamespace(advance=advance, cancel_jobs=cancel_jobs),
    )
    repair = ListRepair(cast("JobStore", Lists()), FakeClock(NOW), lambda: cast("Any", service))
    is_seen = state in {WorkflowState.RUNNING, WorkflowState.CANCELLED}
    assert repair([workflow], is_dry=is_dry) == ListRepairReport(workflows=is_seen)
    assert made == calls


def test_a_workflow_that_cannot_be_moved_on_does_not_stop_the_others() -> None:
    """It is counted as failed, and the whole may be repeated."""

    def get(workflow_id: str) -> None:
        if workflow_id == "bad":
            raise BackendError("down")

    advance = SimpleNamespace(advance=lambda _: None)
    service = SimpleNamespace(get=get, workflow_advance=advance)
    repair = ListRepair(cast("JobStore", Lists()), FakeClock(NOW), lambda: cast("Any", service))
    found = repair([a_workflow("bad"), a_workflow("good")])
    assert found == ListRepairReport(workflows=2, failed=1)
