"""The walk through lists of jobs: bounded, and its cursor goes on where it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.lists import JobList, ListedJob
from ojs_aws.services.jobs import list_walk
from ojs_aws.services.jobs.list_walk import ListWalk, Matcher
from ojs_aws.services.stored_jobs import ListStop
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


@dataclass
class Everything:
    """Wants every job, or those of some ids; counts its reads."""

    world: World
    ids: frozenset[str] | None = None
    rows_decide: bool = True
    unread: str = ""
    reads: list[int] = field(default_factory=list)

    def __call__(self, rows: Sequence[ListedJob]) -> dict[str, JobRecord]:
        self.reads.append(len(rows))
        ids = [row.id for row in rows if self.ids is None or row.id in self.ids]
        return self.world.store.load_many(ids)

    def may_match(self, row: ListedJob) -> bool:
        return True


def walk(world: World, label: str, matcher: Matcher | None = None, **options: str) -> ListWalk:
    """Walk the ready jobs of all queues."""
    stops = [ListStop(queue, JobList.READY, label=label) for queue in QUEUES]
    matcher = matcher or Everything(world)
    return ListWalk(store=world.store, stops=stops, matcher=matcher, **options)  # type: ignore[arg-type]


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


@pytest.mark.parametrize("limit", [3, 6])
def test_a_cursor_at_the_end_of_a_list_leads_to_the_next_job(world: World, limit: int) -> None:
    """The page looked at the next list, and need not do it again."""
    page = walk(world, "ready!").find(limit, "")
    assert page.cursor == f"{QUEUES[limit // 3]}!ready!"


@pytest.mark.parametrize("limit", [1, 2])
def test_a_full_page_at_the_end_of_all_lists_has_no_cursor(limit: int) -> None:
    """Though lists follow: they are empty."""
    world = World()
    for _ in range(limit):
        world.backend.jobs.push(Job("demo.echo", [1], queue="first"))
    page = walk(world, "").find(limit, "")
    assert (len(page.jobs), page.cursor) == (limit, "")


def test_a_full_page_says_whether_it_read_the_next_job(world: World) -> None:
    """A row alone is no job; and other rows of the list are not read to know."""
    ids = [row.id for row in world.store.listed("first", JobList.READY, 3).jobs]
    matcher = Everything(world)
    page = walk(world, "", matcher).find(2, "")
    assert (page.is_followed, matcher.reads) == (True, [3])
    matcher = Everything(world, frozenset(ids[:2]), rows_decide=False)
    page = walk(world, "", matcher).find(2, "")
    assert (page.is_followed, bool(page.cursor), matcher.reads) == (False, True, [3])


@pytest.mark.parametrize("limit", [100, 200])
def test_a_page_of_hundreds_reads_no_row_more_than_it_shows(limit: int) -> None:
    """The row behind them is looked at, and its job is not read."""
    world = World()
    for _ in range(limit + 1):
        world.backend.jobs.push(Job("demo.echo", [1], queue="first"))
    matcher = Everything(world)
    page = walk(world, "", matcher).find(limit, "")
    assert (len(page.jobs), sum(matcher.reads), max(matcher.reads)) == (limit, limit, 100)
    rest = walk(world, "").find(limit, page.cursor)
    assert (len(rest.jobs), rest.cursor) == (1, "")


def test_a_cursor_names_no_job_that_only_its_own_caller_may_see(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The walk ends at rows of others; it goes on behind the caller's last job."""
    monkeypatch.setattr(list_walk, "MAX_EXAMINED", 3)
    own = world.store.listed("first", JobList.READY, 2).jobs
    matcher = Everything(world, frozenset(row.id for row in own), rows_decide=False)
    page = replace(walk(world, "", matcher), is_by_job=True).find(5, "")
    assert [job.id for job in page.jobs] == [row.id for row in own]
    assert page.cursor == f"first!{world.store.place_of(own[1], JobList.READY)}"


def test_a_walk_past_jobs_of_others_alone_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No cursor can lead on, as it would name one of these jobs."""
    monkeypatch.setattr(list_walk, "MAX_EXAMINED", 2)
    matcher = Everything(world, frozenset(), rows_decide=False)
    with pytest.raises(InvalidRequestError, match="may be seen by the caller"):
        replace(walk(world, "", matcher), is_by_job=True).find(5, "")
    page = walk(world, "", matcher).find(5, "")
    assert page.cursor.startswith("first!")
