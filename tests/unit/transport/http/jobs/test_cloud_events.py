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
BATCH = {"content-type": "Application/CloudEvents-Batch+JSON"}
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
    """Nor does PUSH take a batch of them, or a bulk enqueue one; the hint says where they go."""
    api = Api(world.backend)
    assert api.post("/jobs/batch", EVENT, headers=CLOUD_EVENT).status == 400
    assert api.post("/workers/fetch", EVENT, headers=CLOUD_EVENT).status == 400
    for answer in (
        pushed(world, headers=BATCH),
        api.post("/jobs/bulk", EVENT, headers=CLOUD_EVENT),
    ):
        assert answer.status == 400
        assert "/jobs/bulk as application/cloudevents-batch+json" in answer.error["hint"]


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


def test_data_in_base64_is_the_argument(world: World) -> None:
    """As the JSON format of events has data that is no text."""
    answer = pushed(world, data=None, data_base64="AAECAw==")
    assert arguments(world, answer) == ["AAECAw=="]


# ------------------------------------------------------------------------------ binary mode

HEADERS = {
    f"ce-{name}": str(EVENT[name])
    for name in ("specversion", "id", "type", "source", "time", "subject")
}


def arguments(world: World, answer: Reply) -> object:
    """Return the arguments of the job that was pushed."""
    assert answer.status == 201, answer.text
    return Api(world.backend).get(f"/jobs/{answer.json['id']}").json["job"]["args"]


def sent(world: World, body: object, content_type: str = "application/json", **more: str) -> Reply:
    """Push an event in binary mode; ``ce_type=""`` leaves that header out."""
    named = {name.replace("_", "-"): value for name, value in more.items()}
    headers = {**HEADERS, "content-type": content_type, **named}
    kept = {name: value for name, value in headers.items() if value or name == "content-type"}
    return Api(world.backend).post("/jobs", body, headers=kept)


def test_ce_015_the_headers_of_an_event_make_a_job_of_its_body(world: World) -> None:
    """The same job as the event in JSON makes, so that either finds the other's."""
    answer = sent(world, EVENT["data"])
    assert arguments(world, answer) == [EVENT["data"]]
    again = pushed(world)
    assert (again.status, again.json["id"]) == (200, answer.json["id"])
    assert sent(world, EVENT["data"]).status == 200
    assert sent(world, {"amount": 1}).status == 409


def test_9_3_extension_attributes_are_headers_too(world: World) -> None:
    """The queue is one, and the prefix of triggers is no part of the type."""
    answer = sent(world, {}, ce_type="org.openjobspec.trigger.email.send", ce_ojsqueue="email")
    job = world.backend.jobs.info(answer.json["id"])
    assert (job.type, job.queue) == ("email.send", "email")


@pytest.mark.parametrize(
    ("content_type", "body", "argument"),
    [
        ("application/json; charset=utf-8", b"12345678901234567890123", 12345678901234567890123),
        ("application/vnd.shop+json", b"[1]", [1]),
        ("text/json", b"null", None),
        ("", b'"a"', "a"),
        ("text/plain", "Grüße".encode(), "Grüße"),
        ("application/xml", b"<a/>", "<a/>"),
        ("image/svg+xml", b"<svg/>", "<svg/>"),
        ("image/png", b"\x89PNG", "iVBORw=="),
        ("application/octet-stream", b"{}", "e30="),
        ("application/json", b"", None),
        ("", b"", None),
    ],
)  # fmt: skip
def test_9_3_the_body_is_the_data_of_its_content_type(
    world: World, content_type: str, body: bytes, argument: object
) -> None:
    """JSON is a value, a text a text, and anything else base64."""
    assert arguments(world, sent(world, body, content_type)) == [argument]


def test_values_of_headers_are_unescaped(world: World) -> None:
    """Quoted ones first, then the escapes of URLs (HTTP binding of CloudEvents, 3.1.3.2)."""
    answer = sent(world, {}, ce_subject='"a \\"b\\" %E2%82%AC"', ce_id="%20")
    meta = Api(world.backend).get(f"/jobs/{answer.json['id']}").json["job"]["meta"]
    assert (meta["trigger_subject"], meta["trigger_event_id"]) == ('a "b" €', " ")
    lone = sent(world, {}, ce_subject='"')
    meta = Api(world.backend).get(f"/jobs/{lone.json['id']}").json["job"]["meta"]
    assert meta["trigger_subject"] == '"'


def test_9_1_the_own_content_type_outweighs_the_headers_of_an_event(world: World) -> None:
    """Such a request is PUSH of the job in its body. An event in JSON outweighs them, too."""
    own = {"type": "email.send", "args": [1]}
    answer = sent(world, own, "application/openjobspec+json")
    assert (answer.json["type"], arguments(world, answer)) == ("email.send", [1])
    answer = sent(world, EVENT | {"type": "in.json"}, CLOUD_EVENT["content-type"])
    assert answer.json["type"] == "in.json"


@pytest.mark.parametrize("missing", ["ce_specversion", "ce_id", "ce_source", "ce_type"])
def test_an_event_in_binary_mode_needs_its_attributes(world: World, missing: str) -> None:
    """Without its type it is a job like any other, which has none."""
    assert sent(world, {"amount": 1}, **{missing: ""}).status == 400
    assert world.stored.jobs == {}


@pytest.mark.parametrize("body", [b"{", b"\xff"])
def test_data_that_is_no_json_is_refused(world: World, body: bytes) -> None:
    """If the content type says that it is."""
    assert sent(world, body).status == 400
    assert sent(world, b"\xff", "text/plain").status == 400
    assert world.stored.jobs == {}


def test_headers_of_events_mean_nothing_elsewhere(world: World) -> None:
    """Other operations read their bodies as ever."""
    api, queues = Api(world.backend), {"queues": ["default"]}
    assert api.post("/workers/fetch", queues, headers=HEADERS).status == 200
    text = {**HEADERS, "content-type": "text/plain"}
    assert api.post("/workers/fetch", queues, headers=text).status == 400


# ------------------------------------------------------------------------------ batches


def batch(world: World, events: object, headers: dict[str, str] = BATCH) -> Reply:
    """Send events in one request."""
    return Api(world.backend).post("/jobs/bulk", events, headers=headers)


def test_10_3_each_event_of_a_batch_makes_a_job(world: World) -> None:
    """By itself, and once: an event that was pushed before has its job already."""
    first = pushed(world).json["id"]
    answer = batch(world, [EVENT, EVENT | {"id": "evt_2", "ojsqueue": "email"}])
    assert answer.status == 201
    items = answer.json["items"]
    assert [each["status"] for each in items] == ["duplicate", "created"]
    assert items[0]["job"]["id"] == first
    assert items[1]["job"]["queue"] == "email"
    again = batch(world, [EVENT | {"id": "evt_2", "ojsqueue": "email"}, EVENT])
    assert [each["status"] for each in again.json["items"]] == ["duplicate", "duplicate"]
    assert len(world.stored.jobs) == 2


def test_ce_016_what_makes_no_job_stops_no_other_event(world: World) -> None:
    """Each has its own result, in the order of the events."""
    untyped = EVENT | {"id": "evt_2", "type": "Not A Type"}
    wrong = [{"id": "no event"}, EVENT | {"source": ""}, untyped, 7]
    answer = batch(world, [*wrong, EVENT, EVENT | {"data": "another"}])
    assert answer.status == 207, answer.text
    kinds = [each["status"] for each in answer.json["items"]]
    assert kinds == ["failed", "failed", "failed", "failed", "created", "failed"]
    assert len(world.stored.jobs) == 1


@pytest.mark.parametrize("body", [b"{", b"{}", b"[]", b'[]}, "jobs": [', b"\xff"])
def test_a_batch_is_an_array_of_events(world: World, body: bytes) -> None:
    """Of one at least."""
    assert batch(world, body).status == 400


def test_a_bulk_enqueue_of_jobs_is_as_ever(world: World) -> None:
    """Its content type is that of jobs."""
    answer = batch(world, {"jobs": [{"type": "a", "args": [1]}]}, {})
    assert [each["status"] for each in answer.json["items"]] == ["created"]
    assert batch(world, {"jobs": [EVENT]}, {}).json["items"][0]["status"] == "failed"
