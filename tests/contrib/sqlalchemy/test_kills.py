"""Each committed order has its job once, and no other, whoever is killed when."""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Final, ParamSpec

import psycopg
import pytest

from tests.contrib.backends import Backend, served
from tests.contrib.postgres import Postgres
from tests.contrib.sqlalchemy import killed_shop
from tests.contrib.sqlalchemy.shop import Shop
from tests.load import HUNG_S, wait_until

TRANSACTIONS: Final = int(os.environ.get("OJS_KILL_TRANSACTIONS", "1000"))
"""How many orders are committed at least; for ten thousand, set the variable."""
VICTIMS: Final = ("application", "relay", "database", "relay")
ORDERS: Final = "SELECT count(*) FROM orders"
SENT: Final = "SELECT count(*) FROM ojs_outbox WHERE status = 'sent'"
MOVES: Final = {"application": ORDERS, "relay": SENT, "database": SENT}
"""What has to grow before a victim is killed: nobody is killed before everything works again."""
P = ParamSpec("P")

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload([killed_shop.__name__])


def started(work: Callable[P, None], *args: P.args, **_: P.kwargs) -> BaseProcess:
    """Start a process, of one that has imported everything."""
    made = _processes.Process(target=work, args=args, daemon=True)
    made.start()
    return made


def killed(process: BaseProcess) -> None:
    """End a process without notice."""
    process.kill()
    process.join(HUNG_S)


@pytest.mark.slow
def test_each_committed_job_exists_once_whoever_is_killed(postgres: Postgres) -> None:
    """Application, relay and database are killed at random; the backend stays."""
    chance, kills = random.Random(31), Counter[str]()
    postgres.empty()
    shop = Shop(postgres.url)
    backend = Backend()
    with served(backend) as address:
        application = started(killed_shop.take_orders, postgres.url, 0)
        relay = started(killed_shop.relay, postgres.url, address)
        try:
            while counted(postgres, ORDERS) < TRANSACTIONS or kills.total() < len(VICTIMS):
                victim = VICTIMS[kills.total() % len(VICTIMS)]
                grow(postgres, MOVES[victim], chance.randint(5, 60))
                kills[victim] += 1
                if victim == "application":
                    killed(application)
                    first = kills.total() * 1_000_000
                    application = started(killed_shop.take_orders, postgres.url, first)
                elif victim == "relay":
                    killed(relay)
                    relay = started(killed_shop.relay, postgres.url, address)
                else:
                    postgres.kill()
                    postgres.start()
            killed(application)
            shop.engine.dispose()  # its connections are those of a killed server
            orders = shop.orders()
            wait_until(lambda: counted(postgres, SENT) == len(orders), "the sending of all jobs")
        finally:
            killed(application)
            killed(relay)
    print(f"{len(orders)} orders, {len(backend.jobs)} jobs, kills: {dict(kills)}")
    shop.close()
    numbers = [int(str(backend.get(job_id).args[0])) for job_id in backend.ids]
    assert sorted(numbers) == orders


def grow(postgres: Postgres, count: str, by: int) -> None:
    """Wait until a count is larger by a number than it is now, and a moment longer."""
    least = counted(postgres, count) + by
    wait_until(lambda: counted(postgres, count) >= least, f"the growth of {count!r}")


def counted(postgres: Postgres, count: str) -> int:
    """Return what a statement counts, by a connection of its own: it may have been killed."""
    with psycopg.connect(postgres.url.replace("+psycopg", ""), connect_timeout=10) as connection:
        row = connection.execute(count).fetchone()
    time.sleep(0.05)
    return int(row[0]) if row else 0
