"""Give each test a backend over the model, and the client that typed jobs are sent by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from ojs_aws import Client
from ojs_aws.client.transports.in_process import InProcessTransport
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.json_text import RawJson, encode, parse_object
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.render import render_job
from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.worker.base import BaseWorker
from ojs_aws.worker.executor import Failed, Outcome, Snoozed, Succeeded
from ojs_aws.worker.reservations import WorkerContext
from tests.simulation.world import World


async def stays(_: str) -> bool:
    """Keep the reservation."""
    return True


async def execute(jobs: Jobs, job: Job) -> Outcome:
    """Execute a job as a worker with these typed jobs does."""
    executor = BaseWorker(jobs=jobs, middleware=[]).freeze()
    return await executor.execute(WorkerContext(job, extend=stays))


def error_of(outcome: Outcome) -> dict[str, object]:
    """Return the error object of a failure."""
    assert isinstance(outcome, Failed)
    return {**outcome.error}


@dataclass
class Shop:
    """Runs what is sent to a backend over the model."""

    world: World
    client: Client

    async def work(self, jobs: Jobs, queue: str = "default") -> list[Outcome]:
        """Fetch and execute all jobs of a queue, and report how each ended."""
        claimed = self.world.backend.jobs.fetch(FetchRequest((queue,), count=10))
        return [await self._run(jobs, Job.from_members(render_job(each))) for each in claimed]

    async def _run(self, jobs: Jobs, job: Job) -> Outcome:
        outcome = await execute(jobs, job)
        if isinstance(outcome, Snoozed):
            error, delay_ms = parse_object(encode({**outcome.error})), outcome.delay_ms
            self.world.backend.jobs.fail.requeue(job.id, None, error, delay_ms=delay_ms)
        elif isinstance(outcome, Succeeded):
            self.world.backend.jobs.ack(job.id, None, RawJson(outcome.result or "null"))
        else:
            self.world.backend.jobs.fail(job.id, None, parse_object(encode({**outcome.error})))
        return outcome


@pytest.fixture
def shop(world: World) -> Iterator[Shop]:
    """Make a client of it, and send typed jobs by this one."""
    client = Client(transport=InProcessTransport(world.backend), middleware=[])
    with client.use():
        yield Shop(world, client)
