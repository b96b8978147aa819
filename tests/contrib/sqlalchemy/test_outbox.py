"""Jobs commit with the rows of the application, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import select, text

from ojs_aws import Client, Job, Jobs
from ojs_aws.contrib.sqlalchemy import Outbox
from ojs_aws.domain.errors import JsonValue
from ojs_aws.errors import InvalidRequestError
from ojs_aws.middleware.protocols import EnqueueNext
from tests.contrib.backends import Backend
from tests.contrib.sqlalchemy.shop import Base, Order, Shop, confirm


@pytest.fixture
def shop(database_url: str) -> Iterator[Shop]:
    made = Shop(database_url)
    yield made
    made.close()


def with_middleware(*middleware: object) -> Outbox:
    return Outbox(Base.metadata, relay="separate", middleware=middleware)


def test_a_committed_job_is_sent_exactly_as_it_was_enqueued(shop: Shop) -> None:
    backend = Backend()
    args: list[JsonValue] = [{"b": 1, "a": [2**70, "\u0000", "😀", 1.0]}]
    with shop.sessions.begin() as session:
        staged = session.enqueue(Job("order.confirm", args, queue="orders", tags=["x"]))
    done = shop.relay(backend).drain()
    assert (done.sent, backend.ids) == (1, [staged.id])
    assert (
        backend.get(staged.id).text("args")
        == '[{"b":1,"a":[1180591620717411303424,"\\u0000","😀",1.0]}]'
    )
    assert shop.statuses() == ["sent"]


def test_a_job_that_is_rolled_back_is_never_sent(shop: Shop) -> None:
    backend = Backend()
    with pytest.raises(RuntimeError), shop.sessions.begin() as session:  # noqa: PT012
        session.add(Order(id=1))
        session.enqueue(confirm.call(1))
        raise RuntimeError
    assert shop.relay(backend).drain().is_idle
    assert (shop.orders(), shop.statuses(), backend.batches) == ([], [], [])


def test_a_savepoint_sends_nothing_if_the_outer_transaction_rolls_back(shop: Shop) -> None:
    woken: list[object] = []
    shop.outbox._commits = type(shop.outbox._commits)(shop.outbox.table, woken.append)
    with pytest.raises(RuntimeError), shop.sessions.begin() as session:  # noqa: PT012
        session.add(Order(id=1))
        session.flush()  # SQLite's driver begins no transaction for a SAVEPOINT
        with session.begin_nested():
            session.enqueue(confirm.call(1))
        assert woken == []  # SQLAlchemy has called after_commit by now
        raise RuntimeError
    assert (woken, shop.statuses()) == ([], [])


def test_a_savepoint_that_rolls_back_takes_only_its_own_jobs(shop: Shop) -> None:
    with shop.sessions.begin() as session:
        kept = session.enqueue(confirm.call(1))
        with pytest.raises(RuntimeError), session.begin_nested():  # noqa: PT012
            session.enqueue(confirm.call(2))
            raise RuntimeError
    backend = Backend()
    shop.relay(backend).drain()
    assert backend.ids == [kept.id]


def test_a_job_that_is_invalid_is_refused_at_once(shop: Shop) -> None:
    with shop.sessions() as session, pytest.raises(InvalidRequestError):
        session.enqueue(Job("order.confirm", queue="Not a queue"))


def test_a_delay_counts_from_the_enqueueing(shop: Shop) -> None:
    outbox = Outbox(Base.metadata, relay="separate", clock=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    with shop.sessions.begin() as session:
        staged = outbox.enqueue(session, confirm.options(delay="1h").call(1))
    assert staged.job.scheduled_at == "2026-01-01T01:00:00.000Z"


def test_the_enqueue_middleware_runs_once_and_at_the_insertion(shop: Shop) -> None:
    seen: list[str] = []

    class Note:
        async def call(self, job: Job, call_next: EnqueueNext) -> Job | None:
            seen.append(job.type)
            job.meta["by"] = "shop"
            return await call_next(job)

    backend = Backend()
    with shop.sessions.begin() as session:
        Outbox(Base.metadata, relay="separate", middleware=[Note()]).enqueue(
            session, confirm.call(1)
        )
        assert seen == ["order.confirm"]
    shop.relay(backend).drain()
    assert (seen, backend.get(backend.ids[0]).meta) == (["order.confirm"], {"by": "shop"})


def test_a_job_that_the_middleware_drops_has_no_row(shop: Shop) -> None:
    class Drop:
        async def call(self, job: Job, call_next: EnqueueNext) -> None:
            """Let nothing pass."""

    with shop.sessions.begin() as session:
        staged = Outbox(Base.metadata, relay="separate", middleware=[Drop()]).enqueue(
            session, confirm.call(1)
        )
    assert staged.dropped_by
    assert shop.statuses() == []


def test_the_middleware_of_a_configured_client_is_used(shop: Shop) -> None:
    class Tag:
        async def call(self, job: Job, call_next: EnqueueNext) -> Job | None:
            job["tags"] = ["configured"]
            return await call_next(job)

    own = Jobs()
    own.configure(lambda: Client("http://nowhere.example", middleware=[Tag()]))

    @own.job("order.ship")
    def ship() -> None:
        """Do nothing."""

    with shop.sessions.begin() as session:
        assert session.enqueue(ship.call()).job.tags == ["configured"]
    own.close_sync()


def test_rows_are_sent_in_the_order_of_insertion(shop: Shop) -> None:
    backend = Backend()
    ids = [shop.order(number) for number in range(7)]
    with shop.sessions.begin() as session:
        ids += [each.id for each in session.enqueue_many(confirm.call(9) for _ in range(5))]
    shop.relay(backend).drain()
    assert backend.batches == [ids]


def test_a_transaction_that_commits_late_is_not_passed_over(shop: Shop) -> None:
    """Its rows have smaller ids than those that were sent before."""
    if shop.engine.dialect.name == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    backend = Backend()
    relay = shop.relay(backend)
    slow = shop.sessions()
    late = slow.enqueue(confirm.call(1))
    early = shop.order(2)
    relay.drain()
    assert backend.ids == [early]
    slow.commit()
    relay.drain()
    assert backend.ids == [early, late.id]
    relay.close()


def test_the_relay_reads_by_the_partial_index(shop: Shop) -> None:
    query = "SELECT id FROM ojs_outbox WHERE status IN ('pending', 'failed') ORDER BY id LIMIT 100"
    with shop.engine.connect() as connection:
        if shop.engine.dialect.name == "sqlite":
            plan = str(connection.execute(text(f"EXPLAIN QUERY PLAN {query}")).all())
        else:
            connection.execute(text("SET enable_seqscan = off"))
            plan = str(connection.execute(text(f"EXPLAIN {query}")).all())
    assert "idx_ojs_outbox_pending" in plan


def test_an_id_is_never_given_twice(shop: Shop) -> None:
    """Even if the newest row is pruned: ids are the order of insertion."""
    shop.order(1)
    with shop.engine.begin() as connection:
        connection.execute(shop.outbox.table.delete())
    shop.order(2)
    with shop.engine.connect() as connection:
        assert connection.scalar(select(shop.outbox.table.c.id)) == 2
