"""What the testing kit costs: a test in fake mode, jobs in one test, and the start of a server.

    python -m benchmarks.testing_kit          # a table, exit 1 above the budget
    python -m benchmarks.testing_kit --tests 5000

A test enters fake mode, enqueues a typed job, asserts it by a call with ANY, and leaves. Processor
seconds count, so that other programs on the machine matter less.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
import time
from collections.abc import Callable
from typing import Final
from unittest.mock import ANY

from rich.console import Console
from rich.table import Table

from ojs_aws import Jobs
from ojs_aws.testing import Ojs, OjsServer

BUDGET_S: Final = 5.0
"""Of 1,000 tests."""

jobs = Jobs()


@jobs.job("bench.mail", queue="mail")
async def send_mail(to: str, order: int = 1) -> str:
    """Do nothing much."""
    return f"{to} {order}"


async def one_test() -> None:
    """Enter, enqueue, assert and leave."""
    with Ojs.fake() as ojs:
        await send_mail.enqueue("a@b.c", 2)
        ojs.assert_enqueued(send_mail.call("a@b.c", ANY), queue="mail", count=1)


def repeated_tests(count: int) -> float:
    """Return the processor seconds of as many tests, each in an event loop of its own."""
    asyncio.run(one_test())  # what is imported and made once

    def run() -> None:
        for _ in range(count):
            asyncio.run(one_test())

    return cpu_seconds(run)


def one_large_test(count: int) -> tuple[float, float, float]:
    """Return the processor seconds to enqueue, find and drain as many jobs in one test."""

    async def enqueue() -> None:
        for number in range(count):
            await send_mail.enqueue("a@b.c", number)

    with Ojs.fake() as ojs:
        enqueued = cpu_seconds(lambda: asyncio.run(enqueue()))
        last = send_mail.call("a@b.c", count - 1)
        found = cpu_seconds(lambda: ojs.assert_enqueued(last, count=1))
        drained = cpu_seconds(lambda: asyncio.run(_drain(ojs)))
    return enqueued, found, drained


async def _drain(ojs: Ojs) -> None:
    await ojs.drain()


def cpu_seconds(call: Callable[[], object]) -> float:
    """Return the processor seconds of a call."""
    begun = time.process_time()
    call()
    return time.process_time() - begun


def started_server() -> float:
    """Return the processor seconds of a server until it has stopped again."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with OjsServer():
        pass
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Print the table; return 1 above the budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=int, default=1000)
    count = parser.parse_args().tests
    spent = repeated_tests(count)
    enqueued, found, drained = one_large_test(count)
    table = Table("what", "processor seconds", "each")
    for what, seconds in (
        (f"{count} tests", spent),
        (f"enqueue {count} jobs in one test", enqueued),
        ("find one of them", found),
        (f"drain {count} jobs", drained),
    ):
        each = "" if what.startswith("find") else f"{seconds / count * 1000:.2f} ms"
        table.add_row(what, f"{seconds:.2f}", each)
    table.add_row("start a server", f"{started_server():.2f}", "")
    Console().print(table)
    return int(spent > BUDGET_S * count / 1000)


if __name__ == "__main__":
    sys.exit(main())
