"""The processes of the kill test, each of which works until somebody kills it."""

from __future__ import annotations

import os
import time
from typing import Final

from ojs_aws.cli.app import app as command_line
from tests.contrib.sqlalchemy.shop import Order, Shop, confirm

ROLLED_BACK_EACH: Final = 5


def take_orders(database: str, first: int) -> None:
    """Store orders from a number on; each fifth transaction is rolled back with its job."""
    shop = Shop(database, creates=False)
    number = first
    while True:
        number += 1
        try:
            with shop.sessions() as session:
                session.add(Order(id=number))
                session.enqueue(confirm.call(number))
                if number % ROLLED_BACK_EACH == 0:
                    session.flush()
                else:
                    session.commit()
        except Exception:  # noqa: BLE001 - the database is being started again
            time.sleep(0.05)


def relay(database: str, url: str) -> None:
    """Run the relay's command, without what it logs of the killed database."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.environ.update(OJS_URL=url, OJS_OUTBOX_DATABASE=database)
    command_line(["outbox", "relay", "--poll", "0.1", "--batch-size", "20"])
