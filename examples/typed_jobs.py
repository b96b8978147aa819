"""Declare jobs as typed functions, run them, send them, and wait for results with types.

Start a backend with `ojs-aws local`, then

    python examples/typed_jobs.py worker

and in another terminal

    python examples/typed_jobs.py
"""

from __future__ import annotations

import asyncio
import os
import sys
from decimal import Decimal

from pydantic import BaseModel

from ojs_aws import Jobs, RetryPolicy, Worker, chain, current_job, enqueue_many
from ojs_aws.errors import DiscardError, JobFailedError

jobs = Jobs()


class Order(BaseModel):
    number: int
    total: Decimal


class Receipt(BaseModel):
    sent_to: str
    attempt: int


@jobs.job("order.confirm", queue="email", retry=RetryPolicy(max_attempts=3))
async def confirm(to: str, order: Order, *, urgent: bool = False) -> Receipt:
    """Handle a job asynchronously; the worker reads the order strictly before."""
    if "@" not in to:
        raise DiscardError(f"{to!r} is no address", type="email.bad_address")
    current_job().log("info", "sending", order=order.number, urgent=urgent)
    return Receipt(sent_to=to, attempt=current_job().attempt)


@jobs.job("report.count", queue="reports")
def count(pages: int, words_on_a_page: int = 300) -> int:
    """Handle a job in a thread; the worker still sends heartbeats."""
    return pages * words_on_a_page


async def main() -> None:
    order = Order(number=1, total=Decimal("9.90"))
    handle = await confirm.enqueue("ada@example.com", order, urgent=True)
    receipt = await handle.result(timeout="30s")
    print("sent to  ", receipt.sent_to)

    handles = await enqueue_many(count.call(pages) for pages in (1, 10))
    print("words    ", sum([await each.result(timeout="30s") for each in handles]))

    flow = chain(confirm.call("ada@example.com", order), count.call(2, words_on_a_page=100))
    print("workflow ", await (await flow.enqueue()).result(timeout="30s"))

    try:
        await (await confirm.enqueue("nobody", order)).result(timeout="30s")
    except JobFailedError as failed:
        print("failed   ", failed.error["type"], failed.error["message"])


if __name__ == "__main__":
    os.environ.setdefault("OJS_URL", "http://127.0.0.1:8080")
    if sys.argv[1:] == ["worker"]:
        Worker(jobs, concurrency=5).run()
    else:
        asyncio.run(main())
