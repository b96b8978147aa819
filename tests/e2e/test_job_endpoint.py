"""The job endpoint as it is deployed: its URL, its role and its keys, used as workers use them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from infra.deployment import Deployment, create_key
from infra.emulator import Emulator
from ojs_aws import Client, Job, JobContext, RetryPolicy, Worker
from tests.e2e.steps import log_lines
from tests.load import HUNG_S

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

TYPE = "e2e.endpoint"


@pytest.fixture(scope="module")
def url(emulator: Emulator, deployment: Deployment) -> str:
    """The URL of senders and workers."""
    return emulator.function_url(deployment.outputs["JobEndpointUrl"])


@pytest.fixture
def endpoint(url: str) -> Iterator[httpx.Client]:
    """Sends requests there; paths are relative to ``/ojs/v1``."""
    headers = {"Content-Type": "application/openjobspec+json"}
    with httpx.Client(base_url=f"{url}/ojs/v1/", headers=headers, timeout=HUNG_S) as client:
        yield client


def test_it_asks_for_the_same_keys(
    endpoint: httpx.Client, emulator: Emulator, deployment: Deployment, queue: str
) -> None:
    """And for nothing before it says that it is well; the answer to operators names the API."""
    job = {"type": TYPE, "args": [], "options": {"queue": queue}}
    assert endpoint.get("health").status_code == 200
    assert endpoint.get("../manifest").status_code == 200
    for headers in ({}, {"Authorization": "Bearer ojs_" + "0" * 16 + "_" + "x" * 43}):
        refused = endpoint.post("jobs", json=job, headers=headers)
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "unauthenticated")
    key = create_key(emulator, deployment, "endpoint-producer", "producer")
    endpoint.headers["Authorization"] = f"Bearer {key}"
    assert endpoint.post("jobs", json=job).status_code == 201
    assert endpoint.post("workers/fetch", json={"queues": [queue]}).status_code == 403
    elsewhere = endpoint.get("queues")
    assert elsewhere.status_code == 404
    assert "ApiUrl" in elsewhere.json()["error"]["hint"]


def test_client_and_worker_of_this_package_need_no_other_url(
    url: str, emulator: Emulator, deployment: Deployment, queue: str
) -> None:
    """Enqueued one by one and in a batch, fetched, kept by heartbeats, retried, completed."""
    sender = create_key(emulator, deployment, "endpoint-sender", "producer", "read-only")
    key = create_key(emulator, deployment, "endpoint-worker", "worker")

    async def run() -> list[object]:
        worker = Worker(url, queues=[queue], api_key=key)

        @worker.handler(TYPE)
        async def handle(ctx: JobContext, text: str) -> int:
            await ctx.heartbeat()
            if text == "one" and ctx.attempt == 1:
                raise RuntimeError("the first attempt fails")
            return len(text)

        retry = RetryPolicy(max_attempts=3, initial_interval="1s")
        async with Client(url, api_key=sender) as client:
            jobs = [await client.enqueue(TYPE, ["one"], queue=queue, retry=retry)]
            many = [Job(type=TYPE, args=["x" * 20_000], queue=queue) for _ in range(3)]
            jobs += await client.enqueue_many(many)
            working = asyncio.create_task(worker.serve())
            found = [await client.wait(each.job.id, timeout_s=HUNG_S) for each in jobs]
            worker.lifecycle.terminate("done")
            await working
        return list(found)

    with ThreadPoolExecutor(1) as aside:  # this thread's loop may be the browser's
        found = aside.submit(lambda: asyncio.run(run())).result()
    assert found == [3, 20_000, 20_000, 20_000]
    assert [line for line in log_lines(emulator) if "AccessDenied" in line] == []
