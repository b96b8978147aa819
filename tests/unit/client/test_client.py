"""Looking after jobs: get, cancel, activate, wait."""

from __future__ import annotations

from datetime import timedelta

import httpx
import pytest

from ojs_aws.client import JobCancelledError, JobFailedError, WaitTimeoutError
from ojs_aws.domain.errors import ConflictError, InvalidRequestError, NotFoundError
from tests.unit.client.doubles import JOB_ID, FakeServer, FakeTimer, answer, answered_job, error


async def test_get_keeps_the_job_s_own_text() -> None:
    """Integers of any size, floats and escapes come back as they were stored."""
    server = FakeServer()
    server.script = [answer(200, '{"job":{"id":"x","args":[1.50,12345678901234567890123]},"id":1}')]
    got = await server.client().get("x")
    assert got.members()["args"] == "[1.50,12345678901234567890123]"
    assert server.requests[0].url.path == "/ojs/v1/jobs/x"


async def test_a_list_keeps_the_jobs_own_text() -> None:
    """As a single answer does."""
    server = FakeServer()
    server.script = [answer(200, '{"jobs": [ {"id":"x", "args": [1.50, "\\u00e9"]}, 1 ]}')]
    (dead,) = (await server.client().dead_letter.list()).jobs
    assert dead.members()["args"] == '[1.50, "\\u00e9"]'


async def test_an_id_cannot_leave_its_place_in_the_path() -> None:
    """Whatever the caller passes stays one segment."""
    server = FakeServer()
    server.script = [error(404, "not_found")]
    with pytest.raises(NotFoundError):
        await server.client().get("../queues?x=1")
    assert server.requests[0].url.raw_path == b"/ojs/v1/jobs/..%2Fqueues%3Fx%3D1"


async def test_cancel_treats_a_cancelled_job_as_success() -> None:
    """The job is as the caller wants it."""
    server = FakeServer()
    server.script = [
        error(409, "conflict", details={"current_state": "cancelled"}),
        answered_job("cancelled"),
    ]
    assert (await server.client().cancel(JOB_ID)).state == "cancelled"


async def test_cancel_raises_for_a_job_that_has_ended_otherwise() -> None:
    """It cannot be undone."""
    server = FakeServer()
    server.script = [error(409, "conflict", details={"current_state": "completed"})]
    with pytest.raises(ConflictError):
        await server.client().cancel(JOB_ID)


async def test_an_activation_whose_answer_was_lost_is_a_success() -> None:
    """The second send finds the job activated."""
    server = FakeServer()
    server.script = [
        httpx.ReadTimeout("lost"),
        error(409, "conflict", details={"current_state": "available"}),
        answered_job("available"),
    ]
    assert (await server.client().activate(JOB_ID)).state == "available"


async def test_activating_a_job_that_is_not_pending_raises() -> None:
    """A conflict at the first send is the caller's."""
    server = FakeServer()
    server.script = [error(409, "conflict", details={"current_state": "active"})]
    with pytest.raises(ConflictError):
        await server.client().activate(JOB_ID)


async def test_wait_returns_the_result() -> None:
    """As soon as a look finds the job completed; the looks get rarer."""
    server, timer = FakeServer(), FakeTimer()
    server.script = [
        answered_job("available"),
        answered_job("active"),
        answered_job("completed", result={"n": 1}),
    ]
    assert await server.client(timer=timer).wait(JOB_ID, poll_s=1.0) == {"n": 1}
    assert timer.slept == [1.0, 1.5]


async def test_wait_raises_the_job_s_failure() -> None:
    """With the structured error."""
    server = FakeServer()
    server.script = [answered_job("discarded", error={"type": "ValueError", "message": "no"})]
    with pytest.raises(JobFailedError, match="ValueError: no") as raised:
        await server.client().wait(JOB_ID)
    assert raised.value.error["type"] == "ValueError"
    assert raised.value.job.id == JOB_ID


async def test_wait_raises_another_error_for_a_cancelled_job() -> None:
    """It is a failure of its own kind."""
    server = FakeServer()
    server.script = [answered_job("cancelled")]
    with pytest.raises(JobCancelledError):
        await server.client().wait(JOB_ID)


async def test_wait_gives_up_in_time() -> None:
    """It looks once more at the very end, and is a TimeoutError."""
    server, timer = FakeServer(), FakeTimer()
    server.script = [answered_job("retryable") for _ in range(20)]
    with pytest.raises(WaitTimeoutError, match="still retryable after 3 s") as raised:
        await server.client(timer=timer).wait(JOB_ID, timeout_s=3.0, poll_s=1.0)
    assert sum(timer.slept) == pytest.approx(3.0)
    assert isinstance(raised.value, TimeoutError)
    assert str(raised.value).endswith(f"of waiting. To see why: ojs-aws why {JOB_ID}")


@pytest.mark.parametrize("span", ["3s", "PT3S", timedelta(seconds=3)])
@pytest.mark.parametrize("how", ["result", "wait", "handle"])
async def test_a_wait_may_be_a_duration(span: str | timedelta, how: str) -> None:
    """As typed jobs have it; it takes the place of ``timeout_s``."""
    server, timer = FakeServer(), FakeTimer()
    server.script = [answered_job("retryable") for _ in range(20)]
    client = server.client(timer=timer)
    calls = {
        "result": lambda: client.result(JOB_ID, timeout=span),
        "wait": lambda: client.wait(JOB_ID, timeout=span),
        "handle": lambda: client.job(JOB_ID).result(timeout=span),
    }
    with pytest.raises(WaitTimeoutError, match="after 3 s"):
        await calls[how]()
    assert sum(timer.slept) == pytest.approx(3.0)


async def test_a_number_is_no_duration_of_a_wait() -> None:
    """It has no unit; ``timeout_s`` takes it."""
    with pytest.raises(InvalidRequestError, match='needs a unit: "3s"'):
        await FakeServer().client().result(JOB_ID, timeout=3)  # type: ignore[arg-type]
