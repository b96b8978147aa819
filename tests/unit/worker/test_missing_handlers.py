"""A job of an unknown type waits for another worker, for a limited time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ojs_aws import Client, Job, LambdaWorker, RetryPolicy, Worker
from ojs_aws.client.transports.in_process import InProcessTransport
from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.worker.base import BaseWorker
from ojs_aws.worker.executor import Failed, Snoozed
from ojs_aws.worker.reservations import WorkerContext
from tests.simulation.world import World
from tests.unit.typed_jobs.conftest import Shop, stays

TYPE = "report.new"


@pytest.fixture
def shop(world: World) -> Iterator[Shop]:
    """A backend over the model, and a client of it."""
    client = Client(transport=InProcessTransport(world.backend), middleware=[])
    with client.use():
        yield Shop(world, client)


def old_worker(**given: float) -> BaseWorker:
    """A worker of the version before."""
    worker = BaseWorker(middleware=[], **given)  # type: ignore[arg-type]
    worker.handler("report.old")(lambda ctx: None)
    return worker


async def outcome(snoozed: int = 0, **given: float) -> Failed | Snoozed:
    """What an old worker makes of a new job that was snoozed so often."""
    job = Job(TYPE, [], custom_attributes={"x_aws_uncounted_attempts": snoozed})
    found = await old_worker(**given).freeze().execute(WorkerContext(job, extend=stays))
    assert isinstance(found, Failed | Snoozed)
    return found


async def test_an_unknown_type_waits_for_a_worker_that_knows_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The reason says so, and so does the log."""
    found = await outcome()
    assert isinstance(found, Snoozed)
    message = str(found.error["message"])
    assert TYPE in message
    assert message.endswith("The job waits up to 1h for a worker that has its handler.")
    assert (found.error["type"], found.delay_ms) == ("NoHandlerRegistered", 15_000)
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        ("WARNING", message)
    ]


async def test_an_unknown_type_is_discarded_after_an_hour() -> None:
    """The delays double up to five minutes: sixteen in an hour, which is what waiting costs."""
    waited, delays = 0, list[int]()
    while isinstance(found := await outcome(len(delays)), Snoozed):
        delays.append(found.delay_ms // 1000)
        waited += delays[-1]
    assert delays == [15, 30, 60, 120, 240, *[300] * 11]
    assert waited == 3765
    assert (found.error["type"], found.error["retryable"]) == ("NoHandlerRegistered", False)
    assert "The job is discarded. Deploy a worker" in str(found.error["message"])


@pytest.mark.parametrize(("wait_s", "delays"), [(0, 0), (15, 1), (16, 2), (45.5, 3)])
async def test_the_wait_for_a_handler_can_be_set(wait_s: float, delays: int) -> None:
    """0 discards at once, as workers did before."""
    kinds = [
        isinstance(await outcome(snoozed, missing_handler_wait_s=wait_s), Snoozed)
        for snoozed in range(delays + 1)
    ]
    assert kinds == [True] * delays + [False]


def test_every_kind_of_worker_has_the_setting() -> None:
    """And refuses what is no time."""
    jobs = Jobs()
    for kind in (Worker, LambdaWorker):
        assert kind(jobs).freeze().missing_handler_wait_s == 3600
        assert kind(jobs, missing_handler_wait_s=0).freeze().missing_handler_wait_s == 0
        with pytest.raises(ValueError, match="missing_handler_wait_s"):
            kind(jobs, missing_handler_wait_s=-1)


async def test_why_says_that_a_job_waits_for_a_worker_that_knows_it(shop: Shop) -> None:
    """Its only attempt does not count. The worker that knows it completes it."""
    old, new = Jobs(), Jobs()
    old.job("report.old")(nothing)
    report = new.job(TYPE, retry=RetryPolicy(max_attempts=1))(nothing)
    sent = await report.enqueue()
    await shop.work(old)
    job = await shop.client.get(sent.id)
    assert (job.state, job["x_aws_uncounted_attempts"]) == ("retryable", 1)
    reason = shop.world.backend.jobs.why(sent.id).reasons[0]
    assert "The job waits up to 1h for a worker that has its handler." in reason.message
    shop.world.clock.advance(s=15)
    await shop.work(new)
    assert (await shop.client.get(sent.id)).state == "completed"


def nothing() -> None:
    """A job's function."""
