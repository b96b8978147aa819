"""A relay survives the end of its connection, and of PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import psycopg
import pytest

from ojs_aws.contrib.sqlalchemy.database import EngineDatabase
from tests.contrib.backends import Backend
from tests.contrib.postgres import Postgres
from tests.contrib.sqlalchemy.shop import Shop
from tests.load import HUNG_S, wait_until


@pytest.fixture
def shop(postgres: Postgres) -> Iterator[Shop]:
    postgres.empty()
    made = Shop(postgres.url)
    yield made
    made.close()


def test_a_relay_whose_connection_is_lost_does_not_lead(shop: Shop) -> None:
    """The lock was that of the connection, and another relay may have it."""
    backend = Backend()
    first, second = shop.relay(backend), shop.relay(backend)
    assert first.run_round().is_leader
    with pytest.raises(Exception, match="terminat"):
        first._database.run("SELECT pg_terminate_backend(pg_backend_pid())", {})
    assert second.run_round().is_leader
    assert not first.run_round().is_leader
    second.close()
    assert first.run_round().is_leader


def test_the_lock_of_a_relay_ends_soon_after_its_machine(shop: Shop) -> None:
    relay = shop.relay(Backend())
    assert relay.run_round().is_leader
    names = ("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count")
    idle, interval, count = (int(relay._database.run(f"SHOW {name}", {})[0][0]) for name in names)
    assert idle + interval * count == 25
    assert relay._database.run("SHOW tcp_user_timeout", {}) == [("25000",)]


def test_a_relay_gives_up_a_server_whose_machine_is_gone(postgres: Postgres) -> None:
    database = EngineDatabase.of_url(f"{postgres.url}?keepalives_count=2")
    connection = database.driver_connection()
    assert isinstance(connection, psycopg.Connection)
    chosen = connection.info.get_parameters()
    assert (chosen["connect_timeout"], chosen["tcp_user_timeout"]) == ("10", "25000")
    assert (chosen["keepalives_idle"], chosen["keepalives_count"]) == ("10", "2")
    database.close()
    database._engine.dispose()


@pytest.mark.parametrize("listens", [True, False])
def test_a_running_relay_survives_a_kill_of_the_database(
    shop: Shop, postgres: Postgres, *, listens: bool
) -> None:
    backend = Backend()
    relay = shop.relay(backend, poll_s=0.05, listens=listens)
    thread = threading.Thread(target=relay.run)
    thread.start()
    try:
        first = shop.order(1)
        wait_until(lambda: backend.ids == [first], "the first job")
        postgres.kill()
        postgres.start()
        shop.engine.dispose()
        second = shop.order(2)
        wait_until(lambda: backend.ids == [first, second], "the second job")
    finally:
        relay.stop()
        thread.join(HUNG_S)
    assert not thread.is_alive()
