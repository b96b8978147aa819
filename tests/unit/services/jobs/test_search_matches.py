"""Jobs found by their tags and errors, which the index does not know (ojs-admin-api, 7.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.access import View
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import (
    BackendUnavailableError,
    DocumentMissingError,
    InvalidRequestError,
    JsonValue,
    OjsError,
)
from ojs_aws.domain.job import JobRecord, JobState, StoredElsewhere
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.domain.json_text import RawJson, encode, parse_object
from ojs_aws.services.bulk import BulkAction
from ojs_aws.services.jobs import list_walk, search
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.job_lists import JobFilter
from tests.simulation.world import World

FAILED: dict[str, JsonValue] = {"type": "SmtpError", "message": "Mailbox 4711 of 'ann' is FULL"}


def push(world: World, **attributes: Any) -> str:
    """The id of a job that was pushed; a second passes."""
    given: dict[str, Any] = {"type": "demo.echo", "args": [1]} | attributes
    world.registry.ensure(given.get("queue", "default"), world.clock.now())
    record = world.backend.jobs.push(Job(**given)).record
    assert record is not None
    world.clock.advance(s=1)
    return record.id


def die(world: World, error: dict[str, JsonValue] = FAILED, **attributes: Any) -> str:
    """The id of a job that failed for good."""
    job_id = push(world, retry={"max_attempts": 1}, **attributes)
    (claimed,) = world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    assert claimed.id == job_id
    world.backend.jobs.fail(job_id, "w", parse_object(encode(error)))
    return job_id


def found(world: World, **wanted: Any) -> list[str]:
    """The ids of a page."""
    return [job.id for job in world.backend.jobs.search.find(JobFilter(**wanted), 100).jobs]


def test_jobs_are_found_by_one_of_their_tags(world: World) -> None:
    """A whole tag, as it was sent; the record is as it is stored."""
    both = push(world, tags=["vip", "é 1"])
    push(world, tags=["VIP", "vip "])
    push(world)
    assert found(world, tag="vip") == [both]
    assert found(world, tag="é 1") == [both]
    assert found(world, tag="vi") == []
    (job,) = world.backend.jobs.search.find(JobFilter(tag="vip"), 1).jobs
    assert job == world.stored.jobs[both]


@pytest.mark.parametrize(
    "part",
    ["smtperror", "4711", "is full", "SmtpError: Mailbox", "Mailbox * of '*' is FULL"],
)
def test_jobs_are_found_by_a_part_of_their_latest_error(world: World, part: str) -> None:
    """In any case, as jobs show it or as groups of failures do."""
    dead = die(world)
    die(world, {"type": "Other", "message": "no"})
    push(world)
    assert found(world, error=part) == [dead]
    assert found(world, error=part, states=frozenset({JobState.DISCARDED})) == [dead]


def test_a_message_that_is_not_kept_is_not_found(world: World) -> None:
    """Only what jobs show is compared."""
    dead = die(world)
    job = world.stored.jobs[dead]
    world.stored.jobs[dead] = replace(job, failures=(job.failures[0].without_message(),))
    assert found(world, error="4711") == []
    assert found(world, error="smtp") == [dead]


def test_the_error_of_a_job_that_succeeded_is_not_looked_for(world: World) -> None:
    """A success has cleared it, so the list of completed jobs is not read."""
    job_id = push(world, retry={"max_attempts": 3, "initial_interval": "PT1S", "jitter": False})
    for _ in range(2):
        (job,) = world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
        if job.attempt == 1:
            world.backend.jobs.fail(job_id, "w", parse_object(encode(FAILED)))
        else:
            world.backend.jobs.ack(job_id, "w", None)
        world.clock.advance(s=5)
    page = world.backend.jobs.search.find(JobFilter(error="smtp"), 10)
    assert (page.jobs, page.examined, page.cursor) == ((), 0, "")


def test_a_filtered_page_without_a_match_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says how many jobs it looked at, and its cursor leads to the next ones."""
    monkeypatch.setattr(list_walk, "MAX_EXAMINED", 4)
    monkeypatch.setattr(list_walk, "PAGE", 2)
    wanted = push(world, tags=["vip"])
    for _ in range(9):
        push(world)
    looked_at, cursor, ids = [], "", list[str]()
    while True:
        page = world.backend.jobs.search.find(JobFilter(tag="vip"), 10, cursor)
        looked_at.append(page.examined)
        ids += [job.id for job in page.jobs]
        cursor = page.cursor
        if not cursor:
            break
    assert (looked_at, ids) == ([4, 4, 2], [wanted])


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_search_reads_a_bounded_number_of_bytes(
    world: World, monkeypatch: pytest.MonkeyPatch, *, elsewhere: bool
) -> None:
    """It ends within a page where the documents are large, and goes on with the next job."""
    monkeypatch.setattr(search, "MAX_READ_BYTES", 2_500)
    monkeypatch.setattr(search, "LEAST_DOCUMENT", 1_000)
    ids = [push(world, args=["x" * 900], tags=["vip"]) for _ in range(7)][::-1]
    filled = list[int]()
    if elsewhere:
        _move_documents(world, filled)
    counts, cursor, seen = [], "", list[str]()
    while True:
        page = world.backend.jobs.search.find(JobFilter(tag="vip", queue="default"), 10, cursor)
        counts.append(page.examined)
        seen += [job.id for job in page.jobs]
        cursor = page.cursor
        if not cursor:
            break
    assert (counts, seen) == ([3, 3, 1], ids)
    assert filled == ([3, 3, 1] if elsewhere else [])


def test_a_job_that_two_rows_list_is_looked_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a search that has read enough could end before the first of the two."""
    monkeypatch.setattr(search, "MAX_READ_BYTES", 900)
    push(world, args=["x" * 900])
    (row,) = world.store.listed("default", JobList.READY, 10).jobs
    sifted = search.JobMatcher(world.store, JobFilter(), world.clock.now())
    assert [*sifted([row, row])] == [row.id]
    assert sifted.unread == ""


@pytest.mark.parametrize(
    ("tag", "size", "counted"),
    [("", 90_000, 0), ("vip", 90_000, 90_000), ("vip", 5, search.LEAST_DOCUMENT)],
)
def test_a_document_elsewhere_counts_where_it_has_to_be_read(
    world: World, tag: str, size: int, counted: int
) -> None:
    """For the time of the call, if it is small."""
    job_id = push(world, tags=["vip"])
    (row,) = world.store.listed("default", JobList.READY, 10).jobs
    _move_documents(world, [])
    away = StoredElsewhere(storage="s3", digest="d", size_bytes=size)
    world.stored.jobs[job_id] = replace(world.stored.jobs[job_id], document=away)
    sifted = search.JobMatcher(world.store, JobFilter(tag=tag), world.clock.now())
    assert [*sifted([row])] == [job_id]
    assert sifted.read_bytes == counted


@pytest.mark.parametrize(("spare", "read"), [(0, 1), (1, 2)])
def test_a_matcher_reads_no_further_job_once_it_has_read_its_bytes(
    world: World, monkeypatch: pytest.MonkeyPatch, spare: int, read: int
) -> None:
    ids = [push(world) for _ in range(3)]
    size = world.stored.jobs[ids[0]].document_bytes
    monkeypatch.setattr(search, "MAX_READ_BYTES", size + spare)
    rows = world.store.listed("default", JobList.READY, 10, newest_first=False).jobs
    sifted = search.JobMatcher(world.store, JobFilter(), world.clock.now())
    assert [*sifted(rows)] == ids[:read]
    assert sifted.unread == ids[read]


def _move_documents(world: World, filled: list[int]) -> None:
    """Keep the documents of all jobs elsewhere, and note how many are read at once."""
    documents = {job_id: RawJson(str(job.document)) for job_id, job in world.stored.jobs.items()}
    for job_id, job in list(world.stored.jobs.items()):
        away = StoredElsewhere(storage="s3", digest="d", size_bytes=900)
        world.stored.jobs[job_id] = replace(job, document=away)

    def fill_many(jobs: Sequence[JobRecord]) -> list[JobRecord]:
        filled.append(len(jobs))
        return [replace(job, document=documents[job.id]) for job in jobs]

    world.store.fill_many = fill_many  # type: ignore[assignment]


@pytest.mark.parametrize("problem", [DocumentMissingError("gone"), BackendUnavailableError("no")])
def test_a_document_that_cannot_be_read_is_an_error_unless_gone(
    world: World, problem: OjsError
) -> None:
    """To leave the job out would make the count wrong."""
    push(world, tags=["vip"])
    _move_documents(world, [])
    world.store.fill_many = lambda jobs: [problem for _ in jobs]  # type: ignore[method-assign]
    if isinstance(problem, DocumentMissingError):
        assert found(world, tag="vip") == []
    else:
        with pytest.raises(BackendUnavailableError):
            found(world, tag="vip")


def test_what_a_tag_finds_is_changed_and_nothing_else(world: World) -> None:
    """A dry run counts the same jobs; the documents of what is changed stay as they are."""
    wanted = {push(world, tags=["vip"]) for _ in range(3)}
    other = push(world, tags=["other"])
    chosen = JobFilter(tag="vip")
    dry = world.backend.bulk.by_filter(BulkAction.CANCEL, chosen, 1000, is_dry=True)
    assert ({each.job_id for each in dry.outcomes}, dry.examined) == (wanted, 4)
    report = world.backend.bulk.by_filter(BulkAction.CANCEL, chosen)
    assert ({each.job_id for each in report.outcomes}, report.examined) == (wanted, 4)
    assert world.stored.jobs[other].state is JobState.AVAILABLE
    assert "vip" in str(world.stored.jobs[next(iter(wanted))].document)


def test_a_matcher_for_types_stops_behind_a_job_of_the_caller(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where that job does not match; it counts the caller's jobs alone."""
    monkeypatch.setattr(list_walk, "MAX_SIFTED", 6)
    wanted = push(world, type="mine.a", tags=["vip"])
    for _ in range(5):
        push(world, type="other.a", tags=["vip"])
        push(world, type="mine.a")
    view = View(types=("mine.*",))
    looked_at, cursor, ids = 0, "", list[str]()
    for _ in range(5):
        page = world.backend.jobs.search.find(JobFilter(tag="vip", view=view), 10, cursor)
        looked_at += page.examined
        ids += [job.id for job in page.jobs]
        cursor = page.cursor
        if not cursor:
            break
    assert (looked_at, ids) == (6, [wanted])


@pytest.mark.parametrize("wanted", [{"tag": "x" * 257}, {"error": "x" * 257}])
def test_a_text_to_search_by_is_bounded(wanted: dict[str, Any]) -> None:
    """With the field's name."""
    with pytest.raises(InvalidRequestError, match="256"):
        JobFilter(**wanted)
