"""How many rows a walk through lists asks for, and where it stops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.lists import JobList, ListedJob, Page
from ojs_aws.services.jobs import list_walk
from ojs_aws.services.jobs.list_walk import LOOK_AHEAD, FoundJobs, ListWalk
from ojs_aws.services.stored_jobs import PAGE, ListStop
from tests.contract.test_job_store import a_job
from tests.unit.services.jobs.fetch.scripted import row_of, some_jobs


@dataclass
class Lists:
    """Queues of ready jobs; notes how many rows are asked for."""

    queues: dict[str, list[JobRecord]]
    sizes: list[int] = field(default_factory=list)

    def listed(self, queue: str, _name: JobList, limit: int, *, cursor: str, **_: Any) -> Page:
        self.sizes.append(limit)
        begin = int(cursor or 0)
        jobs = self.queues[queue][begin : begin + limit]
        rest = len(self.queues[queue]) > begin + limit
        return Page(tuple(map(row_of, jobs)), str(begin + limit) if rest else "")

    def place_of(self, row: ListedJob, _name: JobList) -> str:
        ids = [job.id for job in self.queues[row.queue]]
        return str(ids.index(row.id) + 1)


@dataclass
class AnyJob:
    """Wants each job."""

    lists: Lists
    rows_decide: bool = True
    unread: str = ""

    def __call__(self, rows: Sequence[ListedJob]) -> dict[str, JobRecord]:
        every = {job.id: job for jobs in self.lists.queues.values() for job in jobs}
        return {row.id: every[row.id] for row in rows}

    def may_match(self, _row: ListedJob) -> bool:
        return True


def find(
    lists: Lists,
    limit: int,
    cursor: str = "",
    *,
    rows_decide: bool = True,
    shows: Callable[[str, str], bool] | None = None,
    max_bytes: float = float("inf"),
    **more: Any,
) -> FoundJobs:
    walk = ListWalk(
        store=cast("JobStore", lists),
        stops=[ListStop(queue, JobList.READY) for queue in lists.queues],
        matcher=AnyJob(lists, rows_decide),
        shows=shows,
        max_bytes=max_bytes,
    )
    return walk.find(limit, cursor, **more)


def one_list(count: int) -> Lists:
    return Lists({"default": some_jobs(count)})


@pytest.mark.parametrize(
    ("limit", "more", "sizes"),
    [
        (5, {}, [6]),
        (PAGE, {}, [PAGE + 1]),
        (2 * PAGE, {}, [PAGE, PAGE + 1]),
        (PAGE + 50, {}, [PAGE, PAGE]),
        (5, {"skip": 3}, [9]),
        (5, {"rows_decide": False}, [6]),
        (5, {"rows_decide": False, "first": 3}, [3, PAGE]),
        (PAGE, {"rows_decide": False}, [PAGE]),
        (5, {"first": 3}, [6]),
    ],
)
def test_a_walk_asks_for_one_row_more_than_it_shows(
    limit: int, more: dict[str, Any], sizes: list[int]
) -> None:
    """In pages, and in whole ones where rows alone do not decide."""
    lists = one_list(3 * PAGE)
    found = find(lists, limit, **more)
    assert (len(found.jobs), lists.sizes) == (limit, sizes)
    assert found.cursor


def test_behind_a_full_page_a_walk_only_looks_if_anything_follows() -> None:
    lists = Lists({"a": some_jobs(2, queue="a"), "b": some_jobs(9, first=50, queue="b")})
    found = find(lists, 2)
    assert ([job.queue for job in found.jobs], lists.sizes) == (["a", "a"], [3, LOOK_AHEAD])
    assert found.cursor == "b!"


def test_a_cursor_behind_all_lists_leads_to_nothing() -> None:
    lists = Lists({"a": some_jobs(2, queue="a")})
    found = find(lists, 2, "z!1")
    assert (found.jobs, found.cursor, lists.sizes) == ((), "", [])


@pytest.mark.parametrize(("over", "count"), [(0, 2), (1, 3)])
def test_a_page_ends_once_its_documents_have_so_many_bytes(over: int, count: int) -> None:
    size = a_job().document_bytes
    assert len(find(one_list(9), 9, max_bytes=2 * size + over).jobs) == count


def test_a_job_that_two_rows_list_is_found_once() -> None:
    """Also where the second row stands behind a full page."""
    job, other = some_jobs(2)
    assert len(find(Lists({"default": [job, job, other]}), 3).jobs) == 2
    assert not find(Lists({"default": [job, job]}), 1).is_followed


def mine(_queue: str, job_type: str) -> bool:
    return job_type == "mine"


@pytest.mark.parametrize(("passed", "count"), [(3, 1), (4, 2)])
def test_a_walk_passes_so_many_rows_of_others(
    monkeypatch: pytest.MonkeyPatch, passed: int, count: int
) -> None:
    """The last one included; its cursor stands behind a job of the caller."""
    monkeypatch.setattr(list_walk, "MAX_SIFTED", passed)
    types = ["mine", "other", "other", "mine", "mine"]
    jobs = [a_job(number, type=each) for number, each in enumerate(types)]
    found = find(Lists({"default": jobs}), 9, shows=mine)
    assert found.examined == count
    assert found.cursor == f"default!{1 if count == 1 else 4}"


def test_a_walk_that_only_passes_jobs_of_others_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A cursor would name one of them; an empty one would say that there is nothing."""
    monkeypatch.setattr(list_walk, "MAX_SIFTED", 3)
    with pytest.raises(InvalidRequestError, match="None of the jobs"):
        find(one_list(5), 9, shows=mine)


@pytest.mark.parametrize(
    ("most", "sizes"), [(0, []), (4, [4]), (10, [10]), (25, [10, 10, 5]), (None, [10] * 3)]
)
def test_a_list_is_read_up_to_so_many_rows(most: int | None, sizes: list[int]) -> None:
    lists = one_list(30)
    stop = ListStop("default", JobList.READY)
    pages = stop.pages(cast("JobStore", lists), size=lambda _: 10, most=most)
    assert sum(len(page.jobs) for page in pages) == sum(sizes)
    assert lists.sizes == sizes
