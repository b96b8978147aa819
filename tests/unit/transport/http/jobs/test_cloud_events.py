"""A CloudEvent as the body of PUSH makes a job, once (ojs-cloudevents-interop, 6, 8.4 and 9.2)."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.domain.errors import InvalidPayloadError, InvalidRequestError
from ojs_aws.domain.job import JobState
from ojs_aws.transport.http.calls import Request
from ojs_aws.transport.http.jobs.cloud_events import push_of
from ojs_aws.transport.http.route import BASE
from tests.api import Api, Reply
from tests.simulation.world import World

EVENT = {
    "specversion": "1.0",
    "id": "evt_stripe_abc123",
    "type": "com.stripe.charge.succeeded",
    "source": "https://api.stripe.com/v1",
    "time": "2026-02-15T14:22:00.000Z",
    "subject": "ch_3abc123",
    "datacontenttype": "application/json",
    "data": {"amount": 12345678901234567890123, "currency": "usd"},
}
CLOUD_EVENT = {"content-type": "application/cloudevents+json; charset=utf-8"}


@pytest.fixture
def world() -> World:
    return World()


def pushed(world: World, headers: dict[str, str] = CLOUD_EVENT, **changed: Any) -> Reply:
    """Push an event; a member that is changed to None is left out."""
    event = {name: value for name, value in (EVENT | changed).items() if value is not None}
    return Api(world.backend).post("/jobs", event, headers=headers)


def test_ce_014_an_event_makes_a_job_of_its_type_and_data(world: World) -> None:
    """With where it came from as metadata."""
    answer = pushed(world)
    assert answer.status == 201
    job = world.backend.jobs.info(answer.json["id"])
    assert (job.type, job.queue, job.state) == (EVENT["type"], "default", JobState.AVAILABLE)
    shown = Api(world.backend).get(f"/jobs/{job.id}").json["job"]
    assert shown["args"] == [EVENT["data"]]
    assert shown["meta"] == {
        "trigger_event_id": EVENT["id"],
        "trigger_source": EVENT["source"],
        "trigger_subject": EVENT["subject"],
        "trigger_time": EVENT["time"],
    }


def test_8_4_an_event_that_comes_twice_makes_one_job(world: World) -> None:
    """By its source and id; another source has another job, and another body is a conflict."""
    first, again = pushed(world), pushed(world)
    assert (first.status, again.status) == (201, 200)
    assert first.json["id"] == again.json["id"]
    assert pushed(world, source="https://other.example").json["id"] != first.json["id"]
    assert pushed(world, id="evt_other").json["id"] != first.json["id"]
    assert pushed(world, data={"amount": 1}).status == 409


def test_6_2_the_prefix_of_triggers_is_no_part_of_the_type(world: World) -> None:
    """And an extension attribute names the queue."""
    answer = pushed(world, type="org.openjobspec.trigger.email.send", ojsqueue="email")
    job = world.backend.jobs.info(answer.json["id"])
    assert (job.type, job.queue) == ("email.send", "email")


@pytest.mark.parametrize(
    "changed",
    [
        {"specversion": None},
        {"id": None},
        {"source": None},
        {"type": None},
        {"type": "Not A Type"},
        {"time": "yesterday"},
        {"ojsqueue": 7},
        {"ojsqueue": "No Queue"},
    ],
)
def test_what_makes_no_job_is_refused(world: World, changed: dict[str, Any]) -> None:
    """And nothing is stored."""
    assert pushed(world, **changed).status in {400, 422}
    assert world.stored.jobs == {}


def test_another_operation_takes_no_events(world: World) -> None:
    """Nor does PUSH take a batch of them."""
    api = Api(world.backend)
    assert api.post("/jobs/batch", EVENT, headers=CLOUD_EVENT).status == 400
    assert api.post("/workers/fetch", EVENT, headers=CLOUD_EVENT).status == 400
    batch = {"content-type": "application/cloudevents-batch+json"}
    assert pushed(world, headers=batch).status == 400


@pytest.mark.parametrize("body", [b"{", b"[]", b"7", b"\xff"])
def test_a_body_that_is_no_object_is_refused(world: World, body: bytes) -> None:
    """Saying what is wrong with it."""
    request = Request(
        method="POST", path=f"{BASE}/jobs", headers=CLOUD_EVENT, query={}, body=body, id="req_1"
    )
    with pytest.raises((InvalidPayloadError, InvalidRequestError)):
        push_of(request)
    assert world.stored.jobs == {}


def test_an_event_without_its_type_of_content_is_a_job_like_any_other(world: World) -> None:
    """Its id is then no job's."""
    assert pushed(world, headers={}).status == 400
