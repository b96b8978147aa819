"""FETCH from one queue after another: how long it waits, when it ends, and what it answers."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.adapters.dynamodb.limits import Limits
from ojs_aws.adapters.dynamodb.queues.registry import QueueRegistry
from ojs_aws.adapters.sqs import MessageQueue
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.job import StoredElsewhere
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.services.jobs.fetch.candidates import HEAD_SPARE, MARKS, PAGE
from ojs_aws.services.jobs.fetch.job_claims import MAX_CLAIMED_BYTES
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.fetch.service import Fetch
from ojs_aws.services.limits.check import LimitedTypes
from ojs_aws.services.stored_jobs.change import PATIENCE_MS, JobChanger
from ojs_aws.services.stored_jobs.messages import JobMessages
from ojs_aws.services.workers import MISSED_HEARTBEATS, DrainState, VisibilityTimeouts
from tests.contract.test_job_store import a_job
from tests.unit.services.jobs.fetch.scripted import LENGTH_MS, Jobs, some_jobs


class NoTypes:
    """Says that no job type has a limit."""

    def scopes(self, _now: object) -> tuple[()]:
        return ()


def fetch_of(table: Jobs, wait_ms: int = 0) -> Fetch:
    limits = lambda: cast("Limits", NoTypes())  # noqa: E731 - as the services get it
    messages = cast("MessageQueue", table)
    return Fetch(
        messages=messages,
        changer=JobChanger(cast("JobStore", table), table.clock),
        job_messages=JobMessages(messages, cast("QueueRegistry", None)),
        parallel=IN_ORDER,
        default_timeout_ms=60_000,
        visibility=VisibilityTimeouts(LENGTH_MS),
        max_count=100,
        wait_ms=wait_ms,
        draining=DrainState(),
        limits=limits,
        limited_types=LimitedTypes(limits, table.clock),
        new_reservation_id=lambda: "r",
    )


def fetched(table: Jobs, *queues: str, count: int = 1, wait_ms: int = 0, **more: Any) -> list[str]:
    request = FetchRequest(queues or ("default",), count, **more)
    return [job.id for job in fetch_of(table, wait_ms)(request)]


@pytest.mark.parametrize(
    ("wait_ms", "waits_s"), [(0, [0]), (1, [0, 1]), (1_999, [0, 1]), (5_000, [0, 5])]
)
def test_a_fetch_that_finds_no_job_waits_for_one_at_most_once(
    wait_ms: int, waits_s: list[int]
) -> None:
    """For whole seconds, at least one."""
    table = Jobs()
    assert fetched(table, wait_ms=wait_ms) == []
    assert [each[-1] for each in table.receipts] == waits_s
    table = Jobs()
    table.add(a_job())
    assert fetched(table, wait_ms=wait_ms) == [a_job().id]
    assert len(table.receipts) == 1


def test_only_the_first_queue_is_waited_for() -> None:
    table = Jobs()
    fetched(table, "a", "b", wait_ms=2000)
    assert [each[-1] for each in table.receipts] == [0, 0, 2, 0]


@pytest.mark.parametrize(
    ("count", "size", "queues"),
    [(1, 1, 1), (2, MAX_CLAIMED_BYTES - 1, 2), (2, MAX_CLAIMED_BYTES, 1)],
)
def test_no_further_queue_is_asked_once_there_are_enough_jobs(
    count: int, size: int, queues: int
) -> None:
    """Or their documents fill an answer."""
    table = Jobs()
    table.add(a_job(queue="a", document=StoredElsewhere("s3", "d", size)))
    assert len(fetched(table, "a", "b", count=count)) == 1
    assert len(table.heads) == queues


@pytest.mark.parametrize(
    ("look_ms", "is_broken", "queues"),
    [(PATIENCE_MS, True, 2), (PATIENCE_MS + 1, True, 1), (PATIENCE_MS + 1, False, 2)],
)
def test_after_a_queue_that_fails_others_are_asked_while_there_is_patience(
    look_ms: int, is_broken: bool, queues: int
) -> None:
    table = Jobs(look_ms=look_ms, broken={"a": BackendError("no")} if is_broken else {})
    if is_broken:
        with pytest.raises(BackendError):
            fetched(table, "a", "b")
    else:
        assert fetched(table, "a", "b") == []
    assert len(table.heads) == queues


def test_a_queue_that_fails_does_not_take_away_the_jobs_of_another() -> None:
    table = Jobs(broken={"a": BackendError("no")})
    table.add(a_job(queue="b"))
    assert fetched(table, "a", "b") == [a_job().id]


def test_jobs_whose_documents_cannot_be_read_are_left_out() -> None:
    """If none can be read, the worker gets the reason."""
    first, second = some_jobs(2)
    table = Jobs(unreadable={first.id: BackendError("no")})
    table.add(first, second)
    assert fetched(table, count=2) == [second.id]
    table = Jobs(unreadable={first.id: BackendError("no")})
    table.add(first)
    with pytest.raises(BackendError):
        fetched(table)


@pytest.mark.parametrize(
    ("count", "rows"),
    [(1, PAGE), (PAGE - HEAD_SPARE, PAGE), (PAGE - HEAD_SPARE + 1, PAGE + 1), (100, 105)],
)
def test_a_fetch_looks_at_more_rows_than_it_wants_jobs(count: int, rows: int) -> None:
    """A block of the table at least: it costs the same."""
    table = Jobs()
    fetched(table, count=count)
    assert table.heads == [("default", rows)]


@pytest.mark.parametrize(("rows", "looks"), [(PAGE - MARKS, 2), (PAGE - MARKS - 1, 1)])
def test_a_partial_head_is_read_again_once_claims_are_lost(rows: int, looks: int) -> None:
    """Some of its rows may be marks of the queue; a shorter one shows the whole line."""
    count = PAGE - HEAD_SPARE
    jobs = some_jobs(rows)
    table = Jobs(contested={job.id for job in jobs[count - 1 :]})
    table.add(*jobs)
    assert len(fetched(table, count=count)) == count - 1
    assert len(table.heads) == looks


@pytest.mark.parametrize(
    ("more", "seconds"),
    [
        ({}, LENGTH_MS // 1000),
        ({"visibility_timeout_ms": 7_001}, 8),
        ({"heartbeat_interval_ms": 5_000}, MISSED_HEARTBEATS * 5),
        ({"heartbeat_interval_ms": 60_000}, LENGTH_MS // 1000),
    ],
)
def test_messages_are_received_for_as_long_as_most_reservations_last(
    more: dict[str, Any], seconds: int
) -> None:
    """Until the worker would count as dead, if that comes first."""
    table = Jobs()
    fetched(table, **more)
    assert table.receipts == [("default", 1, seconds, 0)]
