"""Known traps of an outbox: async sessions, forks, several databases, and tests."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import MetaData, create_engine, inspect, text
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine

from ojs_aws.contrib.outbox import built_in
from ojs_aws.contrib.outbox.built_in import BuiltInRelay
from ojs_aws.contrib.outbox.relay import Relay
from ojs_aws.contrib.outbox.staged_jobs import checked_table
from ojs_aws.contrib.sqlalchemy import AsyncJobSession, JobSession, Outbox
from ojs_aws.contrib.sqlalchemy.database import EngineDatabase
from ojs_aws.contrib.sqlalchemy.migrations import downgrade_from_1, upgrade_to_1
from ojs_aws.testing import Ojs
from tests.commands import run_command
from tests.contrib.backends import Backend
from tests.contrib.postgres import Postgres
from tests.contrib.sqlalchemy.shop import Base, Order, Shop, confirm
from tests.load import HUNG_S


@pytest.fixture
def shop(database_url: str) -> Iterator[Shop]:
    made = Shop(database_url)
    yield made
    made.close()


@pytest.fixture
def small_shop(tmp_path: Path) -> Iterator[Shop]:
    """A shop in SQLite alone."""
    made = Shop(f"sqlite:///{tmp_path / 'shop.db'}")
    yield made
    made.close()


async def test_an_asynchronous_session_commits_its_jobs(shop: Shop) -> None:
    drivers = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+psycopg"}
    url = shop.engine.url.set(drivername=drivers[shop.engine.dialect.name])
    engine = create_async_engine(url)
    sessions = async_sessionmaker(engine, class_=AsyncJobSession, info={"ojs_outbox": shop.outbox})
    async with sessions.begin() as session:
        session.add(Order(id=1))
        staged = await session.enqueue(confirm.call(1))
        await session.enqueue_many([confirm.call(2)])
    async with sessions() as session:
        await session.enqueue(confirm.call(3))
        await session.rollback()
    await engine.dispose()
    backend = Backend()
    assert shop.relay(backend).drain().sent == 2
    assert backend.ids[0] == staged.id
    database = EngineDatabase.of_url(url)
    assert database.run("SELECT count(*) FROM orders", {}) == [(1,)]
    database.close()
    database._engine.dispose()


def test_each_database_has_its_own_jobs_and_leader(tmp_path: Path) -> None:
    shops = [Shop(f"sqlite:///{tmp_path / name}.db") for name in ("eu", "us")]
    ids = [shop.order(1) for shop in shops]
    backends = [Backend(), Backend()]
    relays = [shop.relay(backend) for shop, backend in zip(shops, backends, strict=True)]
    assert [relay.drain().sent for relay in relays] == [1, 1]
    assert [backend.ids for backend in backends] == [[ids[0]], [ids[1]]]
    for shop in shops:
        shop.close()


def test_a_built_in_relay_starts_with_the_first_commit(
    small_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = Backend()
    monkeypatch.setattr("ojs_aws.client.Client.from_env", lambda **_: backend.client())
    outbox = Outbox(Base.metadata)
    with JobSession(small_shop.engine) as session, session.begin():
        outbox.enqueue(session, confirm.call(1))
        assert outbox._relays == {}
    [built_in] = outbox._relays.values()
    while small_shop.statuses() != ["sent"]:
        assert built_in.is_running
    outbox.close()
    assert not built_in.is_running


class Meeting:
    """Lets two threads meet, and one of them go on when the other one is done."""

    def __init__(self) -> None:
        self._both, self.is_over = threading.Barrier(2), threading.Event()

    def meet(self) -> None:
        if self._both.wait(HUNG_S) == 0:
            self.is_over.wait(HUNG_S)

    def run(self, act: Callable[[], None]) -> None:
        """Do something in both threads."""
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(lambda _: act(), range(2)))


def test_of_two_threads_that_commit_first_one_starts_the_relay(
    small_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing could end another one."""
    meeting, made_relays = Meeting(), list[Relay]()

    def lock() -> object:
        meeting.meet()
        return threading.Lock()

    def make_relay() -> Relay:
        made_relays.append(small_shop.relay(Backend()))
        return made_relays[-1]

    class Thread(threading.Thread):
        def start(self) -> None:
            super().start()
            meeting.is_over.set()

    made = BuiltInRelay(make_relay)
    monkeypatch.setattr(built_in, "threading", SimpleNamespace(Lock=lock, Thread=Thread))
    meeting.run(made.wake)
    made.stop(HUNG_S)
    assert len(made_relays) == 1


def test_two_threads_that_commit_first_wake_the_same_relay(
    small_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    meeting, woken = Meeting(), set[int]()

    class Met(BuiltInRelay):
        def __init__(self, make_relay: Callable[[], Relay]) -> None:
            super().__init__(make_relay)
            meeting.meet()

        def wake(self) -> None:
            woken.add(id(self))
            meeting.is_over.set()

    monkeypatch.setattr("ojs_aws.contrib.sqlalchemy.outbox.BuiltInRelay", Met)
    outbox = Outbox(MetaData())
    meeting.run(lambda: outbox._wake(small_shop.engine))
    assert woken == {id(made) for made in outbox._relays.values()}


def test_a_forked_process_starts_a_relay_of_its_own(small_shop: Shop) -> None:
    """The thread of the parent does not exist in it."""
    made = BuiltInRelay(lambda: small_shop.relay(Backend()))
    made.wake()
    assert made.is_running
    read, write = os.pipe()
    child = os.fork()
    if not child:
        was_running = made.is_running
        made._make_relay = lambda: Relay(EngineDatabase(create_engine("sqlite://")))
        made.wake()
        os.write(write, f"{was_running} {made.is_running}".encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100) == b"False True"
    os.close(read)
    os.close(write)
    made.stop(HUNG_S)


def test_a_forked_process_does_not_share_the_connection_of_its_parent(postgres: Postgres) -> None:
    """If it lets go of the pool first, as SQLAlchemy asks of whoever forks."""
    engine = create_engine(postgres.url)
    asked = "SELECT pg_backend_pid()"
    database = EngineDatabase(engine)
    [[of_parent]] = database.run(asked, {})
    read, write = os.pipe()
    child = os.fork()
    if not child:
        engine.dispose(close=False)
        os.write(write, str(EngineDatabase(engine).run(asked, {})[0][0]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(read, 100)) != of_parent
    assert database.run(asked, {}) == [(of_parent,)]
    os.close(read)
    os.close(write)
    database.close()
    engine.dispose()


def test_no_relay_starts_in_a_lambda_function(
    small_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "shop")
    made = BuiltInRelay(lambda: small_shop.relay(Backend()))
    made.wake()
    assert not made.is_running


def test_in_a_test_committed_jobs_are_enqueued_at_the_commit(shop: Shop, ojs: Ojs) -> None:
    with shop.sessions.begin() as session:
        staged = session.enqueue(confirm.call(1))
        with pytest.raises(AssertionError, match="1 job waits for a commit"):
            ojs.assert_enqueued(confirm)
    assert [job.id for job in ojs.all_enqueued()] == [staged.id]
    ojs.drain_sync()
    ojs.assert_completed(confirm.call(1))
    assert shop.statuses() == ["sent"]


def test_in_a_test_jobs_of_a_rollback_are_gone(small_shop: Shop, ojs: Ojs) -> None:
    with small_shop.sessions() as session:
        session.enqueue(confirm.call(1))
    with pytest.raises(AssertionError, match=r"Nothing was enqueued\.$"):
        ojs.assert_enqueued(confirm)


def test_the_migration_makes_the_table_that_the_models_declare(database_url: str) -> None:
    engine = create_engine(database_url)
    metadata = MetaData()
    Outbox(metadata)
    with engine.begin() as connection:
        context = MigrationContext.configure(connection)
        with Operations.context(context):
            upgrade_to_1()
        assert compare_metadata(context, metadata) == []
        with Operations.context(context):
            downgrade_from_1()
        assert inspect(connection).get_table_names() == []
    engine.dispose()


def test_the_rows_of_a_person_are_deleted_as_the_page_says(postgres: Postgres) -> None:
    page = (Path(__file__).parents[3] / "docs" / "personal-data.md").read_text()
    statement = page.split("```sql\n")[1].split("```")[0]
    postgres.empty()
    shop = Shop(postgres.url)
    with shop.sessions.begin() as session:
        session.enqueue(confirm.options(tags=["x", "customer:17"]).call(1))
        session.enqueue(confirm.options(tags=["customer:170"]).call(2))
        session.enqueue(confirm.call(3))
    with shop.engine.begin() as connection:
        assert connection.execute(text(statement.replace(":17", "\\:17"))).rowcount == 1
    assert len(shop.statuses()) == 2
    shop.close()


def test_a_table_is_a_plain_name() -> None:
    assert checked_table("shop.ojs_outbox") == "shop.ojs_outbox"
    with pytest.raises(ValueError, match="cannot be the outbox's table"):
        checked_table("jobs; DROP TABLE users")


def test_the_command_line_shows_and_retries_parked_rows(small_shop: Shop) -> None:
    bad = small_shop.order(1)
    database = ("--database", str(small_shop.engine.url))
    with small_shop.engine.begin() as connection:
        connection.execute(small_shop.outbox.table.update().values(job_type="Not A Type"))
    small_shop.relay(Backend()).drain()
    unnamed = run_command("outbox", "relay", "--once", *database)
    assert (unnamed.exit_code, "OJS_URL" in unnamed.output) == (2, True)
    shown = run_command("outbox", "status", *database)
    assert (shown.exit_code, f"parked: {bad}" in shown.output) == (7, True)
    assert run_command("outbox", "retry", *database).exit_code == 2
    assert "1 rows" in run_command("outbox", "retry", bad, *database).output
    assert run_command("outbox", "status", *database).exit_code == 0


def test_the_command_sends_what_is_due_and_ends(
    small_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = Backend()
    monkeypatch.setattr("ojs_aws.client.Client.from_env", lambda **_: backend.client())
    job_id = small_shop.order(1)
    database = ("--database", str(small_shop.engine.url))
    assert "sent 1" in run_command("outbox", "relay", "--once", *database).output
    assert backend.ids == [job_id]
