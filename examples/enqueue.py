"""Enqueue one job and many jobs, wait for results, and handle a failure.

Start a backend with `ojs-aws local` and a worker with `python examples/worker.py`, then

    python examples/enqueue.py
"""

from __future__ import annotations

import asyncio
import os

from ojs_aws import Client, Job
from ojs_aws.client import JobFailedError

URL = os.environ.get("OJS_URL", "http://127.0.0.1:8080")


async def main() -> None:
    async with Client(URL) as client:
        enqueued = await client.enqueue("email.send", ["ada@example.com", "welcome"], queue="email")
        print("enqueued", enqueued.id, enqueued.state)
        print("result  ", await client.wait(enqueued.id, timeout_s=30))

        jobs = [Job("report.build", [pages], queue="reports", priority="low") for pages in (1, 10)]
        for result in await client.enqueue_many(jobs):
            print("report  ", await client.wait(result.id, timeout_s=30))

        bad = await client.enqueue("email.send", ["nobody", "welcome"], queue="email")
        try:
            await client.wait(bad.id, timeout_s=30)
        except JobFailedError as failed:
            print("failed  ", failed.error["type"], failed.error["message"])


if __name__ == "__main__":
    asyncio.run(main())
