"""GET events over the real log: filters, cursors, and what is refused (ojs-events, section 6)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.adapters.dynamodb.jobs.codec import to_item
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.testing.deployment import FakeClock
from ojs_aws.transport.events.stream import build_stream
from tests.api import Api, Reply
from tests.aws import embedded


class Server:
    """The API over a log that holds the lives of four jobs."""

    def __init__(self, aws: Any) -> None:
        self.clock = FakeClock()
        self.backend = build_backend(aws.settings, aws.clients, clock=self.clock, parallel=IN_ORDER)
        self.api = Api(self.backend)
        self.consume = build_stream(self.backend, read_image)
        self.jobs: list[str] = []
        self.number = 0
        for job_type in ("a.b", "a.c"):
            for queue in ("q1", "q2"):
                self.live(job_type, queue)
                self.clock.advance(s=600)

    def live(self, job_type: str, queue: str) -> None:
        """Push, fetch and complete a job, and publish its events."""
        body = {"type": job_type, "args": [], "options": {"queue": queue}}
        job_id = self.api.post("/jobs", body).json["id"]
        self.jobs.append(job_id)
        steps = [None, self.backend.stores.store.load(job_id)]
        self.backend.jobs.fetch(FetchRequest((queue,), worker_id="w"))
        steps.append(self.backend.stores.store.load(job_id))
        self.backend.jobs.ack(job_id, "w", None)
        steps.append(self.backend.stores.store.load(job_id))
        for before, after in itertools.pairwise(steps):
            images = {"OldImage": before, "NewImage": after}
            change = {name: to_item(job, lambda _, __: 0) for name, job in images.items() if job}
            self.number += 1
            self.consume(
                {"Records": [{"dynamodb": {"SequenceNumber": self.number, **change}}]}, None
            )

    def get(self, **query: str) -> Reply:
        """GET events."""
        return self.api.get("/events", query=query)

    def types(self, **query: str) -> list[str]:
        """The types of a page."""
        return [event["type"] for event in self.get(**query).json["events"]]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """The server; tests only read."""
    with embedded() as aws:
        yield Server(aws)


LIFE = ["job.enqueued", "job.started", "job.completed"]


def test_without_a_place_the_newest_events_come_oldest_first(server: Server) -> None:
    """Four lives are twelve events."""
    assert server.types() == LIFE * 4
    assert server.types(limit="2") == LIFE[1:]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"types": "job.completed,job.failed"}, ["job.completed"] * 4),
        ({"types": "job.*"}, LIFE * 4),
        ({"types": "worker.*"}, []),
        ({"queues": "q1,q9"}, LIFE * 2),
        ({"queue": "q2"}, LIFE * 2),
        ({"job_types": "a.b"}, LIFE * 2),
        ({"job_type": "a.c"}, LIFE * 2),
        ({"job_type": "a.c", "queues": "q1", "types": "job.started"}, ["job.started"]),
    ],
)
def test_filters_are_combined(server: Server, query: dict[str, str], expected: list[str]) -> None:
    """AND between parameters, OR within one (section 6.1)."""
    assert server.types(**query) == expected


def test_the_life_of_one_job(server: Server) -> None:
    """By its id."""
    events = server.get(job_id=server.jobs[2]).json["events"]
    assert [event["type"] for event in events] == LIFE
    assert {event["subject"] for event in events} == {server.jobs[2]}


def test_since_takes_what_happened_from_an_instant_on(server: Server) -> None:
    """The third and fourth job were twenty minutes later."""
    third = server.get(job_id=server.jobs[2]).json["events"][0]
    assert server.types(since=third["time"]) == LIFE * 2
    assert server.types(since="2100-01-01T00:00:00Z") == []


@pytest.mark.parametrize("parameter", ["cursor", "after"])
def test_pages_follow_each_other_by_their_cursors(server: Server, parameter: str) -> None:
    """Under both names that documents give it, from the beginning of time on."""
    page = server.get(since="2000-01-01T00:00:00Z", limit="5").json
    seen = page["events"]
    while page["has_more"]:
        page = server.get(**{parameter: page["cursor"], "limit": "5"}).json
        seen += page["events"]
    assert [event["type"] for event in seen] == LIFE * 4
    assert len({event["id"] for event in seen}) == 12
    assert server.get(**{parameter: page["cursor"]}).json["events"] == []


def test_after_takes_the_id_of_the_last_event_seen(server: Server) -> None:
    """Section 6.4."""
    events = server.get().json["events"]
    later = server.get(after=events[8]["id"]).json["events"]
    assert later == events[9:]


@pytest.mark.parametrize("parameter", ["cursor", "after"])
@pytest.mark.parametrize("value", ["nonsense", "WyIxIiwieCJd", "evt_nonsense"])
def test_a_place_that_is_none_is_refused(server: Server, parameter: str, value: str) -> None:
    """400, naming the parameter that was sent."""
    reply = server.get(**{parameter: value})
    assert reply.status == 400
    assert reply.error["details"]["field"] == parameter
    assert f"'{parameter}'" in reply.error["message"] or parameter == "after"
