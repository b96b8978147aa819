"""Results, progress and checkpoints in the client, over HTTP and straight to the table."""

from __future__ import annotations

import httpx
import pytest

from ojs_aws.client import Client, JobCancelledError, JobFailedError, SyncClient, WaitTimeoutError
from ojs_aws.client.transports.in_process import InProcessTransport
from ojs_aws.domain.errors import (
    BackendUnavailableError,
    InvalidRequestError,
    NotFoundError,
    ResultPrunedError,
)
from ojs_aws.domain.json_text import RawJson, parse_object
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.job_steps import active
from tests.simulation.world import World
from tests.unit.client.doubles import JOB_ID, UNKNOWN, FakeServer, FakeTimer, answer, error


async def test_the_result_of_a_completed_job(client: Client, world: World) -> None:
    """By the client, and by a handle."""
    job_id = active(world.backend).id
    world.backend.jobs.ack(job_id, "w", RawJson('{"n": [1.5, null]}'))
    assert await client.result(job_id) == {"n": [1.5, None]}
    assert await client.wait(job_id) == {"n": [1.5, None]}
    assert await client.job(job_id).result() == {"n": [1.5, None]}
    assert (await client.job(job_id).get()).state == "completed"


async def test_it_is_waited_for(client: Client, world: World, timer: FakeTimer) -> None:
    """With pauses that grow, until the job is over."""
    enqueued = await client.enqueue("report.make", [1], result_ttl_s=60)
    handle = client.job(enqueued)
    slept, sleep = timer.slept, timer.sleep

    async def work(seconds: float) -> None:
        await sleep(seconds)
        if len(slept) == 3:
            (job,) = world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
            world.backend.jobs.ack(job.id, "w", RawJson("7"))

    timer.sleep = work  # type: ignore[method-assign]
    assert await handle.result(poll_s=1.0) == 7
    assert slept == [1.0, 1.5, 2.25]


async def test_the_exception_says_how_a_job_ended(client: Client, world: World) -> None:
    """Each kind has its own; the failure carries its error."""
    failed, cancelled, waits = (
        active(world.backend, retry={"max_attempts": 1}).id for _ in range(3)
    )
    world.backend.jobs.fail(
        failed, "w", parse_object('{"type": "Declined", "message": "no funds"}')
    )
    world.backend.jobs.cancel(cancelled)
    with pytest.raises(JobFailedError, match=r"demo\.echo.*discarded: Declined: no funds"):
        await client.result(failed)
    with pytest.raises(JobCancelledError):
        await client.result(cancelled)
    with pytest.raises(WaitTimeoutError, match="still active after 3 s"):
        await client.result(waits, timeout_s=3)
    with pytest.raises(NotFoundError):
        await client.result(UNKNOWN)


@pytest.mark.parametrize(("timeout_s", "sends"), [(0, 1), (0.7, 3), (None, 5)])
async def test_nothing_is_sent_again_once_the_wait_is_over(
    timeout_s: float | None, sends: int
) -> None:
    """A server that is down does not hold up who waits for a moment only."""
    server = FakeServer()
    server.script = [error(503, "x") for _ in range(9)]
    with pytest.raises(BackendUnavailableError):
        await server.client().result(JOB_ID, timeout_s=timeout_s)
    assert len(server.requests) == sends


async def test_in_process_a_timeout_knows_the_whole_job(world: World, timer: FakeTimer) -> None:
    """There nothing waits, so that the job itself is read."""
    client = Client(transport=InProcessTransport(world.backend), middleware=[], timer=timer)
    job_id = active(world.backend).id
    with pytest.raises(WaitTimeoutError) as late:
        await client.result(job_id, timeout_s=1)
    assert (late.value.job.type, late.value.job.attempt) == ("demo.echo", 1)


async def test_a_pruned_result_is_an_error_of_its_own(client: Client, world: World) -> None:
    """It will not come back, however long one waits."""
    job_id = active(world.backend, result_ttl=60).id
    world.backend.jobs.ack(job_id, "w", RawJson("1"))
    world.clock.advance(s=61)
    with pytest.raises(ResultPrunedError):
        await client.result(job_id)


async def test_outcomes_of_several_jobs(client: Client, world: World) -> None:
    """As of now; None for what does not exist."""
    done, waits = active(world.backend).id, active(world.backend).id
    world.backend.jobs.ack(done, "w", RawJson("[1]"))
    found = await client.results([done, waits, UNKNOWN])
    assert found[UNKNOWN] is None
    first, second = found[done], found[waits]
    assert first is not None
    assert (first.state, first.result, first.is_over) == ("completed", [1], True)
    assert second is not None
    assert (second.state, second.result, second.is_over) == ("active", None, False)
    with pytest.raises(InvalidRequestError):
        await client.results([])


async def test_progress_and_checkpoints_are_read(client: Client, world: World) -> None:
    """What the worker said last; nothing where it said nothing."""
    from ojs_aws.domain.jobs.progress import read_report

    job_id = active(world.backend).id
    none = await client.progress(job_id)
    assert (none.state, none.fraction, none.data, none.updated_at) == ("active", None, None, None)
    assert await client.checkpoint(job_id) is None
    report = read_report(parse_object('{"progress": 0.5, "data": {"row": 5}, "message": "half"}'))
    world.backend.outcomes.progress(job_id, "w", report, RawJson('{"row": 5}'))
    reported = await client.job(job_id).progress()
    assert (reported.fraction, reported.data, reported.message) == (0.5, {"row": 5}, "half")
    saved = await client.checkpoint(job_id)
    assert saved is not None
    assert (saved.state, saved.sequence) == ({"row": 5}, 1)
    for _ in range(2):
        await client.clear_checkpoint(job_id)
    assert await client.checkpoint(job_id) is None
    for ask in (client.progress, client.checkpoint):
        with pytest.raises(NotFoundError):
            await ask(UNKNOWN)


def test_the_synchronous_client_has_the_same(world: World) -> None:
    """With a handle of its own."""
    with SyncClient.direct(backend=world.backend, middleware=()) as client:
        handle = client.job(client.enqueue("report.make", [1]))
        (job,) = world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
        assert handle.id == job.id
        assert handle.progress().fraction is None
        world.backend.jobs.ack(job.id, "w", RawJson("7"))
        assert handle.result() == client.result(job.id) == 7
        assert client.results([job.id])[job.id] is not None


async def test_a_server_that_waits_is_not_asked_more_often(timer: FakeTimer) -> None:
    """Its waiting counts as ours; it is never asked to wait longer than half our own timeout."""
    server = FakeServer()

    def waited() -> httpx.Response:
        timer.now += 7.5
        return error(408, "x_result_pending", details={"current_state": "active"})

    done = answer(200, {"state": "completed", "result": 1, "job_id": JOB_ID})
    server.script = [waited, waited, done]
    client = server.client(timer=timer)
    assert await client.result(JOB_ID, timeout_s=60) == 1
    assert timer.slept == []
    asked = [dict(request.url.params) for request in server.requests]
    assert asked == [{"wait": "true", "timeout": "7"}] * 3


async def test_a_server_without_the_request_is_asked_for_the_job() -> None:
    """Other backends of the specification."""
    server = FakeServer()
    done = answer(200, {"job": {"id": JOB_ID, "type": "a.b", "state": "completed", "result": 5}})
    server.script = [error(404, "not_found"), done]
    assert await server.client().result(JOB_ID) == 5
