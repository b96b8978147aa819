"""The walk through lists of jobs: bounded, and its cursor goes on where it ended."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobRecord
from ojs_aws.ports import JobList, ListedJob
from ojs_aws.services.jobs.list_walk import ListStop, ListWalk
from tests.simulation.world import World

QUEUES = ("first", "second", "third")


@pytest.fixture
def world() -> World:
    """Three queues of three jobs each."""
    world = World()
    for queue in QUEUES:
        for _ in range(3):
            world.backend.jobs.push(Job("demo.echo", [1], queue=queue))
    return world


def walk(world: World, label: str, **options: str) -> ListWalk:
    """Walk the ready jobs of all queues."""

    def accepted(rows: Sequence[ListedJob]) -> dict[str, JobRecord]:
        return world.store.load_many([row.id for row in rows])

    stops = [ListStop(queue, JobList.READY, label=label) for queue in QUEUES]
    return ListWalk(store=world.store, stops=stops, accepted=accepted, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("label", ["", "ready!"])
@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_each_job_is_found_once_whatever_the_length_of_a_page(
    world: World, label: str, limit: int
) -> None:
    """With the list in the cursor, and without it."""
    found: list[str] = []
    cursor = ""
    while True:
        page = walk(world, label).find(limit, cursor)
        found += [job.queue for job in page.jobs]
        cursor = page.cursor
        if not cursor:
            break
        assert cursor.startswith(tuple(f"{queue}!{label}" for queue in QUEUES))
    assert found == [queue for queue in QUEUES for _ in range(3)]


def test_what_is_skipped_counts_across_queues(world: World) -> None:
    """Four of nine: one of the second queue."""
    page = walk(world, "").find(2, "", skip=4)
    assert [job.queue for job in page.jobs] == ["second", "second"]


@pytest.mark.parametrize("cursor", ["x", "No Queue!", "first!waiting!", "second!ready!"])
def test_a_cursor_of_other_lists_is_refused(world: World, cursor: str) -> None:
    """Of no queue, of another list, of another queue."""
    with pytest.raises(InvalidRequestError, match="cursor"):
        walk(world, "ready!", queue="first").find(1, cursor)


def test_a_cursor_of_a_queue_that_is_gone_leads_to_the_next_one(world: World) -> None:
    """Queues come by name."""
    page = walk(world, "").find(1, "foo!1|2|3")
    assert [job.queue for job in page.jobs] == ["second"]
