"""Many jobs get another priority: those of a filter, exactly those that a dry run counted."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobState
from ojs_aws.services.bulk import BulkReport, BulkStatus
from ojs_aws.services.jobs.job_lists import JobFilter
from ojs_aws.services.jobs.search import JobSearch
from tests.jobs import any_job
from tests.simulation.world import World

ALL = JobFilter(queue="default")


def push(world: World, **attributes: Any) -> str:
    """Push a job; a second passes."""
    record = world.backend.jobs.push(any_job("demo.echo", [1], **attributes)).record
    assert record is not None
    world.clock.advance(s=1)
    return record.id


def everything(world: World, priority: int, wanted: JobFilter, **more: Any) -> list[BulkReport]:
    """Go on until there is no more."""
    reports = [world.backend.bulk.by_filter.reprioritise(priority, wanted, **more)]
    while reports[-1].cursor:
        cursor = reports[-1].cursor
        reports.append(
            world.backend.bulk.by_filter.reprioritise(priority, wanted, cursor=cursor, **more)
        )
    return reports


def test_each_job_that_waits_is_moved_once() -> None:
    """Whatever the pages: who was moved to another place is met again, and left out."""
    world = World()
    ids = [push(world, priority=n % 3) for n in range(9)]
    ids += [push(world, pending=True), push(world, delay="PT1H")]
    has_it = push(world, priority=50)
    reports = everything(world, 50, ALL, limit=2)
    moved = [each.job_id for report in reports for each in report.outcomes]
    assert sorted(moved) == sorted(ids)
    assert {job.priority for job in world.stored.jobs.values()} == {50}
    assert world.stored.jobs[has_it].version == 1
    lowered = everything(world, -50, ALL, limit=2)
    assert sum(report.done for report in lowered) == 12


def test_a_dry_run_changes_nothing_and_its_instant_holds() -> None:
    """Jobs that come later are left alone; those that began meanwhile are skipped."""
    world = World()
    counted = [push(world), push(world, pending=True)]
    (dry,) = everything(world, 5, ALL, is_dry=True)
    assert {each.job_id for each in dry.outcomes} == set(counted)
    assert {job.priority for job in world.stored.jobs.values()} == {0}
    as_of = world.clock.now()
    world.clock.advance(s=1)
    later = push(world)
    wanted = JobFilter(queue="default", as_of=as_of)
    assert sum(report.done for report in everything(world, 5, wanted)) == 2
    assert world.stored.jobs[later].priority == 0


def test_a_job_that_ends_meanwhile_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its page was read before."""
    world = World()
    job_id = push(world)
    find = JobSearch.find

    def cancel_after(*given: Any, **more: Any) -> Any:
        page = find(*given, **more)
        world.backend.jobs.cancel(job_id)
        return page

    monkeypatch.setattr(JobSearch, "find", cancel_after)
    (outcome,) = world.backend.bulk.by_filter.reprioritise(5, ALL).outcomes
    assert outcome.status is BulkStatus.SKIPPED
    assert world.stored.jobs[job_id].priority == 0


@pytest.mark.parametrize(
    "wanted", [JobFilter(), JobFilter(states=frozenset({JobState.ACTIVE, JobState.PENDING}))]
)
def test_what_cannot_be_meant_is_refused(wanted: JobFilter) -> None:
    """Every job there is, or states in which a job does not wait to begin."""
    with pytest.raises(InvalidRequestError):
        World().backend.bulk.by_filter.reprioritise(1, wanted)
