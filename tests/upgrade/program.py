"""What an application does with a backend, by names that each version has; run as a process.

    OJS_URL=... PYTHONPATH=checkout-of-a-version python tests/upgrade/program.py

prints what it found as JSON. It imports nothing of the tests, so that any version can run it.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import ojs_aws
from ojs_aws import Job, Jobs, RetryPolicy, SyncClient, Worker, chain
from ojs_aws.errors import DuplicateError, JobFailedError

PATIENCE_S = float(os.environ.get("OJS_PATIENCE_S", "60"))
ONCE = RetryPolicy(max_attempts=1, on_exhaustion="dead_letter")

jobs = Jobs()


@jobs.job("add", queue="sums")
def add(left: int, right: int) -> int:
    """Complete with a result."""
    return left + right


@jobs.job("broken", queue="sums", retry=ONCE)
def broken() -> None:
    """Fail at the only attempt."""
    raise ValueError("it broke")


@jobs.job("flaky", queue="sums", retry=RetryPolicy(max_attempts=2, initial_interval="1s"))
def flaky() -> int:
    """Fail at the first attempt."""
    attempt = ojs_aws.current_job().attempt
    if attempt == 1:
        raise ValueError("not yet")
    return attempt


def use(client: SyncClient) -> dict[str, object]:
    """Send jobs of all kinds, wait for them, and look at them."""
    found: dict[str, object] = {}
    first = client.enqueue("add", [1, 2], queue="sums")
    found["push"] = client.result(first.id, timeout_s=PATIENCE_S)
    found["state"] = str(client.get(first.id).state)
    batch = client.enqueue_many([Job(type="add", args=[n, n], queue="sums") for n in range(3)])
    found["batch"] = [client.result(each.id, timeout_s=PATIENCE_S) for each in batch]
    found["retried"] = flaky.enqueue_sync().result(timeout=f"{PATIENCE_S:g}s")
    found["typed"] = add.enqueue_sync(20, 22).result(timeout=f"{PATIENCE_S:g}s")
    failing = broken.enqueue_sync()
    try:
        failing.result(timeout=f"{PATIENCE_S:g}s")
    except JobFailedError as error:
        found["failed"] = type(error).__name__
    found["dead letter"] = failing.id in {job.id for job in client.dead_letter.list().jobs}
    flow = chain(add.call(1, 1), add.call(2, 2), name="two").enqueue_sync()
    found["workflow"] = str(client.workflows.wait(flow.id, timeout_s=PATIENCE_S).state)
    later = datetime.now(UTC) + timedelta(hours=1)  # so that no worker runs it meanwhile
    once: dict[str, Any] = {"keys": ["args"], "period": "PT1H"}
    scheduled = client.enqueue("add", [5, 5], queue="sums", scheduled_at=later, unique=once)
    try:
        client.enqueue("add", [5, 5], queue="sums", scheduled_at=later, unique=once)
    except DuplicateError:
        found["duplicate"] = "refused"
    found["scheduled"] = str(client.get(scheduled.id).state)
    client.cancel(scheduled.id)
    found["cancelled"] = str(client.get(scheduled.id).state)
    found["cron"] = use_cron(client)
    return found | look(client, first.id)


def use_cron(client: SyncClient) -> dict[str, object]:
    """Register a cron job, run it now, and delete it."""
    client.cron.register("nightly", "0 3 * * *", Job(type="add", args=[3, 4], queue="sums"))
    job_id = client.cron.trigger("nightly").job_id or ""
    names = [each.name for each in client.cron.list()]
    client.cron.delete("nightly")
    return {"names": names, "ran": client.result(job_id, timeout_s=PATIENCE_S)}


def look(client: SyncClient, job_id: str) -> dict[str, object]:
    """Read what operators read; answers of another version have more members, or fewer."""
    found: dict[str, object] = {
        "stats": client.queues.stats("sums").name,
        "why": str(client.jobs.why(job_id).state),
        "listed": eventually(lambda: [each.id for each in client.jobs.list(queue="sums").jobs]),
        "errors": eventually(lambda: client.system.errors().groups),
        "findings": bool(client.system.findings().checks),
        "overview": "queues" in client.system.overview(),
        "history": bool(client.system.history("1m")),
        "workers": bool(client.workers.list().workers),
        "events": eventually(lambda: client.events.read(job_ids=[job_id]).events),
    }
    return found


def eventually(look_now: Callable[[], object]) -> bool:
    """Return True if something is there before long: lists follow the table's stream."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if look_now():
            return True
        time.sleep(0.1)
    return False


async def main() -> None:
    """Run a worker beside the rest, and print what was found."""
    worker = Worker(jobs, concurrency=2)
    serving = asyncio.create_task(worker.serve())
    found = await asyncio.to_thread(using)
    serving.cancel()
    print(json.dumps({"version": ojs_aws.__version__} | found))


def using() -> dict[str, object]:
    """Use the backend that the environment names."""
    with SyncClient.from_env() as client:
        return use(client)


if __name__ == "__main__":
    asyncio.run(main())
