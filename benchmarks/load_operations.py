"""The operations that the load benchmark times, each against a queue of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
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
    :ivar failed: requests that got no good answer in time; those are sent no second time.
    :ivar waits_ms: milliseconds of each request, or from push to start for ``end to end``.
    """

    operation: str
    clients: int
    jobs: int = 0
    seconds: float = 0.0
    waits_ms: list[float] = field(default_factory=list)
    failed: int = 0

    @property
    def per_second(self) -> float:
        """Jobs a second."""
        return self.jobs / self.seconds if self.seconds else 0.0

    def percentile(self, share: float) -> float:
        """The milliseconds that this share of the requests does not exceed."""
        ordered = sorted(self.waits_ms)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


class NothingLeftError(Exception):
    """There is no job left to do this to."""


Step = Callable[[int], Awaitable[int]]
"""One request of the client with this number; answers how many jobs it dealt with."""


async def timed(operation: str, clients: int, jobs: int, step: Step) -> Timing:
    """Have clients repeat a request side by side until so many jobs went through it."""
    timing = Timing(operation, clients)
    ends = time.perf_counter() + PATIENCE_S

    async def work(number: int) -> None:
        while timing.jobs < jobs and time.perf_counter() < ends:
            began = time.perf_counter()
            try:
                done = await step(number)
            except NothingLeftError:
                return
            except httpx.HTTPError:
                timing.failed += 1
                done = 0
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
        """ACK one job that was fetched.

        :raises NothingLeftError: all are acknowledged.
        """
        if not self.active:
            raise NothingLeftError
        await self.post("workers/ack", {"job_id": self.active.pop()})
        return 1


@dataclass
class Journey:
    """Jobs on their way from push to start, each producer's next ones when those before began.

    :ivar together: jobs of one push, and of one FETCH.
    :ivar ends: when it is given up.
    :ivar unsent: jobs whose push got no good answer.
    """

    load: Load
    timing: Timing
    jobs: int
    together: int
    ends: float = field(default_factory=lambda: time.perf_counter() + PATIENCE_S)
    unsent: int = 0

    @property
    def is_over(self) -> bool:
        """Whether all have begun, or it took too long."""
        is_done = self.timing.jobs + self.unsent >= self.jobs
        return is_done or time.perf_counter() >= self.ends

    def groups(self, producer: int) -> Iterator[Sequence[int]]:
        """The numbers of a producer's jobs, push by push, until it is given up."""
        mine = range(producer, self.jobs, self.timing.clients)
        for begin in range(0, len(mine), self.together):
            if time.perf_counter() >= self.ends:
                return
            yield mine[begin : begin + self.together]

    async def send(self, job_type: str, group: Sequence[int]) -> list[dict[str, Any]]:
        """Push jobs; none where that failed."""
        options = {"queue": self.load.queue}
        batch: list[dict[str, object]] = [
            {"type": job_type, "args": [number], "options": options} for number in group
        ]
        try:
            return await self.load.send(batch)
        except httpx.HTTPError:
            self.timing.failed += 1
            self.unsent += len(group)
            return []

    async def consume(self, worker: str, hold: Callable[[dict[str, Any]], None]) -> None:
        """FETCH once, and acknowledge what came."""
        body = {"queues": [self.load.queue], "count": self.together, "worker_id": worker}
        try:
            found = (await self.load.post("workers/fetch", body))["jobs"]
            for job in found:
                hold(job)
            for job in found:
                await self.load.post("workers/ack", {"job_id": job["id"], "worker_id": worker})
        except httpx.HTTPError:
            self.timing.failed += 1
        else:
            await asyncio.sleep(0 if found else IDLE_S)

    async def wait_for(self, events: Sequence[asyncio.Event]) -> None:
        """Wait until all of these have happened, or it is given up."""
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, self.ends - time.perf_counter())):
                for event in events:
                    await event.wait()

    def began(self, waited_ms: float) -> None:
        """One of them has begun."""
        self.timing.waits_ms.append(waited_ms)
        self.timing.jobs += 1

    async def run(self, *actors: Callable[[int], Awaitable[None]]) -> Timing:
        """Have each do its part once for each client, side by side."""
        began = time.perf_counter()
        clients = range(self.timing.clients)
        await asyncio.gather(*(actor(number) for actor in actors for number in clients))
        self.timing.seconds = time.perf_counter() - began
        return self.timing


async def end_to_end(
    http: httpx.AsyncClient, queue: str, clients: int, jobs: int, together: int = 1
) -> Timing:
    """From the moment a push is sent until a polling worker has the job in its hands.

    :param together: jobs of one push, and of one FETCH.
    """
    timing = Timing(_named("end to end, HTTP worker", together), clients)
    journey = Journey(Load(http, queue), timing, jobs, together)
    sent: dict[int, float] = {}
    held = [asyncio.Event() for _ in range(jobs)]

    async def produce(producer: int) -> None:
        for group in journey.groups(producer):
            sent.update(dict.fromkeys(group, time.perf_counter()))
            if await journey.send("load", group):
                await journey.wait_for([held[number] for number in group])

    def hold(job: dict[str, Any]) -> None:
        number = job["args"][0]
        if not held[number].is_set():  # else its ACK was lost, and it comes again
            journey.began((time.perf_counter() - sent[number]) * 1000)
            held[number].set()

    async def consume(worker: int) -> None:
        while not journey.is_over:
            await journey.consume(f"w{worker}", hold)

    return await journey.run(produce, consume)


async def end_to_end_lambda(
    http: httpx.AsyncClient, clients: int, jobs: int, together: int = 1
) -> Timing:
    """From the moment a push is sent until a Lambda worker has begun with the job.

    The worker is the demo's; its clock is this machine's, or that of AWS for a deployment there.

    :param together: jobs of one push.
    """
    timing = Timing(_named("end to end, Lambda worker", together), clients)
    journey = Journey(Load(http, LAMBDA_QUEUE), timing, jobs, together)

    async def started(job_id: str) -> datetime | None:
        while time.perf_counter() < journey.ends:
            with suppress(httpx.HTTPError):  # it is asked again
                answer = await http.get(f"jobs/{job_id}")
                job = answer.raise_for_status().json()["job"]
                if job["state"] == "completed":
                    return datetime.fromisoformat(job["started_at"])
            await asyncio.sleep(LOOK_S)
        return None

    async def produce(producer: int) -> None:
        for group in journey.groups(producer):
            sent = datetime.now(UTC)
            for job in await journey.send("demo.echo", group):
                if (at := await started(job["id"])) is not None:
                    journey.began((at - sent).total_seconds() * 1000)

    return await journey.run(produce)


def _named(operation: str, together: int) -> str:
    return operation if together == 1 else f"{operation} x {together}"
