"""The worker's side of the HTTP binding, section 10."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from ojs_aws.domain.errors import BackendError, ConflictError
from ojs_aws.domain.json_text import RawJson
from ojs_aws.transport.http.routes import find
from ojs_aws.worker.over_http import HttpJobSource, about_worker
from ojs_aws.worker.reservations import HeartbeatReply
from tests.unit.client.doubles import JOB_ID, FakeServer, answer, error


def source(server: FakeServer, **given: Any) -> HttpJobSource:
    return HttpJobSource(server.connection(), "worker_1", **given)


async def test_fetch_sends_the_terms_and_reads_the_jobs() -> None:
    """Queues in order, count, worker id, and the reservation length."""
    server = FakeServer()
    server.script = [answer(200, {"jobs": [{"id": JOB_ID, "type": "a.b", "args": [1.5]}]})]
    (job,) = await source(server, visibility_timeout_ms=60_000).fetch(["high", "low"], 3)
    assert (job.id, job.args) == (JOB_ID, [1.5])
    assert server.requests[0].url.path == "/ojs/v1/workers/fetch"
    assert server.bodies()[0] == {
        "queues": ["high", "low"],
        "count": 3,
        "worker_id": "worker_1",
        "visibility_timeout_ms": 60_000,
    }


async def test_a_fetch_whose_answer_is_lost_is_not_repeated() -> None:
    """Its claims come back by themselves; the next poll is a new request."""
    server = FakeServer()
    server.script = [httpx.ReadTimeout("lost")]
    with pytest.raises(BackendError):
        await source(server).fetch(["q"], 1)
    assert len(server.requests) == 1


async def test_ack_and_fail_name_the_worker() -> None:
    """So that only the holder's word counts; the result is sent as it is."""
    server = FakeServer()
    server.script = [answer(200, {"state": "completed"}), answer(200, {"state": "retryable"})]
    held = source(server)
    await held.ack(JOB_ID, RawJson('{"n":1.50}'))
    await held.fail(JOB_ID, {"type": "E", "message": "m"})
    assert [request.url.path for request in server.requests] == [
        "/ojs/v1/workers/ack",
        "/ojs/v1/workers/nack",
    ]
    assert b'"result":{"n":1.50}' in server.requests[0].content
    assert all(body["worker_id"] == "worker_1" for body in server.bodies())
    assert server.bodies()[1]["error"] == {"type": "E", "message": "m"}


@pytest.mark.parametrize(("verb", "state"), [("ack", "completed"), ("fail", "retryable")])
async def test_a_report_whose_answer_was_lost_is_a_success(verb: str, state: str) -> None:
    """The resend is refused because the first send counted."""
    server = FakeServer()
    taken = error(409, "conflict", details={"current_state": state})
    server.script = [httpx.ReadTimeout("lost"), taken]
    held = source(server)
    await (held.ack(JOB_ID, None) if verb == "ack" else held.fail(JOB_ID, {"message": "m"}))


async def test_a_refused_report_raises() -> None:
    """The job is somebody else's."""
    server = FakeServer()
    server.script = [error(409, "conflict", details={"current_state": "active"})]
    with pytest.raises(ConflictError):
        await source(server).ack(JOB_ID, None)


async def test_a_heartbeat_returns_the_state_and_the_cancelled_jobs() -> None:
    """State and active jobs out; directive, cancelled and lost jobs back."""
    server = FakeServer()
    directives = {"state": "quiet", "jobs_extended": [], "cancelled": ["c"], "lost": ["l"]}
    server.script = [answer(200, directives)]
    reply = await source(server, about={"queues": ["q"]}).heartbeat(["c", "l"], "running")
    assert reply == HeartbeatReply("quiet", frozenset("c"), frozenset("l"))
    (body,) = server.bodies()
    assert body["active_jobs"] == body["active_job_ids"] == ["c", "l"]
    assert (body["worker_id"], body["state"], body["queues"]) == ("worker_1", "running", ["q"])
    assert body["pid"] > 0


async def test_the_promise_to_beat_goes_with_fetch_and_heartbeat() -> None:
    """So that the backend finds this worker dead from its first job on."""
    server = FakeServer()
    server.script = [answer(200, {"jobs": []}), answer(200, {"state": "running"})]
    held = source(server, heartbeat_interval_ms=5000)
    await held.fetch(["q"], 1)
    await held.heartbeat([], "running")
    assert [body["heartbeat_interval_ms"] for body in server.bodies()] == [5000, 5000]


async def test_a_worker_names_its_pool_with_fetch_and_heartbeat() -> None:
    """FETCH gets the queues of the pool, and operators see who belongs to it."""
    server = FakeServer()
    server.script = [answer(200, {"jobs": []}), answer(200, {"state": "running"})]
    held = source(server, about=about_worker(["q"], 1, (), "general"))
    await held.fetch(["q"], 1)
    await held.heartbeat([], "running")
    assert [body["pool"] for body in server.bodies()] == ["general", "general"]
    assert "pool" not in about_worker(["q"], 1, ())


async def test_a_heartbeat_for_jobs_that_are_all_gone_loses_them() -> None:
    """The directive counts beside them. A server of 0.1 answers 409 and gives none."""
    server = FakeServer()
    directives = {"state": "quiet", "jobs_lost": ["l"]}
    server.script = [answer(200, directives), error(409, "conflict", details={"lost": ["l"]})]
    replies = [await source(server).heartbeat(["l"], "quiet") for _ in range(2)]
    assert replies == [HeartbeatReply("quiet", lost=frozenset("l"))] * 2


async def test_every_report_carries_the_reservation_id() -> None:
    """So that one which is repeated late ends no later attempt."""
    server = FakeServer()
    server.script = [answer(200, {"state": "running"})] * 5
    held = source(server)
    await held.ack(JOB_ID, None, reservation_id="r1")
    await held.fail(JOB_ID, {"message": "m"}, reservation_id="r1")
    await held.progress(JOB_ID, {"progress": 0.5}, reservation_id="r1")
    await held.checkpoint(JOB_ID, RawJson("1"), reservation_id="r1")
    await held.heartbeat([JOB_ID], "running", reservation_ids={JOB_ID: "r1"})
    *reports, beat = server.bodies()
    assert [body["reservation_id"] for body in reports] == ["r1"] * 4
    assert beat["reservation_ids"] == {JOB_ID: "r1"}


async def test_nothing_is_said_of_a_reservation_without_an_id() -> None:
    """Of other servers."""
    server = FakeServer()
    server.script = [answer(200, {"state": "running"})] * 2
    held = source(server)
    await held.ack(JOB_ID, None)
    await held.heartbeat([JOB_ID], "running")
    assert all("reservation_id" not in body for body in server.bodies())
    assert "reservation_ids" not in server.bodies()[1]


async def test_it_asks_for_the_operations_of_workers() -> None:
    """By the paths that the route table declares."""
    server = FakeServer()
    server.script = [answer(200, {"jobs": []}), *(answer(200, {"state": "running"}),) * 6]
    held = source(server)
    await held.fetch(["q"], 1)
    await held.ack(JOB_ID, None)
    await held.fail(JOB_ID, {"type": "E"})
    await held.requeue(JOB_ID, {"type": "E"}, delay_ms=1000)
    await held.progress(JOB_ID, {"progress": 0.5})
    await held.checkpoint(JOB_ID, RawJson("{}"))
    await held.heartbeat([JOB_ID], "running")
    asked = [find(request.method, request.url.path) for request in server.requests]
    assert [route and route.operation for route in asked] == [
        "fetch",
        "ack",
        "fail",
        "fail",
        "report_progress",
        "save_checkpoint",
        "heartbeat",
    ]
