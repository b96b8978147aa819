"""The relay sends each committed row once, whatever fails."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from sqlalchemy import text, update

from ojs_aws import Job
from ojs_aws.contrib.outbox.database import wait_for_rows
from ojs_aws.contrib.outbox.relay import Round
from ojs_aws.contrib.outbox.staged_jobs import WaitingRow
from ojs_aws.contrib.outbox.store import OutboxStore
from ojs_aws.domain.errors import (
    BackendError,
    BackendUnavailableError,
    OjsError,
    PayloadTooLargeError,
    QueueFullError,
)
from tests.contrib.backends import Backend
from tests.contrib.sqlalchemy.shop import Shop, confirm
from tests.load import HUNG_S

pytestmark = pytest.mark.thorough

COPIES: Final = """
WITH RECURSIVE numbers(number) AS (
    SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < :last
)
INSERT INTO ojs_outbox (job_id, job_type, job_args, job_options)
SELECT CAST(10000000 + number AS VARCHAR(8)) || SUBSTR(job_id, 9), job_type, job_args, job_options
FROM ojs_outbox CROSS JOIN numbers
"""
"""Copies each waiting row with other ids, as often as ``:last`` says."""


@dataclass
class Clock:
    """The relay's clock, which a test moves."""

    now: datetime = field(default_factory=lambda: datetime(2026, 5, 1, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now

    def move(self, **span: float) -> None:
        self.now += timedelta(**span)


@pytest.fixture
def shop(database_url: str) -> Iterator[Shop]:
    made = Shop(database_url)
    yield made
    made.close()


@pytest.fixture
def backend() -> Backend:
    return Backend()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_batch_whose_answer_is_lost_makes_each_job_once(shop: Shop, backend: Backend) -> None:
    ids = [shop.order(number) for number in range(3)]
    backend.late_fault = lambda _: BackendUnavailableError("no answer")
    relay = shop.relay(backend)
    assert relay.drain().outage
    backend.late_fault = None
    assert relay.drain().sent == 3
    assert (backend.ids, shop.statuses()) == (ids, ["sent"] * 3)


def test_a_relay_that_dies_after_sending_makes_each_job_once(shop: Shop, backend: Backend) -> None:
    ids = [shop.order(number) for number in range(3)]

    class Died(BaseException):
        """Stands for the end of the process."""

    relay = shop.relay(backend)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OutboxStore, "sent", lambda *_: (_ for _ in ()).throw(Died()))
        with pytest.raises(Died):
            relay.run_round()
    assert (backend.ids, shop.statuses()) == (ids, ["pending"] * 3)
    relay.close()
    assert shop.relay(backend).drain().sent == 3
    assert backend.ids == ids


def test_a_process_that_dies_between_commit_and_relay_loses_nothing(
    shop: Shop, backend: Backend
) -> None:
    job_id = shop.order(1)
    shop.engine.dispose()
    assert shop.relay(backend).drain().sent == 1
    assert backend.ids == [job_id]


def test_one_relay_leads_and_another_takes_over(shop: Shop, backend: Backend) -> None:
    leader, other = shop.relay(backend), shop.relay(backend)
    leader.run_round()
    shop.order(1)
    assert not other.run_round().is_leader
    leader.close()
    assert other.run_round().sent == 1
    other.close()


def test_a_bad_row_is_parked_and_the_others_keep_their_order(shop: Shop, backend: Backend) -> None:
    ids = [shop.order(number) for number in range(9)]
    bad = ids[4]
    with shop.engine.begin() as connection:
        columns = shop.outbox.table.c
        broken = update(shop.outbox.table).where(columns.job_id == bad)
        connection.execute(broken.values(job_type="Not A Type"))
    done = shop.relay(backend).drain()
    assert (done.sent, done.parked) == (8, 1)
    assert backend.ids == [each for each in ids if each != bad]
    assert shop.statuses() == ["sent"] * 4 + ["parked"] + ["sent"] * 4
    [parked] = shop.store().parked_rows(5)
    assert (parked.job_id, "invalid" in parked.error) == (bad, True)


def test_a_row_that_fails_without_a_reason_is_found_by_halves(
    shop: Shop, backend: Backend, clock: Clock
) -> None:
    ids = [shop.order(number) for number in range(64)]
    backend.fault = lambda jobs: (
        BackendError("boom") if any(job.id == ids[37] for job in jobs) else None
    )
    done = shop.relay(backend, clock).drain()
    assert (done.sent, done.refused) == (63, 1)
    assert backend.ids == [each for each in ids if each != ids[37]]
    assert len(backend.batches) <= 14


def test_a_row_is_parked_after_so_many_tries_while_others_pass(
    shop: Shop, backend: Backend, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    bad = shop.order(0)
    backend.fault = lambda jobs: (
        BackendError("boom") if any(job.id == bad for job in jobs) else None
    )
    relay = shop.relay(backend, clock, max_attempts=3)
    for number in range(1, 5):
        clock.move(minutes=6)
        shop.order(number)
        relay.drain()
    assert shop.statuses() == ["parked", *["sent"] * 4]
    assert f"Parked job {bad}" in caplog.text


def test_a_backend_that_is_down_for_an_hour_parks_nothing(
    shop: Shop, backend: Backend, clock: Clock
) -> None:
    ids = [shop.order(number) for number in range(20)]
    relay = shop.relay(backend, clock, max_attempts=3)
    for problem in (BackendUnavailableError("down"), BackendError("Internal Server Error")):
        backend.fault = lambda _, problem=problem: problem
        for _ in range(60):
            relay.drain()
            clock.move(minutes=1)
    assert set(shop.statuses()) <= {"pending", "failed"}
    backend.fault = None
    clock.move(minutes=5)
    relay.drain()
    assert set(shop.statuses()) == {"sent"}
    assert sorted(backend.ids) == sorted(ids)


def test_rows_keep_their_order_through_an_outage(
    shop: Shop, backend: Backend, clock: Clock
) -> None:
    ids = [shop.order(number) for number in range(5)]
    backend.fault = lambda _: BackendUnavailableError("down")
    relay = shop.relay(backend, clock, batch_size=2)
    relay.drain()
    assert len(backend.batches) == 1
    backend.fault = None
    relay.drain()
    assert backend.ids == ids


def test_a_full_queue_delays_its_own_rows_and_parks_none(
    shop: Shop, backend: Backend, clock: Clock
) -> None:
    first, *others = [shop.order(number) for number in range(5)]

    def full(jobs: Sequence[Job]) -> OjsError | None:
        places = [place for place, job in enumerate(jobs) if job.id == first]
        return QueueFullError("orders", details={"index": places[0]}) if places else None

    backend.fault = full
    relay = shop.relay(backend, clock, max_attempts=2)
    for _ in range(5):
        relay.drain()
        clock.move(minutes=10)
    assert (backend.ids, shop.statuses()[0]) == (others, "failed")
    backend.fault = None
    relay.drain()
    assert shop.statuses() == ["sent"] * 5


def test_a_batch_that_is_too_large_is_halved(shop: Shop, backend: Backend) -> None:
    ids = [shop.order(number) for number in range(10)]
    backend.fault = lambda jobs: PayloadTooLargeError("large") if len(jobs) > 3 else None
    assert shop.relay(backend).drain().sent == 10
    assert backend.ids == ids


def test_a_duplicate_of_a_unique_job_counts_as_sent(shop: Shop, backend: Backend) -> None:
    unique = confirm.options(unique={"keys": ["type", "args"]})
    with shop.sessions.begin() as session:
        first = session.enqueue(unique.call(1))
        session.enqueue(unique.call(1))
    shop.relay(backend).drain()
    assert (backend.ids, shop.statuses()) == ([first.id], ["sent", "sent"])


def test_a_row_that_was_first_sent_too_long_ago_is_parked(
    shop: Shop, backend: Backend, clock: Clock
) -> None:
    """Its job may have run and be gone; one that was never sent is as good as new."""
    old = shop.order(1)
    backend.late_fault = lambda _: BackendUnavailableError("no answer")
    relay = shop.relay(backend, clock)
    relay.drain()
    shop.order(2)
    backend.late_fault = None
    clock.move(days=6, seconds=-1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend, "fault", lambda _: BackendUnavailableError("down"))
        relay.drain()
    assert shop.statuses() == ["pending", "pending"]
    clock.move(seconds=2)
    assert (relay.drain().parked, shop.statuses()) == (1, ["parked", "sent"])
    store = shop.store()
    assert "may have run" in store.parked_rows(1)[0].error
    assert store.try_again([old]) == 1
    relay.drain()
    assert shop.statuses() == ["sent", "sent"]


def test_the_clocks_of_applications_decide_nothing(
    shop: Shop, backend: Backend, clock: Clock
) -> None:
    """Rows that are dated wrongly are sent in the order of insertion."""
    ids = [shop.order(number) for number in range(3)]
    with shop.engine.begin() as connection:
        for number, moment in enumerate((clock.now + timedelta(days=900), datetime(1999, 1, 1))):  # noqa: DTZ001
            row = shop.outbox.table.c.job_id == ids[number]
            values = {"created_at": moment.replace(tzinfo=UTC)}
            connection.execute(update(shop.outbox.table).where(row).values(values))
    shop.relay(backend, clock).drain()
    assert backend.ids == ids


def test_sent_rows_are_pruned_after_a_day(shop: Shop, backend: Backend, clock: Clock) -> None:
    shop.order(1)
    relay = shop.relay(backend, clock)
    relay.drain()
    clock.move(hours=23)
    relay.drain()
    assert shop.statuses() == ["sent"]
    clock.move(hours=2)
    relay.drain()
    assert shop.statuses() == []


def test_a_running_relay_sends_what_commits_until_it_stops(shop: Shop, backend: Backend) -> None:
    relay = shop.relay(backend)
    thread = threading.Thread(target=relay.run)
    thread.start()
    try:
        job_id = shop.order(1)
        relay.wake()
        while shop.statuses() != ["sent"]:
            assert thread.is_alive()
    finally:
        relay.stop()
        thread.join(HUNG_S)
    assert (backend.ids, thread.is_alive()) == ([job_id], False)


def test_a_notification_wakes_a_relay_that_listens(shop: Shop, backend: Backend) -> None:
    if shop.engine.dialect.name == "sqlite":
        pytest.skip("SQLite does not notify")
    relay = shop.relay(backend, poll_s=1)
    relay.run_round()
    relay._wait_for_rows()  # listens
    shop.order(1)
    assert wait_for_rows(relay._database, HUNG_S)
    relay.close()


def test_the_database_may_restart_while_a_relay_runs(shop: Shop, backend: Backend) -> None:
    relay = shop.relay(backend)
    relay.run_round()
    shop.order(1)
    database = relay._database
    if shop.engine.dialect.name == "postgresql":
        with pytest.raises(Exception, match="terminat"):
            database.run("SELECT pg_terminate_backend(pg_backend_pid())", {})
    assert relay.run_round().sent == 1
    relay.close()


@pytest.mark.slow
def test_rows_are_sent_in_even_steps_however_many_wait(shop: Shop) -> None:
    """A hundred thousand in PostgreSQL: each of a hundred rounds has the same statements."""
    waiting = 100_000 if shop.engine.dialect.name == "postgresql" else 10_000
    with shop.sessions.begin() as session:
        session.enqueue_many(confirm.call(9) for _ in range(1000))
    with shop.engine.begin() as connection:
        connection.execute(text(COPIES), {"last": waiting // 1000 - 1})
    relay = shop.relay(Backend())
    counted: list[int] = []
    run = relay._database.run

    def counting(statement: str, parameters: dict[str, object]) -> object:
        counted[-1] += 1
        return run(statement, parameters)  # type: ignore[arg-type]

    relay._database.run = counting  # type: ignore[method-assign, assignment]

    def accept_all(rows: list[WaitingRow]) -> Round:
        relay.store.sent([row.id for row in rows], relay._clock())
        return Round(sent=len(rows))

    relay._send = accept_all  # type: ignore[method-assign]
    sent = 0
    for _ in range(100):
        counted.append(0)
        sent += relay.run_round().sent
    assert max(counted) <= 8
    assert (sent, relay.overview().waiting) == (10_000, waiting - 10_000)
