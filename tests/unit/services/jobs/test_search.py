"""Jobs found by queue, state, type and time; changed in bulk (ojs-admin-api, sections 7 and 8)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.lists import Count, ListTotal
from ojs_aws.domain.json_text import encode, parse_object
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.bulk import BulkAction, BulkStatus
from ojs_aws.services.jobs import list_walk
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.job_lists import JobFilter
from ojs_aws.services.jobs.one_job import history_of
from tests.simulation.faults import Fault
from tests.simulation.world import World

S = JobState


def push(world: World, **attributes: Any) -> JobRecord:
    """Push a job; a second passes."""
    given: dict[str, Any] = {"type": "demo.echo", "args": [1]} | attributes
    world.registry.ensure(given.get("queue", "default"), world.clock.now())
    record = world.backend.jobs.push(Job(**given)).record
    assert record is not None
    world.clock.advance(s=1)
    return record


def claim(world: World, record: JobRecord) -> JobRecord:
    """Fetch the only ready job of a queue."""
    (claimed,) = world.backend.jobs.fetch(FetchRequest((record.queue,), worker_id="w"))
    assert claimed.id == record.id
    return claimed


def die(world: World, **attributes: Any) -> JobRecord:
    """Push a job and fail it for good."""
    record = push(world, retry={"max_attempts": 1}, **attributes)
    claim(world, record)
    error = parse_object(encode({"type": "Broken", "message": "it broke"}))
    dead = world.backend.jobs.fail(record.id, "w", error)
    world.clock.advance(s=1)
    return dead


def one_of_each(world: World) -> dict[JobState, str]:
    """A job in each of the eight states, all of one queue."""
    done = push(world)
    claim(world, done)
    world.backend.jobs.ack(done.id, "w", None)
    dead = die(world)
    again = push(world, retry={"max_attempts": 9, "initial_interval": "PT1H", "jitter": False})
    claim(world, again)
    world.backend.jobs.fail(again.id, "w", parse_object(encode({"type": "x", "message": "m"})))
    active = push(world)
    claim(world, active)
    gone = push(world)
    world.backend.jobs.cancel(gone.id)
    return {
        S.COMPLETED: done.id,
        S.DISCARDED: dead.id,
        S.RETRYABLE: again.id,
        S.ACTIVE: active.id,
        S.CANCELLED: gone.id,
        S.PENDING: push(world, pending=True).id,
        S.SCHEDULED: push(world, scheduled_at="2030-01-01T00:00:00Z").id,
        S.AVAILABLE: push(world).id,
    }


def found(world: World, limit: int = 100, **wanted: Any) -> list[str]:
    """The ids that a filter finds."""
    return [job.id for job in world.backend.jobs.search.find(JobFilter(**wanted), limit).jobs]


@pytest.mark.parametrize("state", list(JobState))
def test_adm_003_jobs_are_found_by_state(world: World, state: JobState) -> None:
    """Each state, though three of them share a list; and counted without being read."""
    ids = one_of_each(world)
    assert found(world, states=frozenset({state})) == [ids[state]]
    count = world.backend.jobs.search.count(JobFilter(states=frozenset({state})))
    assert (count.number, count.is_exact) == (1, True)


def test_without_a_filter_every_job_of_every_queue_is_found(world: World) -> None:
    """Queue by queue; and page by page the same, each exactly once."""
    ids = {*one_of_each(world).values(), push(world, queue="email").id, push(world, queue="a").id}
    search = world.backend.jobs.search
    assert set(found(world)) == ids
    for size in (1, 3):
        pages: list[str] = []
        cursor = ""
        while True:
            page = search.find(JobFilter(), size, cursor)
            pages += [job.id for job in page.jobs]
            cursor = page.cursor
            if not cursor:
                break
        assert len(pages) == len(ids)
        assert set(pages) == ids


def test_jobs_are_found_by_queue_type_and_time_of_creation(world: World) -> None:
    """Together; a type may be the beginning of one."""
    first = push(world, queue="billing", type="invoice.send")
    second = push(world, queue="billing", type="invoice.print")
    third = push(world, queue="email", type="mail.send")
    dead = die(world, queue="other", type="invoice.send")
    assert found(world, queue="billing") == [second.id, first.id]
    assert set(found(world, type="invoice.send")) == {first.id, dead.id}
    assert set(found(world, type="invoice.*")) == {first.id, second.id, dead.id}
    assert found(world, type="mail.*", queue="billing") == []
    assert set(found(world, since=second.created_at)) == {second.id, third.id, dead.id}
    assert set(found(world, until=second.created_at)) == {first.id, second.id}
    # Created before it ended: the range of the list must not be taken for the time of creation.
    assert found(world, until=dead.created_at, states=frozenset({S.DISCARDED})) == [dead.id]
    after = Instant(dead.created_at + 1)
    assert found(world, since=after, states=frozenset({S.DISCARDED})) == []


def test_what_time_has_decided_is_found_by_its_new_state(world: World) -> None:
    """Nobody touched the job, and the search writes nothing either."""
    record = push(world, scheduled_at="2025-10-09T09:00:00Z")
    world.clock.advance(s=3600)
    assert found(world, states=frozenset({S.AVAILABLE})) == [record.id]
    assert found(world, states=frozenset({S.SCHEDULED})) == []
    stored = world.stored.jobs[record.id]
    assert (stored.state, stored.version) == (S.SCHEDULED, record.version)
    assert not world.backend.jobs.search.count(JobFilter(states=frozenset({S.AVAILABLE}))).is_exact


def test_a_search_looks_at_a_bounded_number_of_rows(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filter that few of many match answers short pages whose cursors lead to all of them."""
    monkeypatch.setattr(list_walk, "MAX_EXAMINED", 20)
    monkeypatch.setattr(list_walk, "PAGE", 10)
    wanted = [push(world, type="rare.one").id]
    for _ in range(45):
        push(world)
    wanted.append(push(world, type="rare.one").id)
    pages: list[list[str]] = []
    cursor = ""
    while True:
        page = world.backend.jobs.search.find(JobFilter(type="rare.one"), 10, cursor)
        assert page.examined <= 30
        pages.append([job.id for job in page.jobs])
        cursor = page.cursor
        if not cursor:
            break
    assert [each for page in pages for each in page] == wanted[::-1]
    assert len(pages) > 1


def test_empty_lists_are_bounded_as_well(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many queues in which there is nothing end a page, and its cursor goes on."""
    monkeypatch.setattr(list_walk, "MAX_QUERIES", 10)
    for number in range(5):
        world.registry.ensure(f"q{number}", world.clock.now())
    last = push(world, queue="z")
    page = world.backend.jobs.search.find(JobFilter(), 10)
    assert (page.jobs, bool(page.cursor)) == ((), True)
    seen: list[str] = []
    cursor = page.cursor
    while cursor:
        page = world.backend.jobs.search.find(JobFilter(), 10, cursor)
        seen += [job.id for job in page.jobs]
        cursor = page.cursor
    assert seen == [last.id]


@pytest.mark.parametrize("cursor", ["nonsense", "default!nowhere!", "email!ready!x", "!!"])
def test_a_cursor_of_something_else_is_refused(world: World, cursor: str) -> None:
    """Before anything is read."""
    with pytest.raises(InvalidRequestError, match="cursor"):
        world.backend.jobs.search.find(JobFilter(queue="default"), 10, cursor)


@pytest.mark.parametrize(
    "wanted",
    [{"queue": "No"}, {"type": "No.*"}, {"since": Instant(2), "until": Instant(1)}],
)
def test_a_filter_that_can_match_nothing_is_refused(wanted: dict[str, Any]) -> None:
    """With the field's name."""
    with pytest.raises(InvalidRequestError):
        JobFilter(**wanted)


# -------------------------------------------------------------------------------------- in bulk
def test_adm_007_discarded_jobs_are_retried_in_bulk(world: World) -> None:
    """Those of the filter and no others; each has a message again."""
    wanted = {die(world, queue="billing").id for _ in range(3)}
    other = die(world, queue="email")
    report = world.backend.bulk.by_filter(BulkAction.RETRY, JobFilter(queue="billing"))
    assert {outcome.job_id for outcome in report.outcomes} == wanted
    assert (report.done, report.cursor) == (3, "")
    assert {world.stored.jobs[each].state for each in wanted} == {S.AVAILABLE}
    assert {world.stored.jobs[each].attempt for each in wanted} == {0}
    assert world.stored.jobs[other.id].state is S.DISCARDED
    assert world.messages.backlog("billing").visible == 3


def test_a_job_that_fails_again_meanwhile_is_not_retried_twice(world: World) -> None:
    """Lists are walked from the newest back: what the operation brings about is passed."""
    for _ in range(4):
        die(world)
    cursor, retried = "", 0
    for _ in range(10):
        wanted = JobFilter(queue="default")
        report = world.backend.bulk.by_filter(BulkAction.RETRY, wanted, 1, cursor)
        retried += report.done
        world.clock.advance(s=1)
        if report.done:
            world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
            error = parse_object(encode({"type": "x", "message": "m"}))
            world.backend.jobs.fail(report.outcomes[0].job_id, "w", error)
        cursor = report.cursor
        if not cursor:
            break
    assert retried == 4


@pytest.mark.parametrize("action", list(BulkAction))
def test_a_bulk_change_only_meets_jobs_that_it_can_be_done_to(
    world: World, action: BulkAction
) -> None:
    """Retry: discarded; cancel: what has not ended; delete: what has. Nothing else is touched."""
    ids = one_of_each(world)
    before = dict(world.stored.jobs)
    report = world.backend.bulk.by_filter(action, JobFilter(queue="default"))
    met = {outcome.job_id for outcome in report.outcomes}
    states = {
        BulkAction.RETRY: {S.DISCARDED},
        BulkAction.CANCEL: {S.PENDING, S.SCHEDULED, S.AVAILABLE, S.RETRYABLE, S.ACTIVE},
        BulkAction.DELETE: {S.COMPLETED, S.CANCELLED, S.DISCARDED},
    }[action]
    assert met == {ids[state] for state in states}
    assert report.done == len(states)
    for state, job_id in ids.items():
        after = world.stored.jobs.get(job_id)
        if state not in states:
            assert after == before[job_id]
        elif action is BulkAction.DELETE:
            assert after is None
        else:
            wanted = S.AVAILABLE if action is BulkAction.RETRY else S.CANCELLED
            assert after is not None
            assert after.state is wanted


@pytest.mark.parametrize("action", list(BulkAction))
def test_adm_r005_a_dry_run_changes_nothing(world: World, action: BulkAction) -> None:
    """And says what would be changed."""
    one_of_each(world)
    before = dict(world.stored.jobs)
    dry = world.backend.bulk.by_filter(action, JobFilter(queue="default"), 1000, is_dry=True)
    assert world.stored.jobs == before
    real = world.backend.bulk.by_filter(action, JobFilter(queue="default"))
    assert {each.job_id for each in dry.outcomes} == {each.job_id for each in real.outcomes}


def test_everything_is_never_meant_by_saying_nothing(world: World) -> None:
    """An empty filter is refused, and so is a state that the change is impossible in."""
    push(world)
    with pytest.raises(InvalidRequestError, match="empty"):
        world.backend.bulk.by_filter(BulkAction.CANCEL, JobFilter())
    with pytest.raises(InvalidRequestError, match="active"):
        world.backend.bulk.by_filter(BulkAction.RETRY, JobFilter(states=frozenset({S.ACTIVE})))
    with pytest.raises(InvalidRequestError, match="limit"):
        world.backend.bulk.by_filter(BulkAction.CANCEL, JobFilter(queue="default"), 101)


@pytest.mark.parametrize("fault", [Fault.FAILS_BEFORE, Fault.FAILS_AFTER])
def test_one_failing_write_does_not_stop_the_others(world: World, fault: Fault) -> None:
    """It is reported, and the next request meets the job again if it was not changed."""
    for _ in range(3):
        die(world)
    world.faults.faulty = len(world.faults.calls) + 2  # the queue is named, one read, then writes
    world.faults.fault = fault
    report = world.backend.bulk.by_filter(BulkAction.RETRY, JobFilter(queue="default"))
    assert world.faults.calls[world.faults.faulty] == "save"
    statuses = sorted(str(outcome.status) for outcome in report.outcomes)
    assert statuses == ["done", "done", "failed"]
    world.faults.faulty = None
    again = world.backend.bulk.by_filter(BulkAction.RETRY, JobFilter(queue="default"))
    assert again.done == (fault is Fault.FAILS_BEFORE)
    assert {job.state for job in world.stored.jobs.values()} == {S.AVAILABLE}


def test_a_job_that_somebody_changed_meanwhile_is_skipped(world: World) -> None:
    """What was found is not what is deleted: the condition of the write decides."""
    dead = die(world)

    def retried(number: int) -> None:
        if world.faults.calls[number] == "load_many":
            again = replace(dead, state=S.AVAILABLE, discarded_at=None, version=dead.version + 1)
            world.stored.jobs[dead.id] = again

    world.faults.afterwards = retried
    report = world.backend.bulk.by_filter(BulkAction.DELETE, JobFilter(queue="default"))
    assert [each.status for each in report.outcomes] == [BulkStatus.SKIPPED]
    assert world.stored.jobs[dead.id].state is S.AVAILABLE


# -------------------------------------------------------------------------------------- history
def test_an_attempt_failed_before_the_job_was_available_again(world: World) -> None:
    """A worker's death makes it available at the very instant at which its attempt fails."""
    record = push(world)
    world.backend.jobs.fetch(
        FetchRequest(("default",), worker_id="w", visibility_timeout_ms=30_000)
    )
    world.clock.advance(s=31)
    shown = [entry.what for entry in history_of(world.backend.jobs.info(record.id))]
    assert shown[:3] == ["created", "attempt_failed", "enqueued"]


def test_the_history_of_a_job_is_made_of_the_job(world: World) -> None:
    """Its instants and failures in order; those before an operator's retry are kept apart."""
    dead = die(world)
    world.backend.dead_letters.service.retry(dead.id)
    world.clock.advance(s=1)
    claim(world, dead)
    world.clock.advance(s=1)
    world.backend.jobs.ack(dead.id, "w", None)
    entries = history_of(world.stored.jobs[dead.id])
    shown = [(entry.what, entry.is_past_life) for entry in entries]
    assert shown == [
        ("created", False),
        ("attempt_failed", True),
        ("enqueued", False),
        ("started", False),
        ("completed", False),
    ]
    assert [entry.at for entry in entries] == sorted(entry.at for entry in entries)


def test_a_job_ends_after_its_last_attempt_failed(world: World) -> None:
    """Both happen in the same instant; read from the top, the one leads to the other."""
    dead = die(world)
    shown = [entry.what for entry in history_of(world.stored.jobs[dead.id])]
    assert shown.index("attempt_failed") < len(shown) - 1
    assert shown[-1] in {"discarded", "dead_lettered"}


def test_the_history_shows_what_is_to_come(world: World) -> None:
    """When the reservation of an active job ends, and when a retry is due."""
    ids = one_of_each(world)
    active = history_of(world.stored.jobs[ids[S.ACTIVE]])
    assert active[-1].what == "reservation_ends"
    assert history_of(world.stored.jobs[ids[S.RETRYABLE]])[-1].what == "next_attempt"
    assert history_of(world.stored.jobs[ids[S.SCHEDULED]])[-1].what == "scheduled"


def test_a_page_that_shows_all_jobs_needs_no_count(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that does not has one."""
    ids = {push(world).id for _ in range(3)}
    counted: list[object] = []
    search = world.backend.jobs.search

    def count(*asked: object) -> Count:
        counted.append(asked)
        return Count(7)

    monkeypatch.setattr(world.store, "count", count)
    shown, total = search.page(JobFilter(queue="default"), 3)
    assert ({job.id for job in shown.jobs}, total, counted) == (ids, ListTotal(3), [])
    _, total = search.page(JobFilter(queue="default"), 2)
    assert total != ListTotal(3)
    assert counted


@pytest.mark.parametrize(("after_ms", "is_moved"), [(-1, False), (0, True)])
def test_the_row_of_a_silent_worker_moves_once_its_job_is_due(
    world: World, after_ms: int, is_moved: bool
) -> None:
    """Its reservation ends later; before that instant nobody sees the row."""
    record = push(world)
    held = claim(world, record).reservation
    assert held is not None
    assert held.listed_at is not None
    changer = world.backend.jobs.fetch.changer
    now = Instant(held.listed_at + after_ms)
    before = world.stored.jobs[record.id]
    ((_, job),) = changer.settle_each([record.id], now, lambda *_: pytest.fail("it failed"))
    assert job is not None
    assert (job.version > before.version) is is_moved
    assert job.reservation is not None
    assert (job.reservation.listed_at is None) is is_moved
