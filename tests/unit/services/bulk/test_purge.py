"""Which jobs a purge takes, list by list, and where its cursor leads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.lists import JobList, ListedJob, Page
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.bulk import purge
from ojs_aws.services.bulk.purge import Purge, PurgeReport
from tests.job_steps import pushed
from tests.simulation.world import World

S = JobState


def purged(world: World, *states: JobState, cursor: str = "", **more: Any) -> PurgeReport:
    return world.backend.queues.purge(Purge(queue="default", states=states, **more), cursor)


def states(world: World) -> list[str]:
    return sorted(str(job.state) for job in world.stored.jobs.values())


@pytest.mark.parametrize("is_dry", [True, False])
def test_a_purge_goes_on_where_it_ended_list_by_list(
    world: World, monkeypatch: pytest.MonkeyPatch, is_dry: bool
) -> None:
    """A dry run counts the same, and changes nothing."""
    monkeypatch.setattr(purge, "MAX_PURGED", 2)
    for _ in range(3):
        pushed(world.backend)
    for _ in range(3):
        pushed(world.backend, pending=True)
    lists, counts, cursor = [], [], ""
    while True:
        report = purged(world, S.AVAILABLE, S.PENDING, cursor=cursor, is_dry=is_dry)
        counts.append(report.cancelled)
        cursor = report.cursor
        lists.append(cursor.partition("!")[0])
        if not cursor:
            break
    assert counts == [2, 1, 2, 1]
    assert lists == [JobList.READY, JobList.PENDING, JobList.PENDING, ""]
    assert ("cancelled" in states(world)) is not is_dry


def test_an_empty_page_of_a_list_is_not_its_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed(world.backend)
    monkeypatch.setattr(world.store, "listed", lambda *_, **__: Page((), "on"))
    assert purged(world, S.AVAILABLE) == PurgeReport(cursor=f"{JobList.READY}!on")


def test_a_purge_of_jobs_that_ended_long_ago_leaves_those_that_have_not(world: World) -> None:
    """Whatever states it names."""
    pushed(world.backend)
    world.backend.jobs.cancel(pushed(world.backend).id)
    world.clock.advance(s=1)
    until = Instant(world.clock.at)
    assert purged(world, S.AVAILABLE, S.CANCELLED, until=until) == PurgeReport(deleted=1)
    assert states(world) == ["available"]


@pytest.mark.parametrize("is_dry", [True, False])
def test_a_purge_takes_the_jobs_that_are_still_as_it_wants_them(
    world: World, monkeypatch: pytest.MonkeyPatch, is_dry: bool
) -> None:
    """A row may be late; a dry run counts them, and changes none."""
    jobs = [pushed(world.backend) for _ in range(3)]
    page = world.store.listed("default", JobList.READY, 10)
    active, moved, _ = (world.stored.jobs[job.id] for job in jobs)
    world.stored.jobs[active.id] = replace(active, state=S.PENDING)
    world.stored.jobs[moved.id] = replace(moved, queue="other")
    monkeypatch.setattr(world.store, "listed", lambda *_, **__: page)
    assert purged(world, S.AVAILABLE, is_dry=is_dry) == PurgeReport(cancelled=1)
    kept = ["available"] * 2 if is_dry else ["available", "cancelled"]
    assert states(world) == sorted([*kept, "pending"])


def test_rows_of_jobs_that_are_gone_are_removed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were deleted now or before; the row of one that came back stays."""
    ids = []
    for _ in range(3):
        job = pushed(world.backend)
        world.backend.jobs.cancel(job.id)
        ids.append(job.id)
    page = world.store.listed("default", JobList.CANCELLED, 10, newest_first=False)
    del world.stored.jobs[ids[0]]
    world.stored.jobs[ids[1]] = replace(world.stored.jobs[ids[1]], state=S.AVAILABLE)
    removed: list[str] = []

    def unlist(rows: Sequence[ListedJob]) -> None:
        removed.extend(row.id for row in rows)

    monkeypatch.setattr(world.store, "listed", lambda *_, **__: page)
    monkeypatch.setattr(world.store, "unlist", unlist)
    assert purged(world, S.CANCELLED).deleted == 1
    assert removed == [ids[0], ids[2]]
