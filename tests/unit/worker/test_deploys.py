"""A deployment without a gap: real workers and functions, a clock that only the test moves."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

import httpx
import pytest

from ojs_aws.client.transports.connection import HttpConnection
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobState
from ojs_aws.middleware.context import JobContext
from ojs_aws.services.workers.service import Directive, Selection
from ojs_aws.worker import Worker
from ojs_aws.worker.lifecycle import Polls
from ojs_aws.worker.over_http import HttpJobSource
from tests.api import Api
from tests.simulation.world import World
from tests.unit.worker.doubles import StillTimer, settle


class WorldTimer(StillTimer):
    """Moves the backend's clock with its own."""

    def __init__(self, world: World) -> None:
        self._world, self._start, self._now = world, world.clock.at, 0.0
        super().__init__()

    @property
    def now(self) -> float:
        return self._now

    @now.setter
    def now(self, value: float) -> None:
        self._now = value
        self._world.clock.at = self._start + round(value * 1000)


@dataclass
class Fleet:
    """Workers of several versions over one backend; what ran where."""

    world: World = field(default_factory=World)
    ran: list[tuple[str, str]] = field(default_factory=list)
    fetched: Counter[str] = field(default_factory=Counter)
    serving: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    workers: dict[str, Worker] = field(default_factory=dict)
    killed: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.timer = WorldTimer(self.world)
        self.api = Api(self.world.backend)

    def push(self, seconds: int, **more: object) -> str:
        """A job that takes so long."""
        record = self.world.backend.jobs.push(Job("demo.wait", [seconds], **more)).record  # type: ignore[arg-type]
        assert record is not None
        return record.id

    def start(self, name: str, label: str, **more: object) -> None:
        """Start a worker process."""

        def answer(request: httpx.Request) -> httpx.Response:
            if name in self.killed:
                raise httpx.ConnectError("the process is gone")
            if request.url.path.endswith("/fetch"):
                self.fetched[name] += 1
            query = dict(parse_qsl(request.url.query.decode()))
            reply = self.api.send(
                request.method,
                request.url.path,
                request.content,
                query=query,
                headers=dict(request.headers),
            )
            return httpx.Response(reply.status, text=reply.text, headers=dict(reply.headers))

        connection = HttpConnection(
            "http://ojs", timer=self.timer, http_transport=httpx.MockTransport(answer)
        )
        source = HttpJobSource(
            connection,
            name,
            visibility_timeout_ms=20_000,
            heartbeat_interval_ms=5000,
            about={"labels": [label], "queues": ["default"]},
        )
        worker = Worker(
            source=source,
            worker_id=name,
            concurrency=2,
            heartbeat_s=5.0,
            timer=self.timer,
            middleware=[],
            polls=Polls(longest_s=1.0),
            **more,  # type: ignore[arg-type]
        )

        @worker.handler("demo.wait")
        async def wait(ctx: JobContext, seconds: int) -> str:
            self.ran.append((ctx.job.id, name))
            await self.timer.sleep(seconds)
            return name

        self.workers[name] = worker
        self.serving[name] = asyncio.ensure_future(worker.serve())

    async def kill(self, name: str) -> None:
        """End a process so that nothing it would say is heard, and nothing of it goes on."""
        self.killed.add(name)
        del self.serving[name], self.workers[name]
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        while left := [task for task in tasks if not task.done()]:
            for task in left:  # also what they would still do on their way out
                task.cancel()
            await settle()

    def states(self) -> Counter[JobState]:
        """How many jobs are in which state."""
        return Counter(job.state for job in self.world.stored.jobs.values())

    async def advance(self, seconds: int) -> None:
        """Let time pass, a second at a time."""
        for _ in range(seconds):
            await self.timer.advance(1.0)


@asynccontextmanager
async def fleet() -> AsyncIterator[Fleet]:
    """A fleet whose workers all end with the test."""
    made = Fleet()
    try:
        yield made
    finally:
        for worker in made.workers.values():
            worker.lifecycle.terminate("test")
            worker.lifecycle.force("test")
        await settle()
        await asyncio.gather(*made.serving.values())


async def test_wrk_015_a_deployment_loses_no_job_and_runs_none_twice() -> None:
    """Quiet the old, start the new, let the old drain, terminate them."""
    async with fleet() as jobs:
        for name in ("old-1", "old-2"):
            jobs.start(name, "v1")
        ids = [jobs.push(8) for _ in range(6)]
        await jobs.advance(6)
        assert jobs.states()[JobState.ACTIVE] == 4
        jobs.world.backend.workers.service.direct_all(Selection(label="v1"), Directive.QUIET)
        jobs.start("new-1", "v2")
        await jobs.advance(6)
        asked = jobs.fetched["old-1"] + jobs.fetched["old-2"]
        ids += [jobs.push(8) for _ in range(4)]
        await jobs.advance(40)
        assert jobs.fetched["old-1"] + jobs.fetched["old-2"] == asked
        assert jobs.workers["old-1"].active_jobs == jobs.workers["old-2"].active_jobs == 0
        jobs.world.backend.workers.service.direct_all(Selection(label="v1"), Directive.TERMINATE)
        await jobs.advance(6)
        assert jobs.serving["old-1"].done()
        assert jobs.serving["old-2"].done()
        assert not jobs.serving["new-1"].done()
        assert jobs.states() == {JobState.COMPLETED: 10}
        assert Counter(job_id for job_id, _ in jobs.ran) == dict.fromkeys(ids, 1)
        assert {name for job_id, name in jobs.ran if job_id in ids[6:]} == {"new-1"}
        listed = jobs.world.backend.workers.service.list().workers
        assert [worker.id for worker in listed] == ["new-1"]


async def test_gs_005_a_job_longer_than_the_grace_period_is_returned_and_reruns() -> None:
    """Terminated with a job in flight: it is available at once, and no attempt is counted."""
    async with fleet() as jobs:
        jobs.start("old-1", "v1", grace_s=10.0)
        policy = {"max_attempts": 1}
        long, short = jobs.push(40, retry=policy), jobs.push(8)
        await jobs.advance(6)
        jobs.start("new-1", "v2")
        jobs.world.backend.workers.service.direct_all(Selection(label="v1"), Directive.TERMINATE)
        await jobs.advance(60)
        assert jobs.serving["old-1"].done()
        assert jobs.states() == {JobState.COMPLETED: 2}
        assert [name for job_id, name in jobs.ran if job_id == long] == ["old-1", "new-1"]
        assert [name for job_id, name in jobs.ran if job_id == short] == ["old-1"]
        record = jobs.world.stored.jobs[long]
        assert [failure.type for failure in record.failures] == ["ShutdownError"]
        assert (record.attempt, record.counted_attempts) == (2, 1)


async def test_gs_004_a_draining_worker_goes_on_beating() -> None:
    """So that it is not taken for dead: its job lasts longer than three heartbeats."""
    async with fleet() as jobs:
        jobs.start("old-1", "v1", grace_s=60.0)
        job_id = jobs.push(45)
        await jobs.advance(2)
        jobs.workers["old-1"].lifecycle.terminate("SIGTERM")
        jobs.start("new-1", "v2")
        await jobs.advance(50)
        assert jobs.serving["old-1"].done()
        assert jobs.ran == [(job_id, "old-1")]
        assert jobs.world.stored.jobs[job_id].state is JobState.COMPLETED


@pytest.mark.parametrize("dies_at", [0, 3, 7])
async def test_a_killed_worker_loses_its_jobs_within_three_heartbeats(
    dies_at: int,
) -> None:
    """No signal, no last words: the process is gone."""
    async with fleet() as jobs:
        jobs.start("old-1", "v1")
        job_id = jobs.push(30, timeout_s=3600)
        await jobs.advance(1 + dies_at)
        assert jobs.ran == [(job_id, "old-1")]
        await jobs.kill("old-1")
        jobs.start("new-1", "v2")
        await jobs.advance(17)
        assert jobs.ran == [(job_id, "old-1"), (job_id, "new-1")]
        assert jobs.world.stored.jobs[job_id].failures[0].type == "worker_death"
        await jobs.advance(35)
        assert jobs.world.stored.jobs[job_id].state is JobState.COMPLETED
