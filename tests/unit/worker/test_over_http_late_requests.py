"""Requests that the network delivers once more, when the same worker has the job again."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from ojs_aws.client.transports.connection import HttpConnection
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.json_text import RawJson
from ojs_aws.worker.over_http import HttpJobSource
from tests.api import Api
from tests.simulation.world import World
from tests.unit.worker.doubles import StillTimer

BROKEN = {"type": "Broken", "message": "it broke"}
FATAL = {"type": "Fatal", "message": "for ever", "retryable": False}


class Network:
    """Keeps the requests of one worker, so that they can be delivered again."""

    def __init__(self, world: World) -> None:
        self.api = Api(world.backend)
        self.sent: list[httpx.Request] = []

    def deliver(self, request: httpx.Request) -> httpx.Response:
        """Deliver a request."""
        self.sent.append(request)
        reply = self.api.send(
            request.method, request.url.path, request.content, headers=dict(request.headers)
        )
        return httpx.Response(reply.status, text=reply.text, headers=dict(reply.headers))

    def source(self) -> HttpJobSource:
        """The worker's side."""
        transport = httpx.MockTransport(self.deliver)
        connection = HttpConnection("http://ojs", timer=StillTimer(), http_transport=transport)
        return HttpJobSource(connection, "w1")


def retried(world: World, job: Job) -> None:
    """The backoff is over."""
    assert world.stored.jobs[job.id].state == "retryable"
    world.clock.advance(s=60)


def given_back(world: World, job: Job) -> None:
    """It is available already."""
    assert world.stored.jobs[job.id].state == "available"


def retried_by_an_operator(world: World, job: Job) -> None:
    """Attempts are counted from 0 again."""
    world.backend.dead_letters.service.retry(job.id)


@pytest.mark.parametrize("then", [retried, given_back, retried_by_an_operator])
async def test_a_request_that_comes_again_ends_no_later_attempt(
    then: Callable[[World, Job], None],
) -> None:
    """Everything that our worker sent for its first claim, delivered again during its second."""
    world = World()
    network = Network(world)
    held = network.source()
    world.backend.jobs.push(
        Job("a.b", [], retry={"max_attempts": 3, "on_exhaustion": "dead_letter"})
    )
    (first,) = await held.fetch(["default"], 1)
    mine = str(first["reservation_id"])
    network.sent.clear()
    await held.progress(first.id, {"progress": 0.5}, reservation_id=mine)
    await held.checkpoint(first.id, RawJson("1"), reservation_id=mine)
    await held.heartbeat([first.id], "running", reservation_ids={first.id: mine})
    if then is given_back:
        await held.requeue(first.id, {**BROKEN}, reservation_id=mine)
    else:
        error = FATAL if then is retried_by_an_operator else BROKEN
        await held.fail(first.id, {**error}, reservation_id=mine)  # type: ignore[dict-item]
    then(world, first)
    (second,) = await held.fetch(["default"], 1)
    assert second.id == first.id
    before = world.stored.jobs[first.id]
    for request in [each for each in network.sent if not each.url.path.endswith("/fetch")]:
        network.deliver(request)
        assert world.stored.jobs[first.id] == before
    await held.ack(second.id, None, reservation_id=str(second["reservation_id"]))
    assert world.stored.jobs[first.id].state == "completed"
