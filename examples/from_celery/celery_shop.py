"""A shop in Celery; ojs_shop.py beside it is the same shop in ojs-aws.

    python -m examples.from_celery.celery_shop

The broker and the worker are in this process, so that nothing else needs to run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from celery import Celery, chain, group
from celery.contrib.testing.worker import start_worker
from celery.schedules import crontab

app = Celery("shop", broker="memory://", backend="cache+memory://")
app.conf.task_routes = {"shop.send_receipt": {"queue": "mail"}}
app.conf.beat_schedule = {
    "daily-report": {
        "task": "shop.build_report",
        "schedule": crontab(hour=9, minute=0, day_of_week="mon-fri"),
        "args": ("summary",),
    }
}


class BankBusyError(Exception):
    """The bank answers later."""


@app.task(name="shop.charge", bind=True, autoretry_for=(BankBusyError,), max_retries=3,
          default_retry_delay=0)  # fmt: skip
def charge(self: Any, number: int, cents: int) -> int:
    if self.request.retries == 0:
        raise BankBusyError(number)
    return cents


@app.task(name="shop.send_receipt")
def send_receipt(cents: int, to: str) -> str:
    """Take the result of the step before as the first argument."""
    return f"receipt for {cents} cents to {to}"


@app.task(name="shop.pack")
def pack(item: str) -> str:
    return f"packed {item}"


@app.task(name="shop.build_report")
def build_report(kind: str) -> str:
    return f"the {kind} is ready"


def place_order(number: int, items: list[str], to: str) -> Callable[[], list[str]]:
    """Send everything, and return what waits for the lines to print."""
    paid = chain(charge.s(number, 300), send_receipt.s(to))()
    packed = group(pack.s(item) for item in items)()
    build_report.apply_async(("summary",), countdown=86_400)
    return lambda: [paid.get(timeout=60), *packed.get(timeout=60)]


def main() -> None:
    with start_worker(app, pool="solo", queues="celery,mail", perform_ping_check=False):
        for line in place_order(1, ["book", "pen"], "ada@example.com")():
            print(line)


if __name__ == "__main__":
    main()
