"""Run a worker as a long-running process: it fetches jobs over HTTP and executes them.

Start a backend with `ojs-aws local`, then

    python examples/worker.py

and give it jobs with `python examples/enqueue.py`. Ctrl-C lets it finish its active jobs.
"""

from __future__ import annotations

import logging
import os

from ojs_aws import JobContext, Worker
from ojs_aws.worker import DiscardError

worker = Worker(
    os.environ.get("OJS_URL", "http://127.0.0.1:8080"),
    queues=["email", "reports"],  # all jobs of the first queue come before the second
    concurrency=5,
)


@worker.handler("email.send")
async def send(ctx: JobContext, to: str, template: str) -> dict[str, str]:
    """Handle a job asynchronously; the returned value is the job's result."""
    if "@" not in to:
        raise DiscardError(f"{to!r} is no address", type="email.bad_address")
    ctx.log("info", "sending", template=template)
    return {"sent_to": to}


@worker.handler("report.build")
def build(ctx: JobContext, pages: int) -> int:
    """Handle a job in a thread; the worker still sends heartbeats."""
    letters = 0
    for page in range(pages):
        if ctx.is_cancelled:
            break
        letters += len(f"page {page}")
    return letters


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    worker.run()
