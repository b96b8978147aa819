"""The operations that the load benchmark times, each against a queue of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import httpx

BATCH: Final = 10
IDLE_S: Final = 0.02
LOOK_S: Final = 0.1
"""Between two looks at a job that a Lambda worker runs, in seconds."""
LAMBDA_QUEUE: Final = "demo"
PATIENCE_S: Final = 120.0


@dataclass
class Timing:
    """What one operation took, with so many clients at once.

    :ivar operation: its name.
    :ivar jobs: how many jobs went through it.
    :ivar seconds: from the first request to the last answer.
    :ivar waits_ms: milliseconds of each request, or from push to start for ``end to end``.
    """

    operation: str
    clients: int
    jobs: int = 0
    seconds: float = 0.0
    waits_ms: list[float] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        """Jobs a second."""
        return self.jobs / self.seconds if self.seconds else 0.0

    def percentile(self, share: float) -> float:
        """The milliseconds that this share of the requests does not exceed."""
        ordered = sorted(self.waits_ms)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


Step = Callable[[int], Awaitable[int]]
"""One request of the client with this number; answers how many jobs it dealt with."""


async def timed(operation: str, clients: int, jobs: int, step: Step) -> Timing:
    """Have clients repeat a request side by side until so many jobs went through it."""
    timing = Timing(operation, clients)
    ends = time.perf_counter() + PATIENCE_S

    async def work(number: int) -> None:
        while timing.jobs < jobs and time.perf_counter() < ends:
            began = time.perf_counter()
            done = await step(number)
            if done:
                timing.waits_ms.append((time.perf_counter() - began) * 1000)
                timing.jobs += done
            else:
                await asyncio.sleep(IDLE_S)

    began = time.perf_counter()
    await asyncio.gather(*(work(number) for number in range(clients)))
    timing.seconds = time.perf_counter() - began
    return timing


class Load:
    """Jobs of one queue on their way through the API.

    :ivar active: jobs that were fetched and are to be acknowledged.
    """

    def __init__(self, http: httpx.AsyncClient, queue: str) -> None:
        """Use a queue that nobody else uses."""
        self.http = http
        self.queue = queue
        self.active: list[str] = []

    async def post(self, path: str, body: object) -> dict[str, Any]:
        """One request.

        :raises httpx.HTTPStatusError: it was refused, or failed.
        """
        answer = await self.http.post(path, json=body)
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    def _job(self) -> dict[str, object]:
        return {"type": "load", "args": ["x" * 100], "options": {"queue": self.queue}}

    async def send(self, jobs: Sequence[dict[str, object]]) -> list[dict[str, Any]]:
        """PUSH one job, or several together; as they were stored."""
        if len(jobs) == 1:
            return [(await self.post("jobs", jobs[0]))["job"]]
        stored: list[dict[str, Any]] = (await self.post("jobs/batch", {"jobs": jobs}))["jobs"]
        return stored

    async def push(self, _: int) -> int:
        """PUSH one job."""
        await self.post("jobs", self._job())
        return 1

    async def push_batch(self, _: int) -> int:
        """PUSH jobs together, all or none."""
        await self.post("jobs/batch", {"jobs": [self._job() for _ in range(BATCH)]})
        return BATCH

    async def fetch(self, number: int) -> int:
        """FETCH one job."""
        return await self._fetch(number, 1)

    async def fetch_batch(self, number: int) -> int:
        """FETCH several."""
        return await self._fetch(number, BATCH)

    async def _fetch(self, number: int, count: int) -> int:
        body = {"queues": [self.queue], "count": count, "worker_id": f"w{number}"}
        jobs = (await self.post("workers/fetch", body))["jobs"]
        self.active += [job["id"] for job in jobs]
        return len(jobs)

    async def ack(self, _: int) -> int:
        """ACK one job that was fetched."""
        if not self.active:
            return 0
        await self.post("workers/ack", {"job_id": self.active.pop()})
        return 1


async def end_to_end(
    http: httpx.AsyncClient, queue: str, clients: int, jobs: int, together: int = 1
) -> Timing:
    """From the moment a push is sent until a polling worker has the job in its hands.

    Each producer pushes its next jobs when those before are in hands, so that no queue builds up.

    :param together: jobs of one push, and of one FETCH.
    """
    timing = Timing(_named("end to end, HTTP worker", together), clients)
    load = Load(http, queue)
    sent: dict[int, float] = {}
    held = [asyncio.Event() for _ in range(jobs)]
    ends = time.perf_counter() + PATIENCE_S

    async def produce(numbers: Sequence[int]) -> None:
        for begin in range(0, len(numbers), together):
            group = numbers[begin : begin + together]
            sent.update(dict.fromkeys(group, time.perf_counter()))
            options = {"queue": queue}
            batch: list[dict[str, object]] = [
                {"type": "load", "args": [number], "options": options} for number in group
            ]
            await load.send(batch)
            async with asyncio.timeout(PATIENCE_S):
                for number in group:
                    await held[number].wait()

    async def consume(worker: int) -> None:
        while timing.jobs < jobs and time.perf_counter() < ends:
            body = {"queues": [queue], "count": together, "worker_id": f"w{worker}"}
            found = (await load.post("workers/fetch", body))["jobs"]
            now = time.perf_counter()
            for job in found:
                number = job["args"][0]
                timing.waits_ms.append((now - sent[number]) * 1000)
                timing.jobs += 1
                held[number].set()
                await load.post("workers/ack", {"job_id": job["id"], "worker_id": f"w{worker}"})
            if not found:
                await asyncio.sleep(IDLE_S)

    began = time.perf_counter()
    producers = (produce(range(number, jobs, clients)) for number in range(clients))
    consumers = (consume(number) for number in range(clients))
    await asyncio.gather(*producers, *consumers)
    timing.seconds = time.perf_counter() - began
    return timing


async def end_to_end_lambda(
    http: httpx.AsyncClient, clients: int, jobs: int, together: int = 1
) -> Timing:
    """From the moment a push is sent until a Lambda worker has begun with the job.

    The worker is the demo's; its clock is this machine's, or that of AWS for a deployment there.

    :param together: jobs of one push.
    """
    timing = Timing(_named("end to end, Lambda worker", together), clients)
    load = Load(http, LAMBDA_QUEUE)
    ends = time.perf_counter() + PATIENCE_S

    async def started(job_id: str) -> datetime | None:
        while time.perf_counter() < ends:
            answer = await http.get(f"jobs/{job_id}")
            job = answer.raise_for_status().json()["job"]
            if job["state"] == "completed":
                return datetime.fromisoformat(job["started_at"])
            await asyncio.sleep(LOOK_S)
        return None

    async def produce(numbers: Sequence[int]) -> None:
        for begin in range(0, len(numbers), together):
            group = numbers[begin : begin + together]
            options = {"queue": LAMBDA_QUEUE}
            batch: list[dict[str, object]] = [
                {"type": "demo.echo", "args": [number], "options": options} for number in group
            ]
            sent = datetime.now(UTC)
            for job in await load.send(batch):
                if (at := await started(job["id"])) is not None:
                    timing.waits_ms.append((at - sent).total_seconds() * 1000)
                    timing.jobs += 1

    began = time.perf_counter()
    await asyncio.gather(*(produce(range(number, jobs, clients)) for number in range(clients)))
    timing.seconds = time.perf_counter() - began
    return timing


def _named(operation: str, together: int) -> str:
    return operation if together == 1 else f"{operation} x {together}"
